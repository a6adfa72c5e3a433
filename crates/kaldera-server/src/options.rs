//! Options of a server.

use std::path::PathBuf;

use kaldera::feat::options::{OptionSet, Registry};

/// Defines the options, each in one place: its field, its default, its name and its help.
macro_rules! server_options {
    ($($field:ident, $setter:ident: $type:ty = $default:expr, $name:literal, $help:literal;)*) => {
        /// Options of a [`Server`](crate::Server).
        ///
        /// ```
        /// use kaldera_server::ServerOptions;
        ///
        /// let options = ServerOptions::default();
        /// let options = options.with_listen("127.0.0.1:0".to_owned()).with_max_streams(16);
        /// assert_eq!(options.max_upload_mb, 100);
        /// ```
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub struct ServerOptions {
            $(#[doc = concat!($help, ".")]
            pub $field: $type,)*
        }

        impl Default for ServerOptions {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl ServerOptions {
            $(#[doc = concat!("Sets [`", stringify!($field), "`](Self::", stringify!($field), ").")]
            #[must_use]
            pub fn $setter(self, $field: $type) -> Self {
                Self { $field, ..self }
            })*
        }

        impl OptionSet for ServerOptions {
            fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
                $(registry.add($name, &mut self.$field, $help);)*
            }
        }
    };
}

server_options! {
    listen, with_listen: String = "127.0.0.1:8000".to_owned(),
        "listen", "Address and port of HTTP and WebSocket; port 0 for any that is free";
    wyoming, with_wyoming: Option<String> = None,
        "wyoming", "Address and port of Wyoming's protocol, such as 127.0.0.1:10300; none unless set";
    jobs, with_jobs: usize = 0,
        "jobs", "Number of threads that compute; 0 for one per processor";
    max_streams, with_max_streams: usize = 1000,
        "max-streams", "Number of live streams at the same time; more are refused";
    max_queue, with_max_queue: usize = 64,
        "max-queue", "Number of uploads at the same time, most of which wait; more are refused";
    max_upload_mb, with_max_upload_mb: usize = 100,
        "max-upload-mb", "Size of an upload in megabytes";
    memory_mb, with_memory_mb: usize = 8,
        "memory-mb", "Megabytes of an upload that are kept in memory; the rest is in a temporary file";
    max_duration, with_max_duration: f64 = 7200.0,
        "max-duration", "Seconds of audio in an upload";
    upload_time, with_upload_time: f64 = 300.0,
        "upload-time", "Seconds until an upload must have arrived";
    idle, with_idle: f64 = 600.0,
        "idle", "Seconds without a message after which a live stream is closed";
    grace, with_grace: f64 = 30.0,
        "grace", "Seconds for running streams and uploads to finish after SIGTERM";
    api_key_file, with_api_key_file: Option<PathBuf> = None,
        "api-key-file", "File with keys, one per line; requests need one of them. Anyone may connect unless set";
    allow_origin, with_allow_origin: Option<String> = None,
        "allow-origin", "Origin of web pages that may connect, or * for all; only the own page unless set";
    language, with_language: String = String::new(),
        "language", "Languages of the models for clients that ask, such as en,de";
    prompt_hotwords, with_prompt_hotwords: bool = false,
        "prompt-hotwords", "Take the phrases of a request's prompt, which commas or lines divide, as hot words";
    log_words, with_log_words: bool = false,
        "log-words", "Write recognised words to the log";
}

impl ServerOptions {
    pub(crate) fn num_jobs(&self) -> usize {
        match self.jobs {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            jobs => jobs,
        }
    }

    /// Returns the languages of the models.
    pub(crate) fn languages(&self) -> Vec<&str> {
        self.language.split(',').map(str::trim).filter(|language| !language.is_empty()).collect()
    }
}
