//! The database: its connection pool and its initialization.

use std::{
    fmt,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use sqlx::{ConnectOptions, Connection, SqliteConnection, pool::PoolOptions, sqlite::SqliteConnectOptions};

use crate::{
    StateError, StateUrl,
    approval::CachedApprovals,
    identity, mark, migrations,
    pool::{SqlPool, on},
    sqlite::{BUSY, begin_log, make, sqlite, sqlite_writer},
    timestamps::{cache::TimestampCache, queue::SubmitQueue},
    url::Target,
    uses::PendingUses,
};

/// Timeout for getting a connection.
const ACQUIRE: Duration = Duration::from_secs(3);
/// How long a probe waits for another process that writes the file.
const PROBE_BUSY: Duration = Duration::from_millis(500);
/// Maximum number of connections of a pool.
const SQLITE_CONNECTIONS: u32 = 4;
const POSTGRES_CONNECTIONS: u32 = 8;

/// The service state. Clones share the connection pool.
#[derive(Clone)]
pub struct State {
    pub(crate) pool: SqlPool,
    /// For look-ups of requests. In SQLite these are connections of their own, so that statements that wait for a
    /// writer do not take them all.
    pub(crate) reads: SqlPool,
    pub(crate) uses: Arc<PendingUses>,
    pub(crate) approvals: Arc<CachedApprovals>,
    pub(crate) submits: Arc<SubmitQueue>,
    pub(crate) timestamps: Arc<TimestampCache>,
    pub(crate) url: StateUrl,
    /// The file that was made ready; any value with PostgreSQL. A task that makes it ready holds the other lock.
    ready: Arc<Mutex<Option<FileId>>>,
    opening: Arc<tokio::sync::Mutex<()>>,
    asked: Arc<AtomicU64>,
}

/// Device and number of a file.
type FileId = (u64, u64);

impl State {
    /// The state at a URL. It connects, and creates the file, on first use. Must be called within a Tokio runtime.
    #[must_use]
    pub fn of(url: &StateUrl) -> Self {
        let (pool, reads) = match &url.0 {
            Target::Sqlite(path) => {
                let pool = |options: SqliteConnectOptions| {
                    let file = Arc::new(OpenedFile::of(path));
                    let pool = PoolOptions::new().max_connections(SQLITE_CONNECTIONS).acquire_timeout(ACQUIRE);
                    // A connection to a file that another has replaced is closed, and a new one is made.
                    let pool = pool.before_acquire(move |_, connection| {
                        let is_current = file.is_current(connection.age);
                        Box::pin(async move { Ok(is_current) })
                    });
                    SqlPool::Sqlite(pool.connect_lazy_with(options))
                };
                (pool(sqlite_writer(path)), pool(sqlite(path)))
            }
            Target::Postgres(options) => {
                let options = options.as_ref().clone().application_name("cairn").disable_statement_logging();
                let pool = PoolOptions::new().max_connections(POSTGRES_CONNECTIONS).acquire_timeout(ACQUIRE);
                let pool = SqlPool::Postgres(pool.connect_lazy_with(options));
                (pool.clone(), pool)
            }
        };
        State {
            pool,
            reads,
            uses: Arc::default(),
            approvals: Arc::default(),
            submits: Arc::default(),
            timestamps: Arc::default(),
            url: url.clone(),
            ready: Arc::default(),
            opening: Arc::default(),
            asked: Arc::default(),
        }
    }

    /// Connects to the state at a URL and migrates its schema.
    pub async fn open(url: &StateUrl) -> Result<Self, StateError> {
        let state = State::of(url);
        state.ready().await?;
        Ok(state)
    }

    /// How often this state and its clones were asked: each method counts at least once.
    #[must_use]
    pub fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    /// Connects, creates a SQLite file (readable only by its owner) where none was used before, and migrates the
    /// schema. After the first success it only looks if the file is still there. Every other method calls it first.
    ///
    /// # Errors
    /// Returns [`StateError::Lost`] if the database is not the one that was used here, with all its changes; fails also
    /// if its schema is newer or foreign.
    pub async fn ready(&self) -> Result<(), StateError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        if self.is_ready() {
            return Ok(());
        }
        let _turn = self.opening.lock().await;
        if self.is_ready() {
            return Ok(());
        }
        let Target::Sqlite(path) = &self.url.0 else {
            migrations::apply(&self.pool).await?;
            self.is_made_ready(Some((0, 0)));
            return Ok(());
        };
        self.is_made_ready(None);
        if identity::known(path)? == mark::MarkFile::Nothing {
            make(path)?;
        }
        identity::verify_file(path).await?;
        begin_log(path).await?;
        migrations::apply(&self.pool).await?;
        if let SqlPool::Sqlite(pool) = &self.pool {
            identity::settle(path, pool).await?;
        }
        self.is_made_ready(file_id(path));
        Ok(())
    }

    fn is_made_ready(&self, file: Option<FileId>) {
        *self.ready.lock() = file;
    }

    /// True if the file was made ready and is still in its place: changes of a removed file are lost.
    pub(crate) fn is_ready(&self) -> bool {
        let ready = *self.ready.lock();
        match &self.url.0 {
            Target::Sqlite(path) => ready.is_some() && ready == file_id(path),
            Target::Postgres(_) => ready.is_some(),
        }
    }

    /// Checks that the database can be read and written at present, without changing it and without waiting long for
    /// another process.
    pub async fn probe(&self) -> Result<(), StateError> {
        self.ready().await?;
        let failed = || StateError::database("cannot be used");
        match &self.url.0 {
            Target::Sqlite(path) => {
                // A connection of its own: those of the pool may all wait.
                let options = sqlite(path).busy_timeout(PROBE_BUSY);
                let mut connection = SqliteConnection::connect_with(&options).await.map_err(failed())?;
                // Takes the lock of a writer.
                let began = sqlx::raw_sql("BEGIN IMMEDIATE; ROLLBACK").execute(&mut connection).await;
                let verified = match began {
                    Ok(_) => identity::verify(path, &mut connection).await,
                    Err(error) => Err(failed()(error)),
                };
                // The next probe reports any error.
                let _ended = connection.close().await;
                if matches!(verified, Err(StateError::Lost { .. })) {
                    self.is_made_ready(None);
                }
                verified
            }
            Target::Postgres(_) => {
                on!(&self.pool, pool => sqlx::raw_sql("SELECT 1").execute(pool).await.map(drop)).map_err(failed())
            }
        }
    }

    /// Records what is left to record, and closes all connections. SQLite removes its side files when the last process
    /// closes its last connection.
    pub async fn close(&self) {
        // A process that holds the write lock for longer costs a record, and nothing else.
        let _ = tokio::time::timeout(BUSY, self.uses_settled()).await;
        let _ = tokio::time::timeout(BUSY, self.remember(true)).await;
        on!(&self.reads, pool => pool.close().await);
        on!(&self.pool, pool => pool.close().await);
    }
}

/// The file at the path of the database; `None` if it is missing or empty.
fn file_id(path: &Path) -> Option<FileId> {
    std::fs::metadata(path).ok().filter(|file| file.len() > 0).map(|file| (file.dev(), file.ino()))
}

/// Which file is at the path of the database, and since when.
struct OpenedFile {
    path: PathBuf,
    known: Mutex<Option<(FileId, Instant)>>,
}

impl OpenedFile {
    fn of(path: &Path) -> Self {
        OpenedFile { path: path.to_owned(), known: Mutex::default() }
    }

    /// True if a connection of this age is one to the file that is at the path now.
    fn is_current(&self, age: Duration) -> bool {
        let Ok(there) = std::fs::metadata(&self.path).map(|file| (file.dev(), file.ino())) else { return false };
        let mut known = self.known.lock();
        match *known {
            Some((file, since)) if file == there => age <= since.elapsed(),
            // The first is the one that the connection opened.
            None => {
                *known = Some((there, Instant::now().checked_sub(age).unwrap_or_else(Instant::now)));
                true
            }
            Some(_) => {
                *known = Some((there, Instant::now()));
                false
            }
        }
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "State({})", self.url)
    }
}
