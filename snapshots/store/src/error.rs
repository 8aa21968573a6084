//! Errors of stores.

use std::{io, path::PathBuf};

/// Error of a store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The settings do not fit together.
    #[error("the store cannot be used: {0}")]
    Settings(String),
    /// There is no such object.
    #[error("{name}: there is no such object in the store")]
    Absent {
        /// Its name, with the location.
        name: String,
    },
    /// The credentials are missing or wrong, or do not allow it.
    #[error(
        "{name}: the store refuses it: the credentials (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY) are missing or wrong, or do not \
         allow it"
    )]
    Refused {
        /// The name of the object, with the location.
        name: String,
    },
    /// The store failed, also after repeated requests.
    #[error("{name}: the store failed: {why}")]
    Failed {
        /// The name of the object, with the location.
        name: String,
        /// Error of the last attempt.
        why: String,
    },
    /// An object is longer than it can be.
    #[error("{name}: the object has {bytes} bytes, at most {most} are read")]
    TooLong {
        /// Its name, with the location.
        name: String,
        /// Its length.
        bytes: u64,
        /// The limit.
        most: u64,
    },
    /// A file of this machine cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Another process writes to it.
    #[error("{0}")]
    Taken(String),
    /// The work was cancelled.
    #[error("stopped")]
    Stopped,
    /// A thread ended without a result.
    #[error("a thread has panicked; this is a bug")]
    Panicked,
}

impl StoreError {
    /// An error of a path.
    pub fn at(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| StoreError::File { path, source }
    }

    /// The store's answer about an object.
    pub(crate) fn of(name: String, error: &object_store::Error) -> Self {
        use object_store::Error;
        match error {
            Error::NotFound { .. } => StoreError::Absent { name },
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => StoreError::Refused { name },
            other => match innermost(other) {
                // LIST reports a refusal only in its message text.
                why if REFUSALS.iter().any(|refusal| why.contains(refusal)) => StoreError::Refused { name },
                why => StoreError::Failed { name, why: brief(&why) },
            },
        }
    }
}

/// Errors of stores for unknown credentials.
const REFUSALS: [&str; 2] = ["403 Forbidden", "401 Unauthorized"];
/// Most characters of a store's message.
const MAX: usize = 300;

/// A text in one line, cut where it gets long: stores answer with pages.
fn brief(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

/// The last two messages of a chain of errors: the failure and its reason.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut texts = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        // Many errors repeat the text of their source.
        if !texts.iter().any(|before: &String| before.contains(&text)) {
            texts.push(text);
        }
        next = error.source();
    }
    texts.join(": ")
}
