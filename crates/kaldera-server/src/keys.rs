//! Keys of clients.

use std::fmt;
use std::path::Path;

use axum::http::{HeaderMap, Uri, header};
use subtle::ConstantTimeEq;

use crate::error::Error;

/// Prefix of the WebSocket subprotocol in which browsers send a key.
pub(crate) const KEY_PROTOCOL: &str = "openai-insecure-api-key.";

/// The keys that clients may have; anyone may connect if there are none.
#[derive(Clone, Default)]
pub(crate) struct Keys {
    keys: Vec<String>,
}

impl Keys {
    /// Reads a file of keys, one per line. Empty lines and lines that begin with `#` are left out.
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let text = kaldera::text::read_file(path).map_err(|source| Error::Keys { path: path.to_owned(), source })?;
        let (mut keys, refuse) = (vec![], |line, reason| Err(Error::Key { path: path.to_owned(), line, reason }));
        for (line, key) in (1..).zip(text.lines().map(str::trim)) {
            if key.is_empty() || key.starts_with('#') {
                continue;
            }
            if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
                return refuse(line, "a key has only visible ASCII characters and no spaces");
            }
            keys.push(key.to_owned());
        }
        if keys.is_empty() { refuse(1, "there is no key in it") } else { Ok(Self { keys }) }
    }

    /// Returns `true` if anyone may connect.
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns `true` for a request with one of the keys: as `Authorization: Bearer KEY`, as
    /// `api_key=KEY` of the query, or as a WebSocket subprotocol. The time does not depend on the
    /// characters.
    pub(crate) fn allow(&self, headers: &HeaderMap, uri: &Uri) -> bool {
        if self.is_empty() {
            return true;
        }
        let text = |name| headers.get(name).and_then(|value: &axum::http::HeaderValue| value.to_str().ok());
        let bearer = text(header::AUTHORIZATION).and_then(|value| value.split_once(' ')).map(|(_, key)| key.trim());
        let protocols = text(header::SEC_WEBSOCKET_PROTOCOL).into_iter().flat_map(|value| value.split(','));
        let protocols = protocols.filter_map(|one| one.trim().strip_prefix(KEY_PROTOCOL));
        let query = uri.query().into_iter().flat_map(|query| query.split('&'));
        let query = query.filter_map(|pair| pair.strip_prefix("api_key="));
        let mut given = bearer.into_iter().chain(protocols).chain(query);
        given.any(|given| self.keys.iter().any(|key| key.as_bytes().ct_eq(given.as_bytes()).into()))
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} keys", self.keys.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_may_come_in_three_ways() {
        let keys = Keys { keys: vec!["one".into(), "two".into()] };
        let allows = |name: &'static str, value: &str, uri: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            keys.allow(&headers, &uri.parse().unwrap())
        };
        assert!(allows("authorization", "Bearer two", "/"));
        assert!(!allows("authorization", "Bearer tw", "/"));
        assert!(allows("sec-websocket-protocol", "realtime, openai-insecure-api-key.one", "/"));
        assert!(allows("accept", "*", "/vosk?a=b&api_key=two"));
        assert!(!allows("accept", "*", "/vosk?api_key="));
        assert!(!allows("accept", "one", "/one"));
        assert!(Keys::default().allow(&HeaderMap::new(), &"/".parse().unwrap()));
    }
}
