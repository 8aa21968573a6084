//! The database: its connections, and what makes it ready.

use std::{
    fmt,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use sqlx::{
    ConnectOptions, Connection, SqliteConnection,
    pool::PoolOptions,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};
use tokio::sync::OnceCell;

use crate::{
    StateError, StateUrl, migrations,
    pool::{SqlPool, on},
    url::Target,
};

/// How long a request waits for a connection.
const ACQUIRE: Duration = Duration::from_secs(3);
/// How long a statement waits for another process that writes the same file.
const BUSY: Duration = Duration::from_secs(3);
/// How soon it is tried again where SQLite itself does not wait.
const BUSY_AGAIN: Duration = Duration::from_millis(10);
/// Connections of a process.
const SQLITE_CONNECTIONS: u32 = 4;
const POSTGRES_CONNECTIONS: u32 = 8;

/// The service state. Clones share the connections.
#[derive(Clone)]
pub struct State {
    pub(crate) pool: SqlPool,
    url: StateUrl,
    ready: Arc<OnceCell<()>>,
}

impl State {
    /// The state behind a URL; nothing is connected or made before it is needed. Has to be called within a Tokio runtime.
    #[must_use]
    pub fn of(url: &StateUrl) -> Self {
        let pool = match &url.0 {
            Target::Sqlite(path) => {
                let options = sqlite(path);
                let pool = PoolOptions::new().max_connections(SQLITE_CONNECTIONS).acquire_timeout(ACQUIRE);
                SqlPool::Sqlite(pool.connect_lazy_with(options))
            }
            Target::Postgres(options) => {
                let options = options.as_ref().clone().application_name("cairn").disable_statement_logging();
                let pool = PoolOptions::new().max_connections(POSTGRES_CONNECTIONS).acquire_timeout(ACQUIRE);
                SqlPool::Postgres(pool.connect_lazy_with(options))
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
                    begin_log(path).await?;
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

/// How a connection to the file begins.
fn sqlite(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        // Made beforehand, with permissions for its owner only.
        .create_if_missing(false)
        // A key that was shown is there even after a power cut.
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(BUSY)
        .foreign_keys(true)
        .disable_statement_logging()
}

/// Has the file keep a write-ahead log from now on: its readers then never wait for a writer. Two processes that begin at
/// once get in each other's way here, and SQLite does not wait for a lock that it would have to upgrade.
async fn begin_log(path: &Path) -> Result<(), StateError> {
    let options = sqlite(path).journal_mode(SqliteJournalMode::Wal);
    let began = Instant::now();
    loop {
        let connected = SqliteConnection::connect_with(&options).await;
        match connected {
            Err(error) if is_busy(&error) && began.elapsed() < BUSY => tokio::time::sleep(BUSY_AGAIN).await,
            Err(error) => return Err(StateError::database("cannot be opened")(error)),
            Ok(connection) => {
                // What is wrong at the end of a connection is found at the beginning of the next.
                let _ended = connection.close().await;
                return Ok(());
            }
        }
    }
}

/// Whether another process has the lock (primary result code 5, whatever the extended one).
fn is_busy(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code()?.parse::<u32>().ok());
    code.is_some_and(|code| code & 0xff == 5)
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
