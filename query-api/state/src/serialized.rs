//! Transactions that never run beside each other: where a limit or a counter must hold for concurrent requests.

/// The lock of such transactions in PostgreSQL. The number is arbitrary, and identifies this lock.
pub(crate) const POSTGRES_LOCK: &str = "SELECT pg_advisory_xact_lock(7161882016052)";

/// Runs statements in a transaction of either database, after every other transaction of this kind. SQLite takes its
/// write lock at once, PostgreSQL an advisory lock. A macro, because the types of the two databases have no common
/// trait.
macro_rules! serialized {
    ($pool:expr, $tx:ident => $run:expr) => {
        match $pool {
            $crate::pool::SqlPool::Sqlite(pool) => {
                let begun = pool.begin_with("BEGIN IMMEDIATE").await;
                let mut $tx = begun.map_err($crate::StateError::database("cannot be written"))?;
                let done = $run;
                $tx.commit().await.map_err($crate::StateError::database("cannot be written"))?;
                done
            }
            $crate::pool::SqlPool::Postgres(pool) => {
                let mut $tx = pool.begin().await.map_err($crate::StateError::database("cannot be written"))?;
                let locked = sqlx::raw_sql($crate::serialized::POSTGRES_LOCK).execute(&mut *$tx).await;
                locked.map_err($crate::StateError::database("cannot be written"))?;
                let done = $run;
                $tx.commit().await.map_err($crate::StateError::database("cannot be written"))?;
                done
            }
        }
    };
}
pub(crate) use serialized;
