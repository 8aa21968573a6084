//! Who pays whom in a transaction: the scripts that it spends from, and those outside their clusters that it pays.

use std::collections::{HashMap, HashSet};

use cairn_domain::flows::FlowDirection;
use cairn_events::EntityName;
use cairn_model::{MempoolTx, Outpoint, ScriptId, ScriptPrefix, Txid, is_unspendable};
use cairn_reader::{AsOf, ClusterRoot, ScriptStanding, StoredTx};

use super::owners::{Owners, SideOwner, Verdict};
use crate::operation::prelude::*;
use crate::tx_sides::{Sides, add};

/// A script: one that a block has, or else its bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Script<'t> {
    Seen(ScriptId),
    Unseen(&'t [u8]),
}

#[derive(Clone, Copy, Debug)]
enum Bytes<'t> {
    Here(&'t [u8]),
    At(Outpoint),
}

/// A coin that is spent or made.
struct Coin<'t> {
    script: Script<'t>,
    bytes: Bytes<'t>,
    sats: Sats,
}

/// Both sides of a transaction.
pub(super) struct Parties<'t> {
    inputs: Vec<Coin<'t>>,
    /// Outputs that somebody can spend.
    outputs: Vec<Coin<'t>>,
    /// The clusters that count are those as of here.
    at: AsOf,
    /// Its number; `None` while it is unconfirmed.
    tx_num: Option<TxNum>,
}

/// Both sides by labels and clusters.
pub(super) struct AttributedSides {
    /// Sum that it pays to others.
    pub(super) net_external: Sats,
    pub(super) external_outputs: u64,
    /// The largest output to others that goes to a script which no block had before, if it has several outputs to
    /// others: it may be change.
    pub(super) may_be_change: Option<Sats>,
    pub(super) from: Sides,
    pub(super) to: Sides,
    pub(super) verdicts: [Verdict; 2],
}

impl<'t> Parties<'t> {
    /// Of a confirmed transaction. A row read.
    pub(super) fn confirmed(view: &View<'_>, tx: &'t StoredTx) -> Result<Self, ApiError> {
        let coin = |coin: &cairn_model::SpentCoin| Coin {
            script: Script::Seen(coin.script),
            bytes: Bytes::At(coin.outpoint),
            sats: coin.value,
        };
        let length = view.facts().script_prefix;
        let spendable = tx.outputs().iter().filter(|output| output.spendable);
        let outputs = spendable.map(|output| {
            let bytes = tx.script(output);
            // The log leaves out what follows from the script.
            let id = ScriptId { prefix: ScriptPrefix::of(bytes, length), ordinal: output.id.ordinal };
            Coin { script: Script::Seen(id), bytes: Bytes::Here(bytes), sats: output.value }
        });
        Ok(Parties {
            inputs: view.transactions().inputs(tx)?.iter().map(coin).collect(),
            outputs: outputs.collect(),
            at: AsOf { height: tx.height, tx_end: TxNum(tx.tx_num.0.saturating_add(1)) },
            tx_num: Some(tx.tx_num),
        })
    }

    /// Of an unconfirmed transaction. Two rows read for each script.
    pub(super) fn unconfirmed(view: &View<'_>, tx: &'t MempoolTx) -> Result<Self, ApiError> {
        let coin = |(bytes, sats): (&'t [u8], Sats)| -> Result<Coin<'t>, ApiError> {
            let found = view.scripts().find(bytes)?;
            let script = found.map_or(Script::Unseen(bytes), |found| Script::Seen(found.id));
            Ok(Coin { script, bytes: Bytes::Here(bytes), sats })
        };
        let inputs = tx.inputs.iter().map(|input| (&input.script[..], input.value));
        let outputs = tx.outputs.iter().filter(|output| !is_unspendable(&output.script));
        let outputs = outputs.map(|output| (&output.script[..], output.value));
        Ok(Parties {
            inputs: inputs.map(coin).collect::<Result<_, _>>()?,
            outputs: outputs.map(coin).collect::<Result<_, _>>()?,
            at: view.as_of_tip(),
            tx_num: None,
        })
    }

    /// Inputs and outputs: what it costs to judge them, in rows.
    pub(super) fn cost(&self) -> usize {
        self.inputs.len() + self.outputs.len()
    }

    /// The outputs to scripts that it does not spend from and that are in no cluster that it spends from.
    fn external(&self, view: &View<'_>) -> Result<Vec<&Coin<'t>>, ApiError> {
        let ids = |coins: &[Coin<'t>]| -> Vec<ScriptId> { coins.iter().filter_map(|coin| coin.script.id()).collect() };
        let own: HashSet<Script<'t>> = self.inputs.iter().map(|coin| coin.script).collect();
        let roots = |coins: &[Coin<'t>]| -> Result<HashMap<ScriptId, ClusterRoot>, ApiError> {
            let members = view.clusters().of_scripts(&ids(coins), self.at)?;
            Ok(members.into_iter().filter_map(|member| Some((member.script, member.root?))).collect())
        };
        let own_roots: HashSet<ClusterRoot> = roots(&self.inputs)?.into_values().collect();
        let roots = if own_roots.is_empty() { HashMap::new() } else { roots(&self.outputs)? };
        let is_own = |coin: &Coin<'t>| {
            let root = coin.script.id().and_then(|id| roots.get(&id));
            own.contains(&coin.script) || root.is_some_and(|root| own_roots.contains(root))
        };
        Ok(self.outputs.iter().filter(|coin| !is_own(coin)).collect())
    }

    /// Judges both sides.
    pub(super) fn judge(&self, view: &View<'_>, owners: &mut Owners) -> Result<AttributedSides, ApiError> {
        let external = self.external(view)?;
        let may_be_change = if external.len() > 1 { self.largest_to_a_new_script(view, &external)? } else { None };
        let inputs: Vec<&Coin<'t>> = self.inputs.iter().collect();
        let (from, from_verdict) = side(view, &inputs, owners)?;
        let (to, to_verdict) = side(view, &external, owners)?;
        Ok(AttributedSides {
            net_external: external.iter().map(|coin| coin.sats).fold(0, Sats::saturating_add),
            external_outputs: external.len() as u64,
            may_be_change,
            from,
            to,
            verdicts: [from_verdict, to_verdict],
        })
    }

    /// Both sides whole: what it pays to those that it spends from, too.
    pub(super) fn whole(&self, view: &View<'_>, owners: &mut Owners) -> Result<[(Sides, Verdict); 2], ApiError> {
        let [inputs, outputs] = [&self.inputs, &self.outputs].map(|coins| coins.iter().collect::<Vec<_>>());
        Ok([side(view, &inputs, owners)?, side(view, &outputs, owners)?])
    }

    fn largest_to_a_new_script(&self, view: &View<'_>, external: &[&Coin<'t>]) -> Result<Option<Sats>, ApiError> {
        let ids: Vec<ScriptId> = external.iter().filter_map(|coin| coin.script.id()).collect();
        let firsts: HashMap<ScriptId, Option<TxNum>> =
            ids.iter().copied().zip(view.scripts().first_txs(&ids)?).collect();
        let is_new = |coin: &Coin<'t>| match coin.script {
            Script::Unseen(_) => true,
            Script::Seen(id) => self.tx_num.is_some() && firsts.get(&id).copied().flatten() == self.tx_num,
        };
        Ok(external.iter().filter(|coin| is_new(coin)).map(|coin| coin.sats).max())
    }
}

/// Between whom a large transaction moves money, by today's labels.
pub(crate) struct Flow {
    pub(crate) direction: FlowDirection,
    pub(crate) from: Option<SideOwner>,
    pub(crate) to: Option<SideOwner>,
}

/// The flow of a confirmed transaction, with what it cost to read in rows; none if no block has it.
pub(crate) fn flow_of(view: &View<'_>, owners: &mut Owners, txid: &Txid) -> Result<(Option<Flow>, usize), ApiError> {
    let Some(tx) = view.transactions().by_txid(txid)? else { return Ok((None, 1)) };
    let parties = Parties::confirmed(view, &tx)?;
    let external = parties.external(view)?;
    let inputs: Vec<&Coin<'_>> = parties.inputs.iter().collect();
    let [from, to] = [verdict(view, &inputs, owners)?.owner, verdict(view, &external, owners)?.owner];
    let direction =
        FlowDirection::between(from.as_ref().map(SideOwner::as_owner), to.as_ref().map(SideOwner::as_owner));
    Ok((Some(Flow { direction, from, to }), parties.cost()))
}

/// Whether a confirmed transaction spends from a script, or pays it, or does so with a script that counts as an
/// entity's by today's labels; with what it cost to read in rows.
pub(crate) fn touches(
    view: &View<'_>,
    txid: &Txid,
    (script, entity): (Option<&[u8; 32]>, Option<&EntityName>),
) -> Result<(bool, usize), ApiError> {
    let Some(tx) = view.transactions().by_txid(txid)? else { return Ok((false, 1)) };
    let parties = Parties::confirmed(view, &tx)?;
    let ids: Vec<ScriptId> =
        parties.inputs.iter().chain(&parties.outputs).filter_map(|coin| coin.script.id()).collect();
    let wanted =
        script.map(|hash| view.scripts().find_hash(hash)).transpose()?.map(|found| found.map(|(found, _)| found.id));
    let has_script = wanted.is_none_or(|wanted| wanted.is_some_and(|wanted| ids.contains(&wanted)));
    let mut has_entity = entity.is_none();
    if has_script && let Some(entity) = entity {
        let standings = view.labels().standings(&ids)?;
        has_entity = standings.iter().any(|of| of.owner.as_ref().is_some_and(|owner| owner.entity == *entity));
    }
    Ok((has_script && has_entity, parties.cost()))
}

impl Script<'_> {
    fn id(self) -> Option<ScriptId> {
        match self {
            Script::Seen(id) => Some(id),
            Script::Unseen(_) => None,
        }
    }
}

impl<'t> Script<'t> {
    fn unseen(self) -> Option<&'t [u8]> {
        match self {
            Script::Seen(_) => None,
            Script::Unseen(bytes) => Some(bytes),
        }
    }
}

/// Labels of a side.
fn verdict(view: &View<'_>, coins: &[&Coin<'_>], owners: &mut Owners) -> Result<Verdict, ApiError> {
    let mut sums = HashMap::new();
    coins.iter().for_each(|coin| add(&mut sums, coin.script, coin.sats));
    let scripts: Vec<Script<'_>> = sums.keys().copied().collect();
    let seen: Vec<ScriptId> = scripts.iter().filter_map(|script| script.id()).collect();
    let mut standings: HashMap<Script<'_>, ScriptStanding> =
        seen.iter().map(|id| Script::Seen(*id)).zip(view.labels().standings(&seen)?).collect();
    let unseen = || scripts.iter().filter_map(|script| script.unseen());
    for (bytes, label) in unseen().zip(view.labels().of_scripts(unseen())?) {
        standings.extend(label.map(|label| (Script::Unseen(bytes), ScriptStanding::direct(&label))));
    }
    // Scripts without claims count, too.
    owners.judge(view, sums.iter().map(|(script, sats)| (standings.get(script).unwrap_or(&NOTHING), *sats)))
}

/// The largest sums of a side, and what labels say of it.
fn side(view: &View<'_>, coins: &[&Coin<'_>], owners: &mut Owners) -> Result<(Sides, Verdict), ApiError> {
    let (mut sums, mut bytes) = (HashMap::new(), HashMap::new());
    for coin in coins {
        add(&mut sums, coin.script, coin.sats);
        bytes.entry(coin.script).or_insert(coin.bytes);
    }
    let sides = Sides::of(sums, |script| match bytes.get(&script) {
        Some(Bytes::At(outpoint)) => Ok(view.transactions().script_at(*outpoint)?),
        Some(Bytes::Here(bytes)) => Ok(bytes.to_vec()),
        None => Ok(Vec::new()),
    })?;
    Ok((sides, verdict(view, coins, owners)?))
}

static NOTHING: ScriptStanding = ScriptStanding { owner: None, is_labelled: false };
