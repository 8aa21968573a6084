//! Pages of the scripts of an entity, the newest activity first.

use cairn_domain::{address_of, claims::Confidence, script_type};
use cairn_events::EntityName;
use cairn_tables::{
    entities::{EntityScript, Newest, ScriptClass},
    labels::{Labels, ScriptHash, ScriptLabel},
};

use super::facts::block_time;
use crate::operation::prelude::*;
use crate::vocabulary::cursor::{Cursors, KEY_DIGITS};

/// A script of an entity.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EntityAddress {
    /// Address of the script, or `scripthash:<hex>` if it has none. Other operations accept both.
    address: String,
    /// Script type as Bitcoin Core names it.
    script_type: &'static str,
    /// Type of the claim on the script's trust card, for example `controlled_by` or `listed_by`; null without a trust
    /// card.
    claim_type: Option<&'static str>,
    /// Evidence tier of that claim; null without a trust card.
    evidence_tier: Option<&'static str>,
    /// Level of the claim, 0 to 100. For a member, of the claim that makes it a member.
    confidence_level: u8,
    /// Level in words.
    confidence: &'static str,
    /// True if the claim on the script's trust card is contested; a contested claim makes no member.
    contested: bool,
    balance_sats: u64,
    balance_btc: Btc,
    tx_count: u64,
    /// Time of the block with the script's newest transaction; null if the chain does not contain the script.
    last_activity_at: Option<String>,
    last_activity_unix: Option<u32>,
}

/// A page of the scripts of an entity.
pub(super) struct Page {
    pub(super) rows: Vec<EntityAddress>,
    /// Cursor of the next page; `None` at the end.
    pub(super) next_cursor: Option<String>,
}

/// Returns at most `limit` scripts of a class after a cursor. Reads three rows for each (the script, its label and its
/// sums), and one more.
pub(super) fn page(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    name: &EntityName,
    class: ScriptClass,
    cursor: Option<&str>,
    limit: usize,
) -> Result<Page, ApiError> {
    let fingerprint = ctx.fingerprint().resolved("entity_name", name.as_str().as_bytes()).with(&[class as u8]);
    let cursors = Cursors::new(view, &fingerprint);
    let (after, shown) = match cursor {
        None => (None, 0),
        Some(token) => {
            let (head, key) = token.split_once('-').ok_or_else(|| cursors.no_fit())?;
            let shown = cursors.read(head)?;
            let (last, script) = key_of(key).ok_or_else(|| cursors.no_fit())?;
            (Some(EntityScript { entity: name.clone(), class, last, script }), shown)
        }
    };
    let mut scripts = view.entities().scripts(name, class, after.as_ref(), limit.saturating_add(1))?;
    let is_last = scripts.len() <= limit;
    scripts.truncate(limit);
    let hashes: Vec<ScriptHash> = scripts.iter().map(|script| script.script).collect();
    let mut rows = Vec::with_capacity(scripts.len());
    for (script, label) in scripts.iter().zip(view.labels().of_hashes(&hashes)?) {
        ctx.work.poll()?;
        let what = || format!("the label of script {}", hex::encode(script.script.0));
        rows.push(row(view, script, &label.ok_or_else(|| lacks::<Labels>(what()))?)?);
    }
    let next_cursor = scripts.last().filter(|_| !is_last).map(|last| {
        let head = cursors.token(shown.saturating_add(rows.len() as u64));
        format!("{head}-{}", key(last))
    });
    Ok(Page { rows, next_cursor })
}

fn row(view: &View<'_>, script: &EntityScript, label: &ScriptLabel) -> Result<EntityAddress, ApiError> {
    let found = label.id(&script.script).map(|id| view.scripts().by_id(id)).transpose()?.flatten();
    let (balance, tx_count) = found.map_or((0, 0), |of| {
        let totals = &of.totals;
        (totals.funded.saturating_sub(totals.spent), totals.tx_count)
    });
    let last = script.last.0.and_then(|last| block_time(view, last));
    let level = label.member.as_ref().map(|member| member.level).or(label.label.as_ref().map(|label| label.level));
    let address = address_of(&label.script, view.network());
    Ok(EntityAddress {
        address: address.unwrap_or_else(|| format!("scripthash:{}", hex::encode(script.script.0))),
        script_type: script_type(&label.script).name(),
        claim_type: label.label.as_ref().map(|label| label.claim_type.as_str()),
        evidence_tier: label.label.as_ref().map(|label| label.tier.as_str()),
        confidence_level: level.unwrap_or(0),
        confidence: Confidence::of(level.unwrap_or(0)).as_str(),
        contested: label.label.as_ref().is_some_and(|label| label.is_contested),
        balance_sats: balance,
        balance_btc: Btc::of(balance),
        tx_count,
        last_activity_at: last.map(rfc3339),
        last_activity_unix: last,
    })
}

/// The place of a script in the list, as a cursor has it.
fn key(script: &EntityScript) -> String {
    // Scripts that no block has are last.
    let last = script.last.0.map_or(0, |last| last.0);
    format!("{last:016x}{}", hex::encode(script.script.0))
}

fn key_of(text: &str) -> Option<(Newest, ScriptHash)> {
    let bytes = (text.len() == KEY_DIGITS).then(|| hex::decode(text).ok())??;
    let (last, hash) = bytes.split_first_chunk::<8>()?;
    let last = Some(u64::from_be_bytes(*last)).filter(|last| *last > 0);
    let fits = last.is_none_or(|last| last < TxNum::LIMIT);
    fits.then_some((Newest(last.map(TxNum)), ScriptHash(hash.try_into().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn places_are_read_or_refused(text in "[0-9a-f\u{e9}]{0,90}", last: Option<u32>, hash: [u8; 32]) {
            proptest::prop_assert!(key_of(&text).is_none() || text.len() == KEY_DIGITS && text.starts_with("000000"));
            let last = Newest(last.map(|last| TxNum(1 + u64::from(last))));
            let (entity, class, script) = ("abc".parse().unwrap(), ScriptClass::Member, ScriptHash(hash));
            proptest::prop_assert_eq!(key_of(&key(&EntityScript { entity, class, last, script })), Some((last, script)));
        }
    }
}
