//! The process: sockets, threads, start and end.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use tokio::net::{TcpListener, TcpSocket, lookup_host};
use tokio::runtime::{Builder, Runtime};

use crate::error::Error;
use crate::keys::Keys;
use crate::models::Models;
use crate::options::ServerOptions;
use crate::schedule::Pool;
use crate::state::{Shared, State};
use crate::{http, wyoming};

/// Number of connections that wait for their acceptance.
const BACKLOG: u32 = 4096;

/// Number of threads for sockets.
const SOCKET_THREADS: usize = 2;

/// Interval at which a server checks if it is stopped.
const LOOK: Duration = Duration::from_millis(50);

/// Time that connections have to send the last error after they are cut off.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A server that listens, and answers when it [runs](Self::run).
///
/// ```no_run
/// use std::sync::atomic::AtomicBool;
///
/// use kaldera::Recognizer;
/// use kaldera_server::{Models, Server, ServerOptions};
///
/// static STOP: AtomicBool = AtomicBool::new(false);
///
/// let models = Models::new([("digits", Recognizer::open("model")?)])?;
/// let server = Server::bind(models, ServerOptions::default())?;
/// println!("http://{}", server.addr());
/// server.run(&STOP);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Server {
    runtime: Runtime,
    router: Router,
    http: (TcpListener, SocketAddr),
    wyoming: Option<(TcpListener, SocketAddr)>,
    state: State,
}

impl Server {
    /// Starts to listen, and starts the threads that compute.
    ///
    /// # Errors
    /// [`Error::Listen`] for an address that cannot be had; [`Error::Keys`], [`Error::Key`] and
    /// [`Error::Option`] for options; [`Error::Start`].
    pub fn bind(models: Models, options: ServerOptions) -> Result<Self, Error> {
        check(&options)?;
        let keys = options.api_key_file.as_deref().map(Keys::read).transpose()?.unwrap_or_default();
        let start = |source| Error::Start { source };
        let runtime = Builder::new_multi_thread()
            .worker_threads(SOCKET_THREADS)
            .thread_name("sockets")
            .enable_all()
            .build()
            .map_err(start)?;
        let http = runtime.block_on(listen("listen", &options.listen))?;
        let wyoming = options.wyoming.as_deref().map(|address| runtime.block_on(listen("wyoming", address)));
        let wyoming = wyoming.transpose()?;
        if let Some((_, address)) = &wyoming
            && !keys.is_empty()
            && !address.ip().is_loopback()
        {
            let reason = "Wyoming's protocol has no keys: with --api-key-file it can only listen on 127.0.0.1".into();
            return Err(Error::Option { option: "wyoming", reason });
        }
        if keys.is_empty() && !http.1.ip().is_loopback() {
            tracing::warn!("{} is open to anyone in the network: see --api-key-file", http.1);
        }
        if wyoming.is_some() && options.languages().is_empty() {
            tracing::warn!("Home Assistant lists no model without languages: see --language");
        }
        let pool = Pool::new(options.num_jobs()).map_err(start)?;
        let state: State = Arc::new(Shared::new(models, options, keys, pool));
        let router = http::router(Arc::clone(&state));
        let router = router.map_err(|reason| Error::Option { option: "allow-origin", reason })?;
        Ok(Self { runtime, router, http, wyoming, state })
    }

    /// Returns the address of HTTP and WebSocket.
    pub fn addr(&self) -> SocketAddr {
        self.http.1
    }

    /// Returns the address of Wyoming's protocol.
    pub fn wyoming_addr(&self) -> Option<SocketAddr> {
        self.wyoming.as_ref().map(|(_, address)| *address)
    }

    /// Answers clients until `stop` is true. Then no new work is taken, and running streams and
    /// uploads have [`grace`](ServerOptions::grace) seconds to finish; later they get an error.
    pub fn run(self, stop: &AtomicBool) {
        let Self { runtime, router, http: (listener, _), wyoming, state } = self;
        runtime.block_on(async {
            state.tasks.spawn(http::serve(listener, router, Arc::clone(&state)));
            if let Some((listener, _)) = wyoming {
                state.tasks.spawn(wyoming::serve(listener, Arc::clone(&state)));
            }
            while !stop.load(Ordering::Relaxed) {
                tokio::time::sleep(LOOK).await;
            }
            state.ending.cancel();
            state.tasks.close();
            let grace = Duration::from_secs_f64(state.options.grace);
            if tokio::time::timeout(grace, state.tasks.wait()).await.is_err() {
                tracing::warn!("{} connections are cut off after {} s", state.tasks.len(), grace.as_secs_f64());
                state.cut.cancel();
                let _ = tokio::time::timeout(LAST_WORDS, state.tasks.wait()).await;
            }
        });
        state.pool.close();
        runtime.shutdown_background();
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("addr", &self.http.1).finish_non_exhaustive()
    }
}

/// Refuses options that cannot be used.
fn check(options: &ServerOptions) -> Result<(), Error> {
    let times = [
        ("max-duration", options.max_duration),
        ("upload-time", options.upload_time),
        ("idle", options.idle),
        ("grace", options.grace),
    ];
    for (option, seconds) in times {
        if Duration::try_from_secs_f64(seconds).is_err() {
            return Err(Error::Option { option, reason: format!("{seconds} is not a number of seconds") });
        }
    }
    let sizes = [
        ("max-streams", options.max_streams),
        ("max-queue", options.max_queue),
        ("max-upload-mb", options.max_upload_mb),
    ];
    match sizes.into_iter().find(|(_, size)| *size == 0) {
        Some((option, _)) => Err(Error::Option { option, reason: "it must be 1 or more".to_owned() }),
        None => Ok(()),
    }
}

async fn listen(option: &'static str, address: &str) -> Result<(TcpListener, SocketAddr), Error> {
    let begin = async {
        let mut last = io::Error::new(io::ErrorKind::AddrNotAvailable, "it is no address");
        for address in lookup_host(address).await? {
            let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
            socket.set_reuseaddr(true)?;
            match socket.bind(address).and_then(|()| socket.listen(BACKLOG)) {
                Ok(listener) => {
                    let own = listener.local_addr()?;
                    return Ok((listener, own));
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    };
    begin.await.map_err(|source| Error::Listen { option, address: address.to_owned(), source })
}
