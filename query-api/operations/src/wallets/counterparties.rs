//! The other side of the transactions of a wallet.

use std::collections::HashSet;

use cairn_domain::{Direction, Effect, direction};
use cairn_http::ApiError;
use cairn_model::{MempoolTx, ScriptId};
use cairn_reader::{StoredTx, View};
use cairn_tables::labels::ScriptLabel;

use super::Wallet;
use crate::{context::Ctx, vocabulary::label::ShortLabel};

/// Inputs or outputs of a transaction that are looked at.
const MAX_LOOKED_AT: usize = 64;
/// Maximum number of labels that are shown for a transaction.
const MAX_TOLD: usize = 8;

/// Looks up the labels of those who send to a script, or receive from it.
pub(super) struct Counterparties<'c> {
    ctx: &'c Ctx<'c>,
    view: &'c View<'c>,
    /// Scripts that are not the other side.
    own_ids: Vec<ScriptId>,
    own_scripts: HashSet<&'c [u8]>,
    /// False in an index without labels: nothing is looked up then.
    has_labels: bool,
}

impl<'c> Counterparties<'c> {
    /// Those who send to these scripts, or receive from them.
    pub(super) fn of(ctx: &'c Ctx<'c>, view: &'c View<'c>, wallets: &'c [Wallet]) -> Result<Self, ApiError> {
        let has_labels = view.labels().has_any()?;
        if !has_labels {
            ctx.warn("no_label_source", "no labels are loaded: counterparties are unknown");
        }
        let own_ids = distinct(wallets.iter().filter_map(|wallet| Some(wallet.found?.id)));
        let own_scripts = wallets.iter().filter_map(|wallet| wallet.script.as_deref()).collect();
        Ok(Counterparties { ctx, view, own_ids, own_scripts, has_labels })
    }

    /// Of a confirmed transaction: a row read for its inputs if it pays the script, and a look-up for each input or
    /// output, which the filter mostly saves.
    pub(super) fn of_confirmed(&self, tx: &StoredTx, effect: &Effect) -> Result<Vec<ShortLabel>, ApiError> {
        if !self.has_labels {
            return Ok(Vec::new());
        }
        let ids: Vec<ScriptId> = match direction(effect) {
            Direction::In if tx.is_coinbase() => Vec::new(),
            Direction::In => {
                let coins = self.view.transactions().inputs(tx)?;
                coins.iter().take(MAX_LOOKED_AT).map(|coin| coin.script).collect()
            }
            Direction::Out => {
                let spendable = tx.outputs().iter().filter(|output| output.spendable);
                spendable.take(MAX_LOOKED_AT).map(|output| output.id).collect()
            }
            Direction::OwnTransfer => Vec::new(),
        };
        let mut told = Vec::new();
        for id in distinct(ids.into_iter().filter(|id| self.own_ids.binary_search(id).is_err())) {
            self.ctx.work.poll()?;
            self.tell(&mut told, self.view.labels().of_id(id)?.map(|(_, label)| label).as_ref());
        }
        Ok(told)
    }

    pub(super) fn of_unconfirmed(&self, tx: &MempoolTx, effect: &Effect) -> Result<Vec<ShortLabel>, ApiError> {
        if !self.has_labels {
            return Ok(Vec::new());
        }
        let scripts: Vec<&[u8]> = match direction(effect) {
            Direction::In => tx.inputs.iter().take(MAX_LOOKED_AT).map(|input| &input.script[..]).collect(),
            Direction::Out => tx.outputs.iter().take(MAX_LOOKED_AT).map(|output| &output.script[..]).collect(),
            Direction::OwnTransfer => Vec::new(),
        };
        let others = distinct(scripts.into_iter().filter(|script| !self.own_scripts.contains(script)));
        self.ctx.work.poll()?;
        let mut told = Vec::new();
        self.view.labels().of_scripts(others)?.iter().for_each(|label| self.tell(&mut told, label.as_ref()));
        Ok(told)
    }

    fn tell(&self, told: &mut Vec<ShortLabel>, label: Option<&ScriptLabel>) {
        let label = label.and_then(|label| ShortLabel::of(label, self.ctx.now()));
        let news = label.filter(|label| told.len() < MAX_TOLD && !told.iter().any(|before| before.is_same(label)));
        told.extend(news);
    }
}

/// Each once, ascending.
fn distinct<V: Ord>(all: impl Iterator<Item = V>) -> Vec<V> {
    let mut all: Vec<V> = all.collect();
    all.sort_unstable();
    all.dedup();
    all
}
