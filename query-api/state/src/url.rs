//! The URL of the database.

use std::{
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
};

use sqlx::postgres::PgConnectOptions;

use crate::StateError;

/// Name of the SQLite file in the data folder.
const FILE: &str = "state.sqlite";

/// URL of a SQLite file or a PostgreSQL database. `Debug` and `Display` do not show the password.
#[derive(Clone)]
pub struct StateUrl(pub(crate) Target);

#[derive(Clone)]
pub(crate) enum Target {
    Sqlite(PathBuf),
    Postgres(Box<PgConnectOptions>),
}

impl StateUrl {
    /// The SQLite file `state.sqlite` in a folder.
    #[must_use]
    pub fn in_folder(folder: &Path) -> Self {
        StateUrl(Target::Sqlite(folder.join(FILE)))
    }

    /// False if it is a file that is not there.
    #[must_use]
    pub fn exists(&self) -> bool {
        match &self.0 {
            Target::Sqlite(path) => path.exists(),
            Target::Postgres(_) => true,
        }
    }
}

impl FromStr for StateUrl {
    type Err = StateError;

    /// Parses `sqlite:FILE`, `sqlite://FILE`, or `postgres://user:password@host:port/database?options`.
    fn from_str(text: &str) -> Result<Self, StateError> {
        let wrong = |what: &str| Err(StateError::Url(what.to_owned()));
        let Some((scheme, rest)) = text.split_once(':') else {
            return wrong("expected sqlite:FILE or postgres://user:password@host/database");
        };
        match scheme {
            "sqlite" => {
                let path = rest.strip_prefix("//").unwrap_or(rest);
                if path.is_empty() || path.contains(['?', '\0']) || path.starts_with(':') {
                    return wrong("expected the path of a file after sqlite:, without options");
                }
                Ok(StateUrl(Target::Sqlite(PathBuf::from(path))))
            }
            "postgres" | "postgresql" if has_unknown_option(rest) => wrong("unknown option"),
            "postgres" | "postgresql" => match PgConnectOptions::from_str(text) {
                Ok(options) => Ok(StateUrl(Target::Postgres(Box::new(options)))),
                Err(error) => wrong(&error.to_string()),
            },
            _ => wrong("expected sqlite: or postgres: at the beginning"),
        }
    }
}

/// Supported options of a PostgreSQL URL, besides those that start with `options`.
const OPTIONS: &[&str] = &[
    "application_name",
    "dbname",
    "host",
    "hostaddr",
    "password",
    "port",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "statement-cache-capacity",
    "user",
];

/// sqlx would ignore unknown options and log their values, which may be passwords under a misspelled name.
fn has_unknown_option(url: &str) -> bool {
    let query = url.split('#').next().and_then(|url| url.split_once('?')).map_or("", |(_, query)| query);
    let names = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| pair.split('=').next().unwrap_or(pair));
    names.into_iter().any(|name| !OPTIONS.contains(&name) && !name.starts_with("options"))
}

impl fmt::Display for StateUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Target::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Target::Postgres(options) => {
                let database = options.get_database().unwrap_or_default();
                write!(f, "postgres://{}:{}/{database}", options.get_host(), options.get_port())
            }
        }
    }
}

impl fmt::Debug for StateUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StateUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read_and_shown_without_passwords() {
        let shown = |text: &str| StateUrl::from_str(text).map(|url| format!("{url} {url:?}"));
        for text in ["sqlite:/a/b.sqlite", "sqlite:///a/b.sqlite"] {
            assert_eq!(shown(text).unwrap(), "sqlite:/a/b.sqlite StateUrl(sqlite:/a/b.sqlite)");
        }
        assert!(shown("sqlite:b").unwrap().starts_with("sqlite:b "));
        let postgres = shown("postgres://ann:hunter2@db.example:5433/cairn?sslmode=require").unwrap();
        assert!(postgres.starts_with("postgres://db.example:5433/cairn "), "{postgres}");
        assert!(!postgres.contains("hunter2") && !postgres.contains("ann"), "{postgres}");
    }

    #[test]
    fn what_is_no_url_is_said_without_repeating_it() {
        for text in [
            "",
            "hunter2",
            "sqlite:",
            "sqlite://",
            "sqlite::memory:",
            "sqlite:a?mode=hunter2",
            "mysql://hunter2@x/y",
            "postgres://ann:hunter2@host:port/x",
            "postgres://ann:hunter2@host/x?sslmode=sometimes",
            "postgres://host/x?sslmode=require&pasword=hunter2",
            "postgres://ann:hunter2@host/x?port=many",
            "postgres://ann:hunter2@",
        ] {
            let error = StateUrl::from_str(text).unwrap_err().to_string();
            assert!(error.starts_with("invalid URL of the service state: "), "{error}");
            assert!(!error.contains("hunter2"), "{text}: {error}");
        }
    }
}
