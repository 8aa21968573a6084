//! Identifies a SQLite database: it has a random id and a number of changes, which triggers raise. The
//! [mark](crate::mark) beside it remembers both. So a file that is missing, empty, older than the one that was used, or
//! of another database is reported, and never taken for a new one. PostgreSQL has its own tools for that.

use std::{fs, io::ErrorKind, path::Path};

use sha2::{Digest, Sha256};
use sqlx::{AssertSqlSafe, Connection, Row, SqliteConnection, SqlitePool};

use crate::{
    StateError,
    error::FileMismatch,
    mark::{self, Mark, MarkFile},
    random::random,
    sqlite::sqlite,
};

const IS_THERE: &str = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'cairn_identity'";
const TRIGGERS: &str =
    "SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'cairn\\_%' ESCAPE '\\'";
/// `complement` goes down as `changes` goes up, so that a damaged number is found.
const TABLE: &str = "CREATE TABLE IF NOT EXISTS cairn_identity (id TEXT NOT NULL PRIMARY KEY, changes BIGINT NOT NULL, \
    complement BIGINT NOT NULL)";
const READ: &str = "SELECT id, changes, complement FROM cairn_identity";
const BEGIN: &str = "INSERT INTO cairn_identity (id, changes, complement) SELECT $1, 0, 0 \
    WHERE NOT EXISTS (SELECT 1 FROM cairn_identity)";

/// Tables whose changes count, each with the columns that a hash of their rows has and whose updates count. The last
/// use of a key, the writer's tip and the block that published a report are observations, and votes are many, so they
/// do not count; a document that waits has a hash of its own. Sales are many too, and anyone can make a challenge: only
/// those count that an operator opened again. An older copy gives redeemed challenges once more until they end, and the
/// chain refuses a second settlement of a payment. Simulated invoices are worth nothing. Of a checkout, what was agreed
/// and what it gave count; how its payment was last seen is an observation.
const COUNTED: [(&str, &str); 16] = [
    ("access_keys", "id, kind, secret_sha256, label, created_at, expires_at, revoked_at"),
    (
        "feedback",
        "id, kind, address, message, suggested_label, suggested_category, source_url, content_sha256, client, state, \
         created_at, closed_at, note, claim_id, is_signed",
    ),
    (
        "sanction_approvals",
        "list, script_sha256, party_uid, party_name, address, feed_sha256, approver, approved_at, withdrawn_at, \
         withdrawn_by",
    ),
    ("sanction_feeds", "list, sha256, checked_at, issued_at, invalid, listed_under_other_asset"),
    ("service_secrets", "name, secret"),
    ("waiting_documents", "id, network, queued_at, origin, documents, bytes"),
    ("payment_counters", "descriptor, run, next_index"),
    ("payment_addresses", "descriptor, address_index, purpose, script, created_at"),
    ("payment_skips", "descriptor, first_index, end_index, skipped_at"),
    (
        "reports",
        "id, address, script_hash, category, description, evidence_txids, evidence_url, created_at, expires_at, \
         amount_sats, payment_script, payment_address, visibility",
    ),
    ("report_acts", "id, report_id, act, reason, acted_at"),
    ("timestamp_batches", "id, network, root, leaves, state, made_at, failure, txid, height, block_hash"),
    ("timestamp_candidates", "batch, txid, fee_sats, vsize, made_at"),
    ("codes", "id, kind, secret_sha256, label, valid_secs, created_at, expires_at, revoked_at, redeemed_at, key_id"),
    ("l402_reopenings", "challenge_id, reason, redeemed_at, reopened_at"),
    (
        "checkouts",
        "id, claim_sha256, plan, price_sats, valid_secs, created_at, expires_at, method, payment_script, payment_address, \
         payment_hash, invoice, provider, first_paid_at, key_id, claimed_at",
    ),
];
/// Events that count as changes.
const EVENTS: [&str; 3] = ["INSERT", "DELETE", "UPDATE"];

/// Id and number of changes, as the database has them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Identity {
    id: String,
    changes: u64,
}

fn failed() -> impl FnOnce(sqlx::Error) -> StateError {
    StateError::database("cannot be opened")
}

/// Reads the identity; `None` if the database has no such table.
async fn read(connection: &mut SqliteConnection) -> Result<Option<Identity>, StateError> {
    let there: i64 = sqlx::query_scalar(IS_THERE).fetch_one(&mut *connection).await.map_err(failed())?;
    if there == 0 {
        return Ok(None);
    }
    let row: Option<(String, i64, i64)> =
        sqlx::query_as(READ).fetch_optional(&mut *connection).await.map_err(failed())?;
    let Some((id, changes, complement)) = row else { return Ok(None) };
    let reason = || "the number of its changes contradicts itself".to_owned();
    let damaged = || StateError::Database { what: "is damaged", reason: reason(), disk_full: false };
    let changes = u64::try_from(changes).ok().filter(|_| changes.checked_neg() == Some(complement));
    Ok(Some(Identity { id, changes: changes.ok_or_else(damaged)? }))
}

/// Compares the database with the mark. `known` was read first, so the database must have at least its changes.
fn compare(path: &Path, known: &MarkFile, found: Option<&Identity>) -> Result<(), StateError> {
    let lost = |what| Err(StateError::Lost { path: path.to_owned(), what });
    match (known, found) {
        (MarkFile::Nothing, _) | (MarkFile::Damaged, Some(_)) => Ok(()),
        (_, None) => lost(FileMismatch::Unknown),
        (MarkFile::Database(mark), Some(found)) if mark.id != found.id => lost(FileMismatch::Unknown),
        (MarkFile::Database(mark), Some(found)) if mark.changes > found.changes => {
            lost(FileMismatch::Older { changes: mark.changes - found.changes })
        }
        (MarkFile::Database(_), Some(_)) => Ok(()),
    }
}

/// Reads the mark, and looks if there is a file where one must be. Nothing is opened.
pub(crate) fn known(path: &Path) -> Result<MarkFile, StateError> {
    let known = mark::read(path)?;
    let lost = |what| Err(StateError::Lost { path: path.to_owned(), what });
    match fs::metadata(path) {
        _ if known == MarkFile::Nothing => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return lost(FileMismatch::Missing),
        Err(reason) => return Err(StateError::File { path: path.to_owned(), reason }),
        Ok(file) if file.len() == 0 => return lost(FileMismatch::Empty),
        Ok(_) => {}
    }
    Ok(known)
}

/// Checks that the database is the one that was used here, with all its changes. Nothing is changed.
///
/// # Errors
/// Returns [`StateError::Lost`] if it is not.
pub(crate) async fn verify(path: &Path, connection: &mut SqliteConnection) -> Result<(), StateError> {
    let known = known(path)?;
    // Without a mark, nothing is known that it could lack.
    if known == MarkFile::Nothing {
        return Ok(());
    }
    compare(path, &known, read(connection).await?.as_ref())
}

/// As [`verify`], with a connection of its own.
pub(crate) async fn verify_file(path: &Path) -> Result<(), StateError> {
    known(path)?;
    let mut connection = SqliteConnection::connect_with(&sqlite(path)).await.map_err(failed())?;
    let verified = verify(path, &mut connection).await;
    // The next connection reports any error.
    let _ended = connection.close().await;
    verified
}

/// Gives a database an id and counts its changes, if it does not yet, and remembers it.
pub(crate) async fn settle(path: &Path, pool: &SqlitePool) -> Result<(), StateError> {
    let mut connection = pool.acquire().await.map_err(failed())?;
    let triggers: i64 = sqlx::query_scalar(TRIGGERS).fetch_one(&mut *connection).await.map_err(failed())?;
    let wanted = COUNTED.len() * EVENTS.len();
    // The usual case writes nothing.
    if read(&mut connection).await?.is_none() || triggers < wanted as i64 {
        let mut tx = connection.begin_with("BEGIN IMMEDIATE").await.map_err(failed())?;
        sqlx::raw_sql(TABLE).execute(&mut *tx).await.map_err(failed())?;
        sqlx::query(BEGIN).bind(hex::encode(random::<16>()?)).execute(&mut *tx).await.map_err(failed())?;
        for (table, columns) in COUNTED {
            for event in EVENTS {
                let what = if event == "UPDATE" { format!("UPDATE OF {columns}") } else { event.to_owned() };
                let sql = format!(
                    "CREATE TRIGGER IF NOT EXISTS cairn_{event}_{table} AFTER {what} ON {table} BEGIN \
                     UPDATE cairn_identity SET changes = changes + 1, complement = complement - 1; END"
                );
                sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *tx).await.map_err(failed())?;
            }
        }
        tx.commit().await.map_err(failed())?;
    }
    note(path, &mut connection, false).await
}

/// Remembers how many changes the database has seen; with `rows`, also the hash of its rows.
pub(crate) async fn note(path: &Path, connection: &mut SqliteConnection, rows: bool) -> Result<(), StateError> {
    let known = mark::read(path)?;
    let mut tx = connection.begin().await.map_err(failed())?;
    let Some(Identity { id, changes }) = read(&mut tx).await? else { return Ok(()) };
    let before = match known {
        MarkFile::Database(mark) if mark.id != id => return Ok(()),
        MarkFile::Database(mark) => Some(mark),
        MarkFile::Nothing | MarkFile::Damaged => None,
    };
    let hashed = before.as_ref().and_then(|mark| mark.rows.clone());
    let hashed = match hashed {
        Some((at, hash)) if at == changes && hash.starts_with(&form()) => Some((at, hash)),
        hashed if !rows => hashed,
        _ => Some((changes, hash_of(&mut tx).await?)),
    };
    drop(tx);
    let mark = Mark { id, changes, rows: hashed };
    // Another process may have noted more meanwhile.
    if before.as_ref() == Some(&mark) || before.is_some_and(|before| before.changes > changes) {
        return Ok(());
    }
    mark::write(path, &mark)
}

/// The hash of all rows whose changes count.
async fn hash_of(connection: &mut SqliteConnection) -> Result<String, StateError> {
    let mut hash = Sha256::new();
    for (table, columns) in COUNTED {
        let all: Vec<String> = columns.split(", ").map(|column| format!("quote({})", column.trim())).collect();
        let sql = format!("SELECT CAST({} AS BLOB) AS row FROM {table} ORDER BY row", all.join(" || ',' || "));
        let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(&mut *connection).await.map_err(failed())?;
        hash.update(format!("{table} {}\n", rows.len()));
        for row in rows {
            hash.update(row.try_get::<Vec<u8>, _>(0).map_err(failed())?);
            hash.update("\n");
        }
    }
    Ok(format!("{}-{}", form(), hex::encode(hash.finalize())))
}

/// A short hash of the tables and columns that [`hash_of`] reads. Hashes of programs with other columns are not
/// compared.
fn form() -> String {
    let mut hash = Sha256::new();
    COUNTED.iter().for_each(|(table, columns)| hash.update(format!("{table} {columns}\n")));
    hex::encode(&hash.finalize()[..4])
}

/// Describes how the database differs from its mark.
pub(crate) async fn problems(path: &Path, pool: &SqlitePool) -> Result<Vec<String>, StateError> {
    let known = mark::read(path)?;
    let mut connection = pool.acquire().await.map_err(failed())?;
    let mut tx = connection.begin().await.map_err(failed())?;
    let found = match read(&mut tx).await {
        Err(error) => return Ok(vec![error.to_string()]),
        Ok(found) => found,
    };
    if let Err(error @ StateError::Lost { .. }) = compare(path, &known, found.as_ref()) {
        return Ok(vec![error.to_string()]);
    }
    let (MarkFile::Database(mark), Some(found)) = (known, found) else { return Ok(Vec::new()) };
    match mark.rows {
        Some((changes, hash))
            if changes == found.changes && hash.starts_with(&form()) && hash != hash_of(&mut tx).await? =>
        {
            Ok(vec!["rows are not those that were there when the database was last closed".to_owned()])
        }
        _ => Ok(Vec::new()),
    }
}
