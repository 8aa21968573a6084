//! The schema as numbered, forward-only migrations. A released migration is never edited.

use crate::{
    StateError,
    pool::{SqlPool, SqlTx, sql},
};
use sha2::{Digest, Sha256};

struct Migration {
    version: u32,
    name: &'static str,
    /// SQL for both databases.
    sql: &'static str,
}

/// All migrations, numbered from 1 without gaps.
const MIGRATIONS: &[Migration] = &[
    Migration { version: 1, name: "access_keys", sql: include_str!("../migrations/0001_access_keys.sql") },
    Migration { version: 2, name: "feedback", sql: include_str!("../migrations/0002_feedback.sql") },
    Migration { version: 3, name: "sanctions", sql: include_str!("../migrations/0003_sanctions.sql") },
    Migration { version: 4, name: "contests", sql: include_str!("../migrations/0004_contests.sql") },
    Migration { version: 5, name: "replicas", sql: include_str!("../migrations/0005_replicas.sql") },
    Migration { version: 6, name: "reports", sql: include_str!("../migrations/0006_reports.sql") },
    Migration { version: 7, name: "timestamps", sql: include_str!("../migrations/0007_timestamps.sql") },
    Migration { version: 8, name: "report_replies", sql: include_str!("../migrations/0008_report_replies.sql") },
    Migration { version: 9, name: "codes", sql: include_str!("../migrations/0009_codes.sql") },
    Migration { version: 10, name: "sales", sql: include_str!("../migrations/0010_sales.sql") },
    Migration { version: 11, name: "checkouts", sql: include_str!("../migrations/0011_checkouts.sql") },
];

impl Migration {
    fn sha256(&self) -> String {
        hex::encode(Sha256::digest(self.sql.as_bytes()))
    }
}

/// The table of applied migrations. It never changes.
const HISTORY: &str = "CREATE TABLE IF NOT EXISTS cairn_schema (version BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL, \
    sha256 TEXT NOT NULL)";
const SEEN: &str = "SELECT version, sha256 FROM cairn_schema ORDER BY version";
const NOTE: &str = "INSERT INTO cairn_schema (version, name, sha256) VALUES ($1, $2, $3)";
const SQLITE_KNOWS: &str = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'cairn_schema'";
const POSTGRES_KNOWS: &str = "SELECT count(*) FROM information_schema.tables \
    WHERE table_schema = current_schema() AND table_name = 'cairn_schema'";
/// Only one process changes the schema at a time. The number is arbitrary, and identifies this lock.
const POSTGRES_LOCK: &str = "SELECT pg_advisory_xact_lock(7161882016051)";

/// Checks the schema and applies all missing migrations, or none.
///
/// # Errors
/// Fails if the database has migrations that this program does not have.
pub(crate) async fn apply(pool: &SqlPool) -> Result<(), StateError> {
    let what = "cannot be opened";
    // The usual case writes nothing.
    if let Some(seen) = seen(pool, what).await?
        && missing(MIGRATIONS, &seen)?.is_empty()
    {
        return Ok(());
    }
    // Takes the write lock at once: of two processes, the second then sees the changes of the first.
    let mut tx = pool.begin_writing(what).await?;
    if matches!(tx, SqlTx::Postgres(_)) {
        tx.raw(POSTGRES_LOCK, what).await?;
    }
    tx.raw(HISTORY, what).await?;
    // Another process may have applied them in the meantime.
    let seen: Vec<(i64, String)> = sql(SEEN).all(&mut tx, what).await?;
    for step in missing(MIGRATIONS, &seen)? {
        tx.raw(step.sql, what).await?;
        let note = sql(NOTE).bind(i64::from(step.version)).bind(step.name).bind(step.sha256());
        note.run(&mut tx, what).await?;
        tracing::info!(version = step.version, name = step.name, "applied a migration of the service state");
    }
    tx.commit(what).await
}

/// The migrations that were applied; `None` if the database has no table of them.
async fn seen(pool: &SqlPool, what: &'static str) -> Result<Option<Vec<(i64, String)>>, StateError> {
    let knows = match pool {
        SqlPool::Sqlite(_) => SQLITE_KNOWS,
        SqlPool::Postgres(_) => POSTGRES_KNOWS,
    };
    let known: i64 = sql(knows).value(pool, what).await?;
    if known == 0 { Ok(None) } else { sql(SEEN).all(pool, what).await.map(Some) }
}

/// The tables with their columns.
pub(crate) const TABLES: &[(&str, &str)] = &[
    ("cairn_schema", "version name sha256"),
    ("access_keys", "id kind secret_sha256 label created_at expires_at revoked_at last_used_at suspended_at"),
    (
        "feedback",
        "id kind address message suggested_label suggested_category source_url content_sha256 client state \
         created_at closed_at note claim_id is_signed",
    ),
    (
        "sanction_approvals",
        "list script_sha256 party_uid party_name address feed_sha256 approver approved_at withdrawn_at \
         withdrawn_by",
    ),
    ("sanction_feeds", "list sha256 checked_at issued_at invalid listed_under_other_asset"),
    ("service_secrets", "name secret"),
    ("waiting_documents", "id network queued_at origin documents bytes payload"),
    ("writers", "network height hash event_seq best_height published_at"),
    ("payment_counters", "descriptor run next_index"),
    ("payment_addresses", "descriptor address_index purpose script created_at"),
    ("payment_skips", "descriptor first_index end_index skipped_at"),
    (
        "reports",
        "id address script_hash category description evidence_txids evidence_url client created_at expires_at \
         amount_sats payment_script payment_address visibility up down published_height published_hash reply \
         replied_at reply_until erased_at",
    ),
    ("report_acts", "id report_id act reason acted_at"),
    ("client_keys", "number secret since"),
    ("report_voters", "client voted_at"),
    ("timestamp_hashes", "network hash nonce commitment source submitted_at batch position"),
    ("timestamp_batches", "id network root leaves state fence made_at changed_at failure txid height block_hash proof"),
    ("timestamp_nodes", "batch level part hashes"),
    ("timestamp_candidates", "batch txid raw fee_sats vsize made_at sent_at"),
    ("timestamp_leases", "network holder fence expires_at"),
    ("timestamp_reports", "network fence wallet anchors_left anchor_vsize interval_secs next_anchor_at reported_at"),
    ("codes", "id secret_sha256 kind label valid_secs created_at expires_at revoked_at redeemed_at key_id"),
    (
        "l402_challenges",
        "id token_id payment_hash root_key macaroon invoice capability method path_template resource_path \
         fingerprint client price_sats provider created_at invoice_expires_at expires_at redeemable_until holder \
         fence leased_until not_found redeemed_at sold_at",
    ),
    ("l402_reopenings", "challenge_id reason redeemed_at reopened_at"),
    (
        "x402_payments",
        "chain_id asset payer nonce fingerprint capability amount payload valid_before state holder fence \
         leased_until taken_at changed_at settled_at transaction_id reason delivered_at",
    ),
    ("simulated_invoices", "payment_hash preimage label bolt11 amount_sats expires_at paid_at"),
    (
        "checkouts",
        "id claim_sha256 plan price_sats valid_secs client created_at expires_at method payment_script \
         payment_address payment_hash invoice provider received_sats paid_at paid_height paid_hash first_paid_at \
         reverted_at settled asked_at key_id claimed_at",
    ),
];

/// The newest version of the schema, which this program makes. It upgrades earlier ones.
#[must_use]
pub fn newest() -> u32 {
    MIGRATIONS.last().map_or(0, |step| step.version)
}

/// The version of the schema; `None` if the database has none.
///
/// # Errors
/// Fails if the database has migrations that this program does not have, or lacks some.
pub(crate) async fn version(pool: &SqlPool) -> Result<Option<u32>, StateError> {
    let Some(seen) = seen(pool, "cannot be read").await? else { return Ok(None) };
    missing(MIGRATIONS, &seen)?;
    Ok(Some(u32::try_from(seen.len()).unwrap_or(u32::MAX)))
}

fn missing<'s>(steps: &'s [Migration], seen: &[(i64, String)]) -> Result<&'s [Migration], StateError> {
    let version = |number: i64| u32::try_from(number).unwrap_or(u32::MAX);
    let known = steps.last().map_or(0, |step| step.version);
    if let Some((found, _)) = seen.last().filter(|(found, _)| version(*found) > known) {
        return Err(StateError::Newer { found: version(*found), known });
    }
    for (at, (number, sha256)) in seen.iter().enumerate() {
        if !steps.get(at).is_some_and(|s| i64::from(s.version) == *number && s.sha256() == *sha256) {
            return Err(StateError::Foreign { version: version(*number) });
        }
    }
    Ok(steps.get(seen.len()..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MADE_UP: &[Migration] =
        &[Migration { version: 1, name: "a", sql: "A" }, Migration { version: 2, name: "b", sql: "B" }];

    fn row(step: &Migration) -> (i64, String) {
        (i64::from(step.version), step.sha256())
    }

    #[test]
    fn steps_are_numbered_without_gaps() {
        for (at, step) in MIGRATIONS.iter().enumerate() {
            assert_eq!(step.version as usize, at + 1);
        }
    }

    /// A change of a released step leaves behind every database that has seen it. A new step is a new line here.
    #[test]
    fn released_steps_are_never_edited() {
        let hashes: Vec<String> = MIGRATIONS.iter().map(Migration::sha256).collect();
        assert_eq!(hashes, RELEASED);
    }
    const RELEASED: &[&str] = &[
        "b356abf05f2c42490713674fd4ae0c67b2ae6003df65046b69ba6b52b4772144",
        "31ce2983a89a9040a8e7f7e88f5d83f016ce416bfabb95725e60cfa9a61863ae",
        "571b1d181ff340ea6da533fb073eb6ce77deb793a2dd3bca49a21a63c683db40",
        "f593467af57ff3d2640702aadafccd2203b60269bf23980efc03a8474aabe811",
        "4fc2c87cccd3ec682dd968fc684c8305e3696b134cc9f9bb71fd98f2df3498fb",
        "cb340d8ce8d7f13d23a1ba3e783a2a8e5719213c601f215a00169b533b422110",
        "a6e9fb13968467396bce82f7b38b9083a33cb856f0673491976e644b481d7ebf",
        "5d749e9bc7045f741840739e06580effcbf72c3ae94fb25296687b0c57d84742",
        "e93e0417c93c7ed076c7a1c2a29b6a91adb30206c9aed3d1d3cffad3ac9f21be",
        "e4167da268ca7e82c69ccdcd7a0507922242c87ee666a7892bf24c30935b66a5",
        "8e82d2edf337e2623b28a4747adbe667bda5b970841d542f4cbeea69507c13f9",
    ];

    #[test]
    fn what_is_missing_is_what_comes_after() {
        let names = |seen: Vec<_>| missing(MADE_UP, &seen).unwrap().iter().map(|s| s.name).collect::<Vec<_>>();
        assert_eq!(names(vec![]), ["a", "b"]);
        assert_eq!(names(vec![row(&MADE_UP[0])]), ["b"]);
        assert!(names(MADE_UP.iter().map(row).collect()).is_empty());
    }

    #[test]
    fn newer_and_foreign_schemas_are_refused() {
        let (a, b) = (row(&MADE_UP[0]), row(&MADE_UP[1]));
        let refused = |seen: Vec<_>| missing(MADE_UP, &seen).err().unwrap().to_string();
        assert!(refused(vec![a.clone(), b.clone(), (3, String::new())]).contains("newer Cairn"));
        assert!(refused(vec![a.clone(), (2, "other".to_owned())]).contains("step 2"));
        assert!(refused(vec![b]).contains("step 2"));
        assert!(refused(vec![(-1, a.1)]).contains("version 4294967295"));
    }
}
