//! Remembers the changes of a SQLite database in the mark beside it.

use std::path::Path;

use sqlx::SqlitePool;

use crate::{State, StateError, identity, pool::SqlPool, url::Target};

impl State {
    /// The file and the pool, of SQLite.
    fn file(&self) -> Option<(&Path, &SqlitePool)> {
        match (&self.url.0, &self.pool) {
            (Target::Sqlite(path), SqlPool::Sqlite(pool)) => Some((path, pool)),
            _ => None,
        }
    }

    /// Remembers a change beside the database. If that fails, the change is there nevertheless.
    pub(crate) async fn changed(&self) {
        self.remember(false).await;
    }

    /// Remembers what the database has when it is closed.
    pub(crate) async fn remember(&self, rows: bool) {
        let Some((path, pool)) = self.file().filter(|_| self.is_ready()) else { return };
        let noted = async {
            let mut connection = pool.acquire().await.map_err(StateError::database("cannot be read"))?;
            identity::note(path, &mut connection, rows).await
        };
        if let Err(error) = noted.await {
            tracing::warn!(%error, "the last change of the service state is not remembered beside it");
        }
    }
}
