//! The sides of a transaction, as lists show them: the scripts with the largest sums, with their labels.

use std::{cmp::Reverse, collections::HashMap, hash::Hash};

use cairn_domain::{address_of, script_sha256, script_type};

use crate::operation::prelude::*;
use crate::vocabulary::label::{ShortLabel, Unlabeled};

const MAX_SIDES: usize = 5;

/// A script of a transaction.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TransactionSide")]
pub(crate) struct Side {
    /// Address of the script, or `scripthash:<hex>` if it has none.
    pub(crate) address: String,
    script_type: &'static str,
    value_sats: u64,
    value_btc: Btc,
    /// Label of the script; null if no claim gives one.
    label: Option<ShortLabel>,
}

/// The cell of the address with the largest sum of a side.
pub(crate) fn largest(sides: &[Side]) -> String {
    sides.first().map_or_else(String::new, |side| side.address.clone())
}

/// The sums of some scripts.
pub(crate) struct Sides {
    /// The largest first.
    shown: Vec<(Vec<u8>, u64)>,
    pub(crate) omitted: u64,
}

impl Side {
    /// Name of the entity for paths that its label names, if sources agree on it.
    pub(crate) fn agreed_entity(&self) -> Option<&str> {
        self.label.as_ref().and_then(ShortLabel::agreed_entity)
    }
}

impl Sides {
    /// The largest sums; `script` reads one.
    pub(crate) fn of<K: Copy + Ord + Hash>(
        sums: HashMap<K, u64>,
        script: impl Fn(K) -> Result<Vec<u8>, ApiError>,
    ) -> Result<Self, ApiError> {
        let mut sums: Vec<(K, u64)> = sums.into_iter().collect();
        sums.sort_unstable_by_key(|(key, sats)| (Reverse(*sats), *key));
        let omitted = sums.len().saturating_sub(MAX_SIDES) as u64;
        sums.truncate(MAX_SIDES);
        let shown = sums.into_iter().map(|(key, sats)| Ok((script(key)?, sats))).collect::<Result<_, ApiError>>()?;
        Ok(Sides { shown, omitted })
    }

    /// With what is looked up.
    pub(crate) fn rows(self, ctx: &Ctx<'_>, view: &View<'_>) -> Result<Vec<Side>, ApiError> {
        let mut unlabeled = Unlabeled::default();
        self.shown.iter().for_each(|(script, _)| unlabeled.push(script));
        let labels = unlabeled.look_up(ctx, view)?;
        let row = |((script, sats), label): ((Vec<u8>, u64), Option<ShortLabel>)| Side {
            address: name_of(&script, view),
            script_type: script_type(&script).name(),
            value_sats: sats,
            value_btc: Btc::of(sats),
            label,
        };
        Ok(self.shown.into_iter().zip(labels).map(row).collect())
    }
}

/// The address of a script, else its hash.
pub(crate) fn name_of(script: &[u8], view: &View<'_>) -> String {
    address_of(script, view.network()).unwrap_or_else(|| format!("scripthash:{}", hex::encode(script_sha256(script))))
}

pub(crate) fn add<K: Hash + Eq>(sums: &mut HashMap<K, u64>, key: K, sats: u64) {
    let sum = sums.entry(key).or_default();
    *sum = sum.saturating_add(sats);
}
