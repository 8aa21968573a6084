//! Other scripts of the same key. A key's P2PK coins have no address, but a client that asks for the key's address
//! should see them.

use cairn_domain::{address_of, key_hash, p2pk_of, p2pkh_of, public_key, revealed_key, script_sha256};
use cairn_http::ApiError;
use cairn_reader::{FoundScript, View};
use schemars::JsonSchema;
use serde::Serialize;

use super::Wallet;
use crate::raw_tx::raw_tx;

/// A script of the same key.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RelatedScript {
    /// Script type as Bitcoin Core names it.
    script_type: &'static str,
    /// Its address, if it has one.
    address: Option<String>,
    /// SHA-256 of the script in natural byte order; request it as `scripthash:<hex>`.
    script_hash: String,
    /// Relation to the requested script.
    relation: &'static str,
    /// Confirmed balance; null if it was not looked up.
    confirmed_sats: Option<u64>,
    /// Confirmed transactions; null if they were not looked up.
    tx_count: Option<u64>,
}

/// Rows that an overview may read. For a busy script, the rows for the key's other scripts may exceed this limit; the
/// answer then reports it.
const MAX_ROWS: u64 = 6;

fn fits(view: &View<'_>, rows: u64) -> bool {
    view.rows_read() + rows <= MAX_ROWS
}

type Related = (Vec<RelatedScript>, Option<&'static str>);

/// Other scripts of the same key, and why some may be missing.
pub(super) fn related(view: &View<'_>, wallet: &Wallet) -> Result<Related, ApiError> {
    let Some(script) = wallet.script.as_deref() else { return Ok((Vec::new(), Some("the script is unknown"))) };
    if let Some(key) = public_key(script) {
        let other = p2pkh_of(key);
        let looked_up = fits(view, 2);
        let found = if looked_up { view.find_script(&other)? } else { None };
        let row = row(view, &other, "pubkeyhash", "pays to the hash of the same key", looked_up, found);
        return Ok((vec![row], None));
    }
    let Some(hash) = key_hash(script) else { return Ok((Vec::new(), None)) };
    let missing = |reason: &'static str| Ok((Vec::new(), Some(reason)));
    let Some(spent) = wallet.found.filter(|f| f.totals.spent_count > 0) else {
        return missing("no spend has revealed the key");
    };
    // A header, and two rows of the other script.
    if !fits(view, 3) {
        return missing("not looked up: the lookup would exceed the read limit of an overview");
    }
    let Some(newest) = view.tx(spent.totals.last)? else { return missing("the newest transaction is not available") };
    let position = view.header(newest.height)?.and_then(|header| header.position);
    let raw = match raw_tx(view, &newest, position) {
        Ok((raw, _)) => raw,
        Err(reason) => return missing(reason),
    };
    let key = raw.input.iter().find_map(|i| revealed_key(&hash, i.script_sig.as_bytes(), i.witness.last()));
    match key.and_then(|key| p2pk_of(&key)) {
        None => missing("the newest transaction does not reveal the key"),
        Some(other) => {
            let found = view.find_script(&other)?;
            let rows = found.map(|f| row(view, &other, "pubkey", "pays to the same key itself", true, Some(f)));
            Ok((rows.into_iter().collect(), None))
        }
    }
}

fn row(
    view: &View<'_>,
    script: &[u8],
    script_type: &'static str,
    relation: &'static str,
    looked_up: bool,
    found: Option<FoundScript>,
) -> RelatedScript {
    RelatedScript {
        script_type,
        address: address_of(script, view.network()),
        script_hash: hex::encode(script_sha256(script)),
        relation,
        confirmed_sats: looked_up.then(|| found.map_or(0, |f| f.totals.balance())),
        tx_count: looked_up.then(|| found.map_or(0, |f| f.totals.tx_count)),
    }
}
