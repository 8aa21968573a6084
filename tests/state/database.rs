//! Empty databases, and looks into them past the crate.

use std::{
    env, process,
    str::FromStr,
    sync::atomic::{AtomicU32, Ordering},
};

use cairn_state::{State, StateUrl};
use sqlx::{Connection, PgConnection, SqliteConnection, sqlite::SqliteConnectOptions};
use tempfile::TempDir;

/// Names the PostgreSQL server for tests. Every test makes a schema of its own there, and removes it.
pub(crate) const POSTGRES: &str = "CAIRN_TEST_POSTGRES_URL";

/// An empty database.
pub(crate) enum TestDatabase {
    Sqlite(TempDir),
    Postgres { url: String, schema: String },
}

impl TestDatabase {
    pub(crate) fn sqlite() -> Self {
        TestDatabase::Sqlite(cairn_testkit::temp_dir())
    }

    /// A schema of its own on the server; `None` where no server is named.
    pub(crate) async fn postgres() -> Option<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let url = env::var(POSTGRES).ok().filter(|url| !url.is_empty())?;
        let schema = format!("cairn_test_{}_{}", process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let database = TestDatabase::Postgres { url, schema };
        database.administer("DROP SCHEMA IF EXISTS {} CASCADE").await;
        database.administer("CREATE SCHEMA {}").await;
        Some(database)
    }

    async fn administer(&self, sql: &str) {
        let TestDatabase::Postgres { url, schema } = self else { return };
        let mut connection = PgConnection::connect(url).await.unwrap();
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql.replace("{}", schema))).execute(&mut connection).await.unwrap();
    }

    /// Its URL, as an operator would write it.
    pub(crate) fn url(&self) -> String {
        match self {
            TestDatabase::Sqlite(folder) => format!("sqlite:{}", folder.path().join("state.sqlite").display()),
            TestDatabase::Postgres { url, schema } => {
                let separator = if url.contains('?') { '&' } else { '?' };
                format!("{url}{separator}options=-csearch_path%3D{schema}")
            }
        }
    }

    pub(crate) fn state_url(&self) -> StateUrl {
        StateUrl::from_str(&self.url()).unwrap()
    }

    pub(crate) async fn open(&self) -> State {
        State::open(&self.state_url()).await.unwrap()
    }

    /// Runs statements past the crate.
    pub(crate) async fn execute(&self, sql: &str) {
        let sql = sqlx::AssertSqlSafe(sql.to_owned());
        match self {
            TestDatabase::Sqlite(_) => {
                sqlx::raw_sql(sql).execute(&mut self.sqlite_connection().await).await.map(|_| ())
            }
            TestDatabase::Postgres { .. } => {
                sqlx::raw_sql(sql).execute(&mut self.postgres_connection().await).await.map(|_| ())
            }
        }
        .unwrap();
    }

    /// The one text that a query gives.
    pub(crate) async fn text(&self, sql: &str) -> String {
        let sql = sqlx::AssertSqlSafe(sql.to_owned());
        match self {
            TestDatabase::Sqlite(_) => {
                sqlx::query_scalar(sql).fetch_one(&mut self.sqlite_connection().await).await.unwrap()
            }
            TestDatabase::Postgres { .. } => {
                sqlx::query_scalar(sql).fetch_one(&mut self.postgres_connection().await).await.unwrap()
            }
        }
    }

    pub(crate) async fn sqlite_connection(&self) -> SqliteConnection {
        let TestDatabase::Sqlite(folder) = self else { panic!("not SQLite") };
        let file = folder.path().join("state.sqlite");
        SqliteConnection::connect_with(&SqliteConnectOptions::new().filename(file).create_if_missing(true))
            .await
            .unwrap()
    }

    async fn postgres_connection(&self) -> PgConnection {
        PgConnection::connect(&self.url()).await.unwrap()
    }

    /// Reads in a transaction, which goes on.
    pub(crate) async fn reading(&self, sql: &str) -> Reading {
        let sql = sqlx::AssertSqlSafe(format!("BEGIN; {sql}"));
        match self {
            TestDatabase::Sqlite(_) => {
                let mut connection = self.sqlite_connection().await;
                sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
                Reading::Sqlite(connection)
            }
            TestDatabase::Postgres { .. } => {
                let mut connection = self.postgres_connection().await;
                sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
                Reading::Postgres(connection)
            }
        }
    }

    /// Removes what a server would keep.
    pub(crate) async fn remove(self) {
        self.administer("DROP SCHEMA {} CASCADE").await;
    }
}

/// A transaction that has read something.
pub(crate) enum Reading {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

impl Reading {
    pub(crate) async fn end(self) {
        match self {
            Reading::Sqlite(connection) => connection.close().await.unwrap(),
            Reading::Postgres(connection) => connection.close().await.unwrap(),
        }
    }
}
