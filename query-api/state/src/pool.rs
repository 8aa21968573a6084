//! SQLite or PostgreSQL: their pools and transactions, and statements that are the same for both.

use sqlx::{
    FromRow, PgConnection, PgPool, Postgres, SqlSafeStr, SqlStr, Sqlite, SqliteConnection, SqlitePool, Transaction,
    postgres::PgRow, sqlite::SqliteRow,
};

use crate::StateError;

/// The lock of serialized transactions in PostgreSQL. The number is arbitrary, and identifies this lock.
const POSTGRES_LOCK: &str = "SELECT pg_advisory_xact_lock(7161882016052)";
const UNWRITABLE: &str = "cannot be written";

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

/// A transaction of one of the two databases. It takes effect once it is committed.
pub(crate) enum SqlTx<'c> {
    Sqlite(Transaction<'c, Sqlite>),
    Postgres(Transaction<'c, Postgres>),
}

/// Where a statement runs: by a connection of a pool, or in a transaction.
pub(crate) enum On<'c> {
    SqlitePool(&'c SqlitePool),
    PostgresPool(&'c PgPool),
    Sqlite(&'c mut SqliteConnection),
    Postgres(&'c mut PgConnection),
}

impl<'c> From<&'c SqlPool> for On<'c> {
    fn from(pool: &'c SqlPool) -> Self {
        match pool {
            SqlPool::Sqlite(pool) => On::SqlitePool(pool),
            SqlPool::Postgres(pool) => On::PostgresPool(pool),
        }
    }
}

impl<'c> From<&'c mut SqlTx<'_>> for On<'c> {
    fn from(tx: &'c mut SqlTx<'_>) -> Self {
        match tx {
            SqlTx::Sqlite(tx) => On::Sqlite(tx),
            SqlTx::Postgres(tx) => On::Postgres(tx),
        }
    }
}

impl<'c> From<&'c mut On<'_>> for On<'c> {
    fn from(on: &'c mut On<'_>) -> Self {
        match on {
            On::SqlitePool(pool) => On::SqlitePool(pool),
            On::PostgresPool(pool) => On::PostgresPool(pool),
            On::Sqlite(connection) => On::Sqlite(connection),
            On::Postgres(connection) => On::Postgres(connection),
        }
    }
}

impl SqlPool {
    pub(crate) async fn begin(&self, what: &'static str) -> Result<SqlTx<'static>, StateError> {
        let begun = match self {
            SqlPool::Sqlite(pool) => pool.begin().await.map(SqlTx::Sqlite),
            SqlPool::Postgres(pool) => pool.begin().await.map(SqlTx::Postgres),
        };
        begun.map_err(StateError::database(what))
    }

    /// Begins a transaction that writes. SQLite takes its write lock at once.
    pub(crate) async fn begin_writing(&self, what: &'static str) -> Result<SqlTx<'static>, StateError> {
        match self {
            SqlPool::Sqlite(pool) => {
                pool.begin_with("BEGIN IMMEDIATE").await.map(SqlTx::Sqlite).map_err(StateError::database(what))
            }
            SqlPool::Postgres(_) => self.begin(what).await,
        }
    }

    /// Begins a transaction that never runs beside another one of its kind, for limits and counters that must hold for
    /// concurrent requests. PostgreSQL takes an advisory lock. It ends with [`SqlTx::end`].
    pub(crate) async fn serialized(&self) -> Result<SqlTx<'static>, StateError> {
        let mut tx = self.begin_writing(UNWRITABLE).await?;
        if let SqlTx::Postgres(tx) = &mut tx {
            let locked = sqlx::raw_sql(POSTGRES_LOCK).execute(&mut **tx).await;
            locked.map_err(StateError::database(UNWRITABLE))?;
        }
        Ok(tx)
    }

    /// Runs statements in one transaction: all take effect, or none. Returns the number of rows that each changed.
    pub(crate) async fn all_or_none<'q>(
        &self,
        statements: impl Iterator<Item = Statement<'q>>,
        what: &'static str,
    ) -> Result<Vec<u64>, StateError> {
        let mut tx = self.begin(what).await?;
        let mut changed = Vec::new();
        for statement in statements {
            changed.push(statement.run(&mut tx, what).await?);
        }
        tx.commit(what).await?;
        Ok(changed)
    }
}

impl SqlTx<'_> {
    pub(crate) async fn commit(self, what: &'static str) -> Result<(), StateError> {
        let committed = match self {
            SqlTx::Sqlite(tx) => tx.commit().await,
            SqlTx::Postgres(tx) => tx.commit().await,
        };
        committed.map_err(StateError::database(what))
    }

    /// Commits a [serialized](SqlPool::serialized) transaction.
    pub(crate) async fn end(self) -> Result<(), StateError> {
        self.commit(UNWRITABLE).await
    }

    /// Runs statements without values, as they are.
    pub(crate) async fn raw(&mut self, sql: &'static str, what: &'static str) -> Result<(), StateError> {
        let done = match self {
            SqlTx::Sqlite(tx) => sqlx::raw_sql(sql).execute(&mut **tx).await.map(drop),
            SqlTx::Postgres(tx) => sqlx::raw_sql(sql).execute(&mut **tx).await.map(drop),
        };
        done.map_err(StateError::database(what))
    }
}

/// A value of a statement, or NULL.
pub(crate) enum Value<'q> {
    Number(Option<i64>),
    Text(Option<&'q str>),
    OwnText(Option<String>),
    Bytes(Option<&'q [u8]>),
}

macro_rules! values {
    ($($type:ty, $from:ident => $value:expr;)+) => {
        $(impl<'q> From<$type> for Value<'q> {
            fn from($from: $type) -> Self {
                $value
            }
        })+
    };
}

values! {
    i64, number => Value::Number(Some(number));
    Option<i64>, number => Value::Number(number);
    &'q str, text => Value::Text(Some(text));
    Option<&'q str>, text => Value::Text(text);
    &'q String, text => Value::Text(Some(text));
    Option<&'q String>, text => Value::Text(text.map(String::as_str));
    &'q Option<String>, text => Value::Text(text.as_deref());
    String, text => Value::OwnText(Some(text));
    Option<String>, text => Value::OwnText(text);
    &'q [u8], bytes => Value::Bytes(Some(bytes));
    Option<&'q [u8]>, bytes => Value::Bytes(bytes);
}

/// A row that either database returns.
pub(crate) trait StoredRow: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin {}

impl<T: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin> StoredRow for T {}

/// A statement with its values.
pub(crate) struct Statement<'q> {
    sql: SqlStr,
    values: Vec<Value<'q>>,
}

pub(crate) fn sql<'q>(sql: impl SqlSafeStr) -> Statement<'q> {
    Statement { sql: sql.into_sql_str(), values: Vec::new() }
}

macro_rules! bound {
    ($query:expr, $values:expr) => {
        $values.into_iter().fold($query, |query, value| match value {
            Value::Number(number) => query.bind(number),
            Value::Text(text) => query.bind(text),
            Value::OwnText(text) => query.bind(text),
            Value::Bytes(bytes) => query.bind(bytes),
        })
    };
}

/// Runs a statement where it is to run. A macro, because the queries of the two databases have no common type.
macro_rules! run {
    ($statement:expr, $on:expr, $what:expr, $query:ident $(, $row:ty)? => |$bound:ident, $at:ident| $run:expr) => {{
        let Statement { sql, values } = $statement;
        let done = match $on.into() {
            On::SqlitePool($at) => {
                let $bound = bound!(sqlx::$query::<Sqlite $(, $row)?>(sql), values);
                $run
            }
            On::PostgresPool($at) => {
                let $bound = bound!(sqlx::$query::<Postgres $(, $row)?>(sql), values);
                $run
            }
            On::Sqlite($at) => {
                let $bound = bound!(sqlx::$query::<Sqlite $(, $row)?>(sql), values);
                $run
            }
            On::Postgres($at) => {
                let $bound = bound!(sqlx::$query::<Postgres $(, $row)?>(sql), values);
                $run
            }
        };
        done.map_err(StateError::database($what))
    }};
}

/// In all of these, `what` is the failed action, as the error names it.
impl<'q> Statement<'q> {
    pub(crate) fn bind(mut self, value: impl Into<Value<'q>>) -> Self {
        self.values.push(value.into());
        self
    }

    /// Returns the number of rows that it changed.
    pub(crate) async fn run<'c>(self, on: impl Into<On<'c>>, what: &'static str) -> Result<u64, StateError> {
        run!(self, on, what, query => |query, on| query.execute(on).await.map(|done| done.rows_affected()))
    }

    pub(crate) async fn all<'c, T: StoredRow>(
        self,
        on: impl Into<On<'c>>,
        what: &'static str,
    ) -> Result<Vec<T>, StateError> {
        run!(self, on, what, query_as, T => |query, on| query.fetch_all(on).await)
    }

    pub(crate) async fn first<'c, T: StoredRow>(
        self,
        on: impl Into<On<'c>>,
        what: &'static str,
    ) -> Result<Option<T>, StateError> {
        run!(self, on, what, query_as, T => |query, on| query.fetch_optional(on).await)
    }

    /// Returns the row of a statement that always has one.
    pub(crate) async fn row<'c, T: StoredRow>(
        self,
        on: impl Into<On<'c>>,
        what: &'static str,
    ) -> Result<T, StateError> {
        run!(self, on, what, query_as, T => |query, on| query.fetch_one(on).await)
    }

    /// Returns the only column of that row.
    pub(crate) async fn value<'c, T>(self, on: impl Into<On<'c>>, what: &'static str) -> Result<T, StateError>
    where
        (T,): StoredRow,
    {
        self.row(on, what).await.map(|(value,)| value)
    }

    /// Returns the only column of the first row.
    pub(crate) async fn first_value<'c, T>(
        self,
        on: impl Into<On<'c>>,
        what: &'static str,
    ) -> Result<Option<T>, StateError>
    where
        (T,): StoredRow,
    {
        Ok(self.first(on, what).await?.map(|(value,)| value))
    }
}

/// Declares a row with a field for each column of the same name.
macro_rules! stored_row {
    ($vis:vis struct $name:ident { $($(#[$meta:meta])* $field_vis:vis $field:ident: $type:ty),+ $(,)? }) => {
        $vis struct $name {
            $($(#[$meta])* $field_vis $field: $type),+
        }

        $crate::pool::stored_row!(@ $name, sqlx::sqlite::SqliteRow, $($field),+);
        $crate::pool::stored_row!(@ $name, sqlx::postgres::PgRow, $($field),+);
    };
    (@ $name:ident, $row:ty, $($field:ident),+) => {
        impl sqlx::FromRow<'_, $row> for $name {
            fn from_row(row: &$row) -> Result<Self, sqlx::Error> {
                Ok($name { $($field: sqlx::Row::try_get(row, stringify!($field))?),+ })
            }
        }
    };
}
pub(crate) use stored_row;
