//! Checks the database by its structure, and copies it.

use std::path::Path;

use sqlx::{Connection, SqliteConnection};

use crate::{
    State, StateError, StateUrl,
    error::FileMismatch,
    identity, mark, migrations,
    pool::{SqlPool, on, sql},
    sqlite::{make_private, sqlite},
    url::Target,
};

const MAX_TOLD: usize = 20;
/// Columns of a table in SQLite, and in PostgreSQL.
const SQLITE_COLUMNS: &str = "SELECT name FROM pragma_table_info($1)";
const POSTGRES_COLUMNS: &str = "SELECT column_name::text FROM information_schema.columns \
    WHERE table_schema = current_schema() AND table_name = $1";
/// A damaged page may hide rows from a count by an index. These read each row.
const KEYS: &str = "SELECT count(*) FROM (SELECT id, kind, secret_sha256, label, created_at FROM access_keys \
    WHERE length(secret_sha256) = 64) AS rows_read";
const TICKETS: &str = "SELECT count(*) FROM (SELECT id, kind, message, state, created_at FROM feedback \
    WHERE length(content_sha256) = 64) AS rows_read";
const APPROVALS: &str = "SELECT count(*) FROM (SELECT list, party_uid, party_name, address, approver, approved_at \
    FROM sanction_approvals WHERE length(script_sha256) = 64 AND withdrawn_at IS NULL) AS rows_read";
const WAITING: &str = "SELECT count(*) FROM (SELECT id, network, queued_at, origin, documents FROM waiting_documents \
    WHERE length(payload) = bytes) AS rows_read";
const WRITERS: &str = "SELECT count(*) FROM (SELECT network, height, event_seq, best_height, published_at FROM writers \
    WHERE length(hash) = 64) AS rows_read";
const REPORTS: &str = "SELECT count(*) FROM (SELECT id, address, category, description, created_at, expires_at, amount_sats \
    FROM reports WHERE length(script_hash) = 64) AS rows_read";
const PAYMENTS: &str = "SELECT count(*) FROM (SELECT descriptor, address_index, purpose, script FROM payment_addresses \
    WHERE created_at >= 0) AS rows_read";
const TIMESTAMPS: &str = "SELECT count(*) FROM (SELECT network, hash, nonce, source, submitted_at, batch, position \
    FROM timestamp_hashes WHERE length(commitment) = 32) AS rows_read";
const CODES: &str = "SELECT count(*) FROM (SELECT id, kind, secret_sha256, label, valid_secs, created_at, redeemed_at, \
    key_id FROM codes WHERE expires_at >= 0) AS rows_read";
const CHALLENGES: &str = "SELECT count(*) FROM (SELECT id, macaroon, invoice, capability, price_sats, redeemed_at, sold_at \
    FROM l402_challenges WHERE length(token_id) = 32 AND length(root_key) = 32) AS rows_read";
const X402_PAYMENTS: &str = "SELECT count(*) FROM (SELECT payer, payload, capability, amount, state, transaction_id \
    FROM x402_payments WHERE length(nonce) = 32 AND length(fingerprint) = 32) AS rows_read";
const SIMULATED_INVOICES: &str = "SELECT count(*) FROM (SELECT label, bolt11, amount_sats, expires_at, paid_at \
    FROM simulated_invoices WHERE length(payment_hash) = 32 AND length(preimage) = 32) AS rows_read";
const CHECKOUTS: &str = "SELECT count(*) FROM (SELECT id, plan, price_sats, valid_secs, method, payment_address, invoice, \
    first_paid_at, key_id FROM checkouts WHERE length(claim_sha256) = 64) AS rows_read";

/// Result of a check.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CheckReport {
    /// Problems, one sentence each; empty if there are none.
    pub problems: Vec<String>,
    /// Version of the schema; `None` if the database has none.
    pub version: Option<u32>,
    /// Keys and sessions.
    pub keys: u64,
    /// Tickets.
    pub tickets: u64,
    /// Approvals of rows of lists of sanctions that are not withdrawn.
    pub approvals: u64,
    /// Files of documents that were handed in beside a copy of the index, and wait for the writer.
    pub waiting: u64,
    /// Networks whose writer has published its newest block.
    pub writers: u64,
    /// Reports of clients.
    pub reports: u64,
    /// Addresses that clients were asked to pay to.
    pub payments: u64,
    /// Hashes that were handed in to be anchored.
    pub timestamps: u64,
    /// Codes for keys.
    pub codes: u64,
    /// Challenges of L402.
    pub challenges: u64,
    /// Payments of x402.
    pub x402_payments: u64,
    /// Invoices of the simulated Lightning node.
    pub simulated_invoices: u64,
    /// Checkouts of passes.
    pub checkouts: u64,
}

/// Checks a database: that it is whole, that it has the tables of its version, and that its rows can be read. It
/// changes nothing, and creates nothing.
///
/// # Errors
/// Fails if the database is missing or unreachable. Damage is not an error, but a problem in the result.
pub async fn check(url: &StateUrl) -> Result<CheckReport, StateError> {
    if let Target::Sqlite(path) = &url.0 {
        identity::known(path)?;
        std::fs::metadata(path).map_err(|reason| StateError::File { path: path.clone(), reason })?;
    }
    let state = State::of(url);
    let result = checked(&state).await;
    state.close().await;
    result
}

async fn checked(state: &State) -> Result<CheckReport, StateError> {
    let mut found = CheckReport::default();
    if let SqlPool::Sqlite(pool) = &state.pool {
        for (pragma, what) in [("PRAGMA integrity_check", "damaged"), ("PRAGMA foreign_key_check", "a row is missing")]
        {
            match sqlx::query_scalar::<_, String>(pragma).fetch_all(pool).await {
                Ok(rows) => {
                    let rows = rows.into_iter().filter(|row| row != "ok").take(MAX_TOLD);
                    found.problems.extend(rows.map(|row| format!("{what}: {}", row.replace('\n', " "))));
                }
                Err(error) => found.problems.push(problem(error)?),
            }
        }
    }
    match migrations::version(&state.pool).await {
        Ok(version) => found.version = version,
        // The file is damaged, as is known by now.
        Err(StateError::Database { .. }) if !found.problems.is_empty() => {}
        // PostgreSQL cannot be reached.
        Err(error @ StateError::Database { .. }) => return Err(error),
        Err(error) => found.problems.push(error.to_string()),
    }
    match found.version {
        None if found.problems.is_empty() => found.problems.push("it has no tables of Cairn".to_owned()),
        Some(version) if version == migrations::newest() => {
            rows(state, &mut found).await?;
            columns(state, &mut found).await;
        }
        // The next command that uses it migrates it.
        _ => {}
    }
    // A database with problems is not compared with its mark as well.
    if let (Target::Sqlite(path), SqlPool::Sqlite(pool), true) = (&state.url.0, &state.pool, found.problems.is_empty())
    {
        found.problems = identity::problems(path, pool).await?;
    }
    found.problems.sort();
    found.problems.dedup();
    Ok(found)
}

async fn rows(state: &State, found: &mut CheckReport) -> Result<(), StateError> {
    let mut counts = [0; 13];
    let all = [
        KEYS,
        TICKETS,
        APPROVALS,
        WAITING,
        WRITERS,
        REPORTS,
        PAYMENTS,
        TIMESTAMPS,
        CODES,
        CHALLENGES,
        X402_PAYMENTS,
        SIMULATED_INVOICES,
        CHECKOUTS,
    ];
    for (count, sql) in counts.iter_mut().zip(all) {
        let read: Result<i64, sqlx::Error> = on!(&state.pool, pool => sqlx::query_scalar(sql).fetch_one(pool).await);
        match read {
            Ok(read) => *count = u64::try_from(read).unwrap_or_default(),
            Err(error) => found.problems.push(problem(error)?),
        }
    }
    let [keys, tickets, approvals, waiting, writers, reports, payments, timestamps, codes, sales @ ..] = counts;
    (found.keys, found.tickets, found.approvals, found.waiting) = (keys, tickets, approvals, waiting);
    (found.writers, found.reports, found.payments, found.timestamps) = (writers, reports, payments, timestamps);
    found.codes = codes;
    [found.challenges, found.x402_payments, found.simulated_invoices, found.checkouts] = sales;
    Ok(())
}

async fn columns(state: &State, found: &mut CheckReport) {
    for (table, columns) in migrations::TABLES {
        let names = match &state.pool {
            SqlPool::Sqlite(_) => SQLITE_COLUMNS,
            SqlPool::Postgres(_) => POSTGRES_COLUMNS,
        };
        let there: Result<Vec<(String,)>, StateError> =
            sql(names).bind(*table).all(&state.pool, "cannot be checked").await;
        // Unreadable parts are already reported.
        let Ok(there) = there else { continue };
        for column in columns.split(' ').filter(|column| !there.iter().any(|(name,)| name == column)) {
            found.problems.push(format!("table {table} has no column {column}"));
        }
    }
}

/// The damage that an error of the database reports; `Err` if the error is of another kind.
fn problem(error: sqlx::Error) -> Result<String, StateError> {
    /// SQLite: damaged, not a database. An error of input and output may be a part of a file that is gone.
    const DAMAGE: [u32; 3] = [11, 26, 10];
    /// SQLite: an unknown table or column.
    const UNKNOWN: u32 = 1;
    let code = error.as_database_error().and_then(|error| error.code().map(|code| code.into_owned()));
    let number = code.as_deref().and_then(|code| code.parse::<u32>().ok()).map(|code| code & 0xff);
    let is_problem = match (number, code.as_deref()) {
        // PostgreSQL: undefined table or column, damaged data or index.
        (_, Some("42P01" | "42703" | "XX001" | "XX002")) => true,
        (Some(number), _) => DAMAGE.contains(&number) || number == UNKNOWN,
        _ => false,
    };
    if !is_problem {
        return Err(StateError::database("cannot be checked")(error));
    }
    Ok(error.as_database_error().map_or_else(|| error.to_string(), |e| e.message().to_owned()))
}

/// Copies a SQLite database, also while servers use it, into a new file that only its owner can read.
///
/// # Errors
/// Returns [`StateError::NotAFile`] if the database is PostgreSQL; fails also if it is missing or damaged, or if the
/// copy exists.
pub async fn backup(url: &StateUrl, to: &Path, replace: bool) -> Result<(), StateError> {
    let Target::Sqlite(from) = &url.0 else { return Err(StateError::NotAFile) };
    let file = |path: &Path| {
        let path = path.to_owned();
        move |reason| StateError::File { path, reason }
    };
    std::fs::metadata(from).map_err(|reason| match identity::known(from) {
        Err(lost @ StateError::Lost { .. }) => lost,
        _ => StateError::File { path: from.clone(), reason },
    })?;
    // A file that was put in its place is not copied as if it were the database.
    identity::verify_file(from).await?;
    if !replace && to.symlink_metadata().is_ok() {
        return Err(StateError::Exists(to.to_owned()));
    }
    // Beside the copy: only a complete one takes its name.
    let mut part = to.as_os_str().to_owned();
    part.push(".part");
    let part = std::path::PathBuf::from(part);
    match std::fs::remove_file(&part) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(file(&part)(error)),
        _ => {}
    }
    make_private(&part)?;
    let copied = copy(from, &part).await;
    let placed = match copied {
        Ok(()) => place(&part, to, replace).map_err(file(to)),
        Err(error) => Err(error),
    };
    if placed.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    placed
}

/// SQLite writes a consistent copy into the file, which must be empty.
async fn copy(from: &Path, to: &Path) -> Result<(), StateError> {
    let failed = || StateError::database("cannot be copied");
    let text = to.to_str().ok_or_else(|| StateError::File {
        path: to.to_owned(),
        reason: std::io::Error::new(std::io::ErrorKind::InvalidInput, "the name of the file is not UTF-8"),
    })?;
    let mut connection = SqliteConnection::connect_with(&sqlite(from)).await.map_err(failed())?;
    let copied = sqlx::query("VACUUM INTO $1").bind(text).execute(&mut connection).await.map_err(failed());
    // The next connection reports any error.
    let _ended = connection.close().await;
    copied.map(|_| ())
}

/// Makes the copy durable, and gives it its name.
fn place(part: &Path, to: &Path, replace: bool) -> std::io::Result<()> {
    std::fs::File::open(part)?.sync_all()?;
    if replace {
        std::fs::rename(part, to)?;
    } else {
        // Fails if another process has made the file meanwhile.
        std::fs::hard_link(part, to)?;
        std::fs::remove_file(part)?;
    }
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::File::open(folder)?.sync_all()
}

/// Accepts the file in the place of a lost SQLite database: an older copy, or another database. With `new`, begins an
/// empty database where there is none. Forgets the mark of the database before.
///
/// # Errors
/// Returns [`StateError::Lost`] if nothing is there, unless `new` is set; with `new`, [`StateError::Exists`] if there
/// is a database. Fails also for PostgreSQL.
pub async fn accept(url: &StateUrl, new: bool) -> Result<(), StateError> {
    let Target::Sqlite(path) = &url.0 else { return Err(StateError::NotAFile) };
    let is_there = match identity::known(path) {
        Err(StateError::Lost { what: FileMismatch::Missing | FileMismatch::Empty, .. }) if new => false,
        known => {
            known?;
            std::fs::metadata(path).is_ok_and(|file| file.len() > 0)
        }
    };
    if is_there && new {
        return Err(StateError::Exists(path.clone()));
    }
    if !is_there && !new {
        let reason = std::io::Error::from(std::io::ErrorKind::NotFound);
        return Err(StateError::File { path: path.clone(), reason });
    }
    mark::forget(path)?;
    State::open(url).await?.close().await;
    Ok(())
}
