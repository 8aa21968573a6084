//! Other scripts of the same key. A key's P2PK coins have no address, but a client that asks for the key's address
//! sees them, whether or not a spend has shown the key: the table `pubkeys` has the keys that P2PK outputs show.

use cairn_domain::{address_of, hash160, key_hash, p2pk_of, p2pkh_of, public_key, script_sha256, script_type};
use cairn_reader::{FoundKey, FoundScript};

use super::Wallet;
use crate::operation::prelude::*;

/// A script of the same key.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RelatedScript {
    /// Script type as Bitcoin Core names it.
    script_type: &'static str,
    /// Address of the script; null if it has none.
    address: Option<String>,
    /// SHA-256 of the script in natural byte order; request it as `scripthash:<hex>`.
    script_hash: String,
    /// Relation to the requested script.
    relation: &'static str,
    /// Confirmed balance.
    confirmed_sats: u64,
    /// Value of the script's unspendable output: that of block 0, which is not a coin and not part of `confirmed_sats`.
    /// 0 for every other script.
    unspendable_sats: u64,
    /// Number of confirmed transactions that fund the script or spend from it, without unspendable outputs.
    tx_count: u64,
}

type RelatedScripts = (Vec<RelatedScript>, Option<&'static str>);

/// Other scripts of the same key that outputs pay to, and why some may be missing. There are at most four: a key has
/// three forms that a P2PK script can have, and the address of the requested one.
pub(super) fn related(view: &View<'_>, wallet: &Wallet) -> Result<RelatedScripts, ApiError> {
    let Some(script) = wallet.script.as_deref() else { return Ok((Vec::new(), Some("the script is unknown"))) };
    let own_key = public_key(script);
    let mut rows = Vec::new();
    if let Some(key) = own_key {
        let found = view.scripts().find(&p2pkh_of(key))?;
        rows.push(RelatedScript::of(view, &p2pkh_of(key), "pays to the hash of the same key", found, 0));
    }
    let Some(hash) = key_hash(script).or_else(|| own_key.map(hash160)) else { return Ok((rows, None)) };
    for FoundKey { key, outputs } in view.scripts().pubkeys(&hash)? {
        let Some(other) = p2pk_of(&key).filter(|other| other != script) else { continue };
        let found = view.scripts().find(&other)?;
        // Of all outputs to a key, only that of block 0 cannot be spent: it is in no coin set.
        let unspendable = outputs > found.map_or(0, |f| f.totals.funded_count);
        let unspendable_sats = if unspendable { view.network().subsidy_sats(0) } else { 0 };
        rows.push(RelatedScript::of(view, &other, "pays to the same key itself", found, unspendable_sats));
    }
    Ok((rows, None))
}

impl RelatedScript {
    fn of(
        view: &View<'_>,
        script: &[u8],
        relation: &'static str,
        found: Option<FoundScript>,
        unspendable_sats: u64,
    ) -> RelatedScript {
        RelatedScript {
            script_type: script_type(script).name(),
            address: address_of(script, view.network()),
            script_hash: hex::encode(script_sha256(script)),
            relation,
            confirmed_sats: found.map_or(0, |f| f.totals.balance()),
            unspendable_sats,
            tx_count: found.map_or(0, |f| f.totals.tx_count),
        }
    }
}
