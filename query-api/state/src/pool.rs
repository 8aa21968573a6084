//! Connections to either database.

use sqlx::{PgPool, SqlitePool};

/// Connections to one of the two.
#[derive(Clone)]
pub(crate) enum SqlPool {
    Sqlite(SqlitePool),
    Postgres(PgPool),
}

/// Evaluates the same expression on the connections of either database.
macro_rules! on {
    ($pool:expr, $name:ident => $run:expr) => {
        match $pool {
            $crate::pool::SqlPool::Sqlite($name) => $run,
            $crate::pool::SqlPool::Postgres($name) => $run,
        }
    };
}
pub(crate) use on;
