//! The connection pool of SQLite or PostgreSQL.

use sqlx::{PgPool, SqlitePool};

/// The connection pool of one of the two databases.
#[derive(Clone)]
pub(crate) enum SqlPool {
    Sqlite(SqlitePool),
    Postgres(PgPool),
}

/// Evaluates the same expression with the pool of either database.
macro_rules! on {
    ($pool:expr, $name:ident => $run:expr) => {
        match $pool {
            $crate::pool::SqlPool::Sqlite($name) => $run,
            $crate::pool::SqlPool::Postgres($name) => $run,
        }
    };
}
pub(crate) use on;
