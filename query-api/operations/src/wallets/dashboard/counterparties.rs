//! Entities that a wallet received from and sent to.

use std::collections::HashMap;

use cairn_domain::{
    apportion,
    coinjoin::is_coinjoin,
    pnl::{Kind, Movement, Row},
};
use cairn_model::{OutputMeta, ScriptId, ScriptPrefix};
use cairn_reader::StoredTx;

use super::super::{coinjoin_tx::CoinJoinTx, union::Union};
use crate::operation::prelude::*;

/// Scripts whose owners are looked up: those with the most.
const MAX_SCRIPTS: usize = 20_000;
const MAX_PARTS: usize = 200_000;
const MAX_ENTITIES: usize = 50;

/// Sums that moved between the wallet and a counterparty.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, JsonSchema)]
#[schemars(rename = "CounterpartySums")]
struct Flow {
    received_sats: u64,
    sent_sats: u64,
    tx_count: u64,
}

/// An entity on the other side.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CounterpartyEntity")]
struct Entity {
    /// Name of the entity in paths (`/v1/entities/{name}`).
    entity: String,
    #[serde(flatten)]
    flow: Flow,
    /// Part of both sums that claims about other scripts of a cluster attribute to the entity.
    inherited_sats: u64,
}

/// Counterparties of the wallet. The sums of all parts are what it acquired and disposed of.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "WalletCounterparties")]
pub(super) struct CounterpartiesOutput {
    /// Entities, the largest sums first; at most 50.
    entities: Vec<Entity>,
    /// Sums of the entities that are not listed; null if there are none. A transaction counts once for each of them.
    other_entities: Option<Flow>,
    /// Sums of scripts without an entity.
    unlabeled: Flow,
    /// Sums in CoinJoins, where payers and payees are unknown.
    coinjoin: Flow,
    /// Sums from coinbases.
    mined: Flow,
    /// Sums of scripts that were not looked up: those beyond 20 000 scripts or 200 000 parts of payments.
    not_examined: Flow,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum OtherSide {
    Script(ScriptId),
    CoinJoin,
    Mined,
    /// Too many parts.
    NotExamined,
}

struct PaymentPart {
    tx: u64,
    other: OtherSide,
    received: Sats,
    sent: Sats,
}

#[derive(Default)]
pub(super) struct Payments {
    parts: Vec<PaymentPart>,
}

impl Payments {
    /// Adds the acquisition or disposal of a transaction. Incoming coins are of the other inputs, in proportion;
    /// outgoing ones go to the other outputs. Shares are by the largest remainder, so that nothing is lost.
    pub(super) fn add(&mut self, view: &View<'_>, union: &Union, tx: &StoredTx, movement: &Movement, rows: &[Row]) {
        let Some(row) = rows.iter().find(|row| row.kind.needs_price()) else { return };
        let is_sent = row.kind == Kind::Disposal;
        let part = |other, sats| {
            let (received, sent) = if is_sent { (0, sats) } else { (sats, 0) };
            PaymentPart { tx: tx.tx_num.0, other, received, sent }
        };
        if movement.is_coinbase {
            return self.parts.push(part(OtherSide::Mined, row.sats));
        }
        if is_coinjoin(&CoinJoinTx(tx)) {
            return self.parts.push(part(OtherSide::CoinJoin, row.sats));
        }
        let mut others: Vec<(ScriptId, Sats)> = if is_sent {
            let length = view.facts().script_prefix;
            let id = |output: &OutputMeta| ScriptId {
                prefix: ScriptPrefix::of(tx.script(output), length),
                ordinal: output.id.ordinal,
            };
            tx.outputs().iter().filter(|output| output.value > 0).map(|output| (id(output), output.value)).collect()
        } else {
            tx.logged_inputs().iter().map(|input| (input.script, input.value)).collect()
        };
        others.retain(|(id, sats)| *sats > 0 && !union.has(*id));
        // Coins of zero pay nobody; and one transaction has room for very many outputs.
        if others.is_empty() || self.parts.len() + others.len() > MAX_PARTS {
            return self.parts.push(part(OtherSide::NotExamined, row.sats));
        }
        let weights: Vec<Sats> = others.iter().map(|(_, sats)| *sats).collect();
        let shares = others.iter().zip(apportion(row.sats, &weights));
        self.parts.extend(shares.map(|((id, _), sats)| part(OtherSide::Script(*id), sats)));
    }

    /// By entity.
    pub(super) fn finish(self, ctx: &Ctx<'_>, view: &View<'_>) -> Result<CounterpartiesOutput, ApiError> {
        if !view.labels().has_any()? {
            ctx.warn("no_label_source", "no labels are loaded: counterparties are unknown");
        }
        let owners = self.owners(ctx, view)?;
        let mut flows: HashMap<FlowOwner, (Flow, Sats, u64)> = HashMap::new();
        for PaymentPart { tx, other, received, sent } in &self.parts {
            let (whose, is_inherited) = match other {
                OtherSide::Mined => (FlowOwner::Mined, false),
                OtherSide::CoinJoin => (FlowOwner::CoinJoin, false),
                OtherSide::NotExamined => (FlowOwner::NotExamined, false),
                OtherSide::Script(id) => match owners.get(id) {
                    None => (FlowOwner::NotExamined, false),
                    Some(None) => (FlowOwner::Nobody, false),
                    Some(Some((entity, is_inherited))) => (FlowOwner::Entity(entity.clone()), *is_inherited),
                },
            };
            let (flow, inherited, last) = flows.entry(whose).or_insert((Flow::default(), 0, u64::MAX));
            flow.received_sats = flow.received_sats.saturating_add(*received);
            flow.sent_sats = flow.sent_sats.saturating_add(*sent);
            // The parts of a transaction come one after the other.
            flow.tx_count += u64::from(std::mem::replace(last, *tx) != *tx);
            if is_inherited {
                *inherited = inherited.saturating_add(received.saturating_add(*sent));
            }
        }
        let mut of = |whose| flows.remove(&whose).map(|(flow, ..)| flow).unwrap_or_default();
        let [unlabeled, coinjoin] = [of(FlowOwner::Nobody), of(FlowOwner::CoinJoin)];
        let [mined, not_examined] = [of(FlowOwner::Mined), of(FlowOwner::NotExamined)];
        let entity = |(whose, (flow, inherited_sats, _)): (FlowOwner, (Flow, Sats, u64))| match whose {
            FlowOwner::Entity(entity) => Some(Entity { entity, flow, inherited_sats }),
            _ => None,
        };
        let mut entities: Vec<Entity> = flows.into_iter().filter_map(entity).collect();
        let moved = |entity: &Entity| entity.flow.received_sats.saturating_add(entity.flow.sent_sats);
        entities.sort_by(|a, b| moved(b).cmp(&moved(a)).then_with(|| a.entity.cmp(&b.entity)));
        let others = entities.split_off(entities.len().min(MAX_ENTITIES));
        let sum = |sum: Flow, other: &Entity| Flow {
            received_sats: sum.received_sats.saturating_add(other.flow.received_sats),
            sent_sats: sum.sent_sats.saturating_add(other.flow.sent_sats),
            tx_count: sum.tx_count.saturating_add(other.flow.tx_count),
        };
        let other_entities = (!others.is_empty()).then(|| others.iter().fold(Flow::default(), sum));
        Ok(CounterpartiesOutput { entities, other_entities, unlabeled, coinjoin, mined, not_examined })
    }

    /// Returns the owners of the scripts that moved most.
    fn owners(&self, ctx: &Ctx<'_>, view: &View<'_>) -> Result<Owners, ApiError> {
        let mut sums: HashMap<ScriptId, Sats> = HashMap::new();
        for part in &self.parts {
            if let OtherSide::Script(id) = part.other {
                let sum = sums.entry(id).or_default();
                *sum = sum.saturating_add(part.received.saturating_add(part.sent));
            }
        }
        let mut scripts: Vec<(ScriptId, Sats)> = sums.into_iter().collect();
        scripts.sort_unstable_by_key(|(id, sats)| (std::cmp::Reverse(*sats), *id));
        scripts.truncate(MAX_SCRIPTS);
        let ids: Vec<ScriptId> = scripts.into_iter().map(|(id, _)| id).collect();
        let mut owners = HashMap::new();
        for some in ids.chunks(1_024) {
            ctx.work.poll()?;
            for (id, standing) in some.iter().zip(view.labels().standings(some)?) {
                owners.insert(*id, standing.owner.map(|owner| (owner.entity.to_string(), owner.is_inherited)));
            }
        }
        Ok(owners)
    }
}

/// The entity of a script, and whether it is inherited.
type Owners = HashMap<ScriptId, Option<(String, bool)>>;

#[derive(PartialEq, Eq, Hash)]
enum FlowOwner {
    Entity(String),
    Nobody,
    CoinJoin,
    Mined,
    NotExamined,
}
