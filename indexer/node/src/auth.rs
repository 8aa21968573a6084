//! Credentials for the node. Secrets do not leave this module.

use std::{
    fmt, fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use parking_lot::Mutex;
use ureq::http::HeaderValue;

use crate::error::NodeError;

/// Maximum length of a cookie in bytes. Bitcoin Core's has 75.
const MAX_COOKIE: u64 = 4096;

/// Credentials of the node's RPC interface. Their `Debug` and `Display` forms do not show the password.
#[derive(Clone)]
pub enum NodeAuth {
    /// The node's cookie file (`.cookie` in the data folder of its network). The node writes a new one at each start;
    /// it is read again when the node rejects the old one.
    Cookie(PathBuf),
    /// `rpcauth` or `rpcuser`.
    UserPassword {
        /// User.
        user: String,
        /// Password.
        password: String,
    },
}

impl fmt::Debug for NodeAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NodeAuth::Cookie(path) => f.debug_tuple("Cookie").field(path).finish(),
            NodeAuth::UserPassword { user, .. } => {
                f.debug_struct("UserPassword").field("user", user).finish_non_exhaustive()
            }
        }
    }
}

impl fmt::Display for NodeAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NodeAuth::Cookie(path) => write!(f, "the cookie in {}", path.display()),
            NodeAuth::UserPassword { user, .. } => write!(f, "the password of user {user:?}"),
        }
    }
}

pub(crate) struct Credentials {
    auth: NodeAuth,
    header: Mutex<Option<HeaderValue>>,
}

impl Credentials {
    pub(crate) fn new(auth: NodeAuth) -> Self {
        Credentials { auth, header: Mutex::new(None) }
    }

    pub(crate) fn auth(&self) -> &NodeAuth {
        &self.auth
    }

    /// The last read header.
    pub(crate) fn header(&self) -> Result<HeaderValue, NodeError> {
        let mut header = self.header.lock();
        if let Some(header) = &*header {
            return Ok(header.clone());
        }
        let read = self.read()?;
        Ok(header.insert(read).clone())
    }

    /// Reads the cookie again after the node rejected `refused`; `None` if it has not changed.
    pub(crate) fn renewed(&self, refused: &HeaderValue) -> Result<Option<HeaderValue>, NodeError> {
        let mut header = self.header.lock();
        let read = self.read()?;
        let other = (read != *refused).then(|| read.clone());
        *header = Some(read);
        Ok(other)
    }

    fn read(&self) -> Result<HeaderValue, NodeError> {
        let secret = match &self.auth {
            NodeAuth::Cookie(path) => read_cookie(path)?,
            NodeAuth::UserPassword { user, password } => format!("{user}:{password}"),
        };
        let mut header = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(secret))).map_err(|_| {
            NodeError::BadUrl { reason: "user or password has characters that an HTTP header does not allow" }
        })?;
        header.set_sensitive(true);
        Ok(header)
    }
}

fn read_cookie(path: &Path) -> Result<String, NodeError> {
    let bad = |reason: String| NodeError::BadCookie { path: path.to_owned(), reason };
    let file = fs::File::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => NodeError::NoCookie { path: path.to_owned() },
        io::ErrorKind::PermissionDenied => bad("permission denied; see the node's rpccookieperms".to_owned()),
        _ => bad(error.to_string()),
    })?;
    let mut text = String::new();
    file.take(MAX_COOKIE).read_to_string(&mut text).map_err(|error| bad(error.to_string()))?;
    let cookie = text.trim_end_matches(['\r', '\n']);
    if !cookie.contains(':') || cookie.contains(char::is_control) {
        return Err(bad("the file does not contain a cookie".to_owned()));
    }
    Ok(cookie.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_shown() {
        let auth = NodeAuth::UserPassword { user: "ann".to_owned(), password: "hunter2".to_owned() };
        assert!(!format!("{auth:?} {auth:#?} {auth}").contains("hunter2"));
        let credentials = Credentials::new(auth);
        let header = credentials.header().unwrap();
        assert_eq!(header.to_str().unwrap(), "Basic YW5uOmh1bnRlcjI=");
        assert!(!format!("{header:?}").contains("YW5u"));
        assert!(credentials.renewed(&header).unwrap().is_none());
    }

    #[test]
    fn a_cookie_is_read_again_when_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".cookie");
        let credentials = Credentials::new(NodeAuth::Cookie(path.clone()));
        let error = credentials.header().unwrap_err();
        assert!(error.is_transient() && error.to_string().contains("check that the node is running"), "{error}");
        fs::write(&path, "__cookie__:one").unwrap();
        let first = credentials.header().unwrap();
        fs::write(&path, "__cookie__:two\n").unwrap();
        assert_eq!(credentials.header().unwrap(), first);
        let second = credentials.renewed(&first).unwrap().unwrap();
        assert_ne!(second, first);
        assert_eq!(credentials.header().unwrap(), second);
        assert!(credentials.renewed(&second).unwrap().is_none());
        for (bytes, words) in [
            (&b"no cookie here"[..], "does not contain a cookie"),
            (b"a:b\nc", "does not contain a cookie"),
            (b"\xff:", "UTF-8"),
        ] {
            fs::write(&path, bytes).unwrap();
            let error = credentials.renewed(&second).unwrap_err();
            assert!(!error.is_transient() && error.to_string().contains(words), "{error}");
        }
    }
}
