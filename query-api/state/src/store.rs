//! The database: its connections, and what makes it ready.

use std::{fmt, path::Path, sync::Arc, time::Duration};

use sqlx::{
    ConnectOptions, PgPool, SqlitePool,
    pool::PoolOptions,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};
use tokio::sync::OnceCell;

use crate::{StateError, StateUrl, migrations, url::Target};

/// How long a request waits for a connection.
const ACQUIRE: Duration = Duration::from_secs(3);
/// How long a statement waits for another process that writes the same file.
const BUSY: Duration = Duration::from_secs(3);
/// Connections of a process.
const SQLITE_CONNECTIONS: u32 = 4;
const POSTGRES_CONNECTIONS: u32 = 8;

/// The service state. Clones share the connections.
#[derive(Clone)]
pub struct State {
    pub(crate) pool: Pool,
    url: StateUrl,
    ready: Arc<OnceCell<()>>,
}

/// Connections to one of the two.
#[derive(Clone)]
pub(crate) enum Pool {
    Sqlite(SqlitePool),
    Postgres(PgPool),
}

/// Evaluates the same expression on the connections of either database.
macro_rules! on {
    ($pool:expr, $name:ident => $run:expr) => {
        match $pool {
            $crate::store::Pool::Sqlite($name) => $run,
            $crate::store::Pool::Postgres($name) => $run,
        }
    };
}
pub(crate) use on;

impl State {
    /// The state behind a URL; nothing is connected or made before it is needed. Has to be called within a Tokio runtime.
    #[must_use]
    pub fn of(url: &StateUrl) -> Self {
        let pool = match &url.0 {
            Target::Sqlite(path) => {
                let options = SqliteConnectOptions::new()
                    .filename(path)
                    // Made beforehand, with permissions for its owner only.
                    .create_if_missing(false)
                    .journal_mode(SqliteJournalMode::Wal)
                    // A key that was shown is there even after a power cut.
                    .synchronous(SqliteSynchronous::Full)
                    .busy_timeout(BUSY)
                    .foreign_keys(true)
                    .disable_statement_logging();
                let pool = PoolOptions::new().max_connections(SQLITE_CONNECTIONS).acquire_timeout(ACQUIRE);
                Pool::Sqlite(pool.connect_lazy_with(options))
            }
            Target::Postgres(options) => {
                let options = options.as_ref().clone().application_name("cairn").disable_statement_logging();
                let pool = PoolOptions::new().max_connections(POSTGRES_CONNECTIONS).acquire_timeout(ACQUIRE);
                Pool::Postgres(pool.connect_lazy_with(options))
            }
        };
        State { pool, url: url.clone(), ready: Arc::default() }
    }

    /// The state behind a URL, connected, with its schema brought up to date.
    ///
    /// # Errors
    /// As [`State::ready`].
    pub async fn open(url: &StateUrl) -> Result<Self, StateError> {
        let state = State::of(url);
        state.ready().await?;
        Ok(state)
    }

    /// Connects, makes the SQLite file if there is none (readable by its owner only), and brings the schema up to date.
    /// Once that has succeeded, this returns at once; every other method begins with it.
    ///
    /// # Errors
    /// The database is away or refuses, or its schema is not one that this program knows.
    pub async fn ready(&self) -> Result<(), StateError> {
        self.ready
            .get_or_try_init(async || {
                if let Target::Sqlite(path) = &self.url.0 {
                    make(path)?;
                }
                migrations::apply(&self.pool).await
            })
            .await
            .copied()
    }

    /// Ends all connections. SQLite's side files are merged and removed with the last one of all processes.
    pub async fn close(&self) {
        on!(&self.pool, pool => pool.close().await);
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "State({})", self.url)
    }
}

/// Makes an empty file that only its owner can read. SQLite gives its side files the same permissions.
fn make(path: &Path) -> Result<(), StateError> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(reason) if reason.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(StateError::File { path: path.to_owned(), reason })
        }
        _ => Ok(()),
    }
}
