//! Traces around one script, over the index.

use std::{
    collections::{BTreeMap, HashMap},
    rc::Rc,
};

use cairn_domain::exposure::{Chain, Limits, MAX_PARTS, MAX_TRANSACTIONS, Role, Source, Trace, TracedTx, Way};
use cairn_http::ApiError;
use cairn_model::{ScriptId, TxNum};
use cairn_reader::{FoundScript, SumsBefore};

use super::{
    claimed::{ClaimedScript, DirectClaim, Kind},
    parameters::Groups,
    reader::ExposureReader,
};

/// Amounts that the newest transactions of a script moved, the newest first.
pub(crate) struct Moves {
    script: ScriptId,
    /// Number, received, sent.
    entries: Vec<(TxNum, u64, u64)>,
}

impl Moves {
    pub(crate) fn new(script: ScriptId, entries: impl Iterator<Item = (TxNum, u64, u64)>) -> Self {
        Moves { script, entries: entries.collect() }
    }
}

/// The part of a script's history that is traced.
pub(crate) struct History {
    /// Sums up to the moment.
    pub(crate) sums: SumsBefore,
    pub(crate) moves: Moves,
}

impl History {
    /// Reads the newest transactions of a script up to the moment. Some 10 row reads at most.
    pub(crate) fn find(reader: &ExposureReader<'_>, found: &FoundScript) -> Result<Self, ApiError> {
        let scripts = reader.view.scripts();
        let sums = scripts.sums_before(found, reader.moment.chain.tx_end)?;
        let skip = found.totals.tx_count.saturating_sub(sums.tx_count);
        let entries = scripts.history(found, skip, MAX_TRANSACTIONS as usize)?;
        let entries = entries.into_iter().map(|entry| (entry.tx_num, entry.received, entry.sent));
        Ok(History { sums, moves: Moves::new(found.id, entries) })
    }

    /// Number of transactions that are traced.
    pub(crate) fn traced(&self) -> u64 {
        self.moves.entries.len() as u64
    }
}

pub(crate) struct Traced {
    pub(crate) way: Way,
    pub(crate) trace: Rc<Trace>,
    /// Sources by number.
    pub(crate) sources: Vec<Rc<ClaimedScript>>,
    /// Groups by number.
    pub(crate) groups: Vec<String>,
}

/// Claims that make sources.
#[derive(Clone, Copy)]
pub(crate) struct Choice<'c> {
    pub(crate) kind: Kind,
    /// Only these groups; `None` for all that count.
    pub(crate) groups: Option<&'c Groups>,
}

impl Traced {
    pub(crate) fn claim(&self, source: Source, choice: Choice<'_>) -> Option<(&ClaimedScript, &DirectClaim)> {
        let script = self.sources.get(source.id as usize)?;
        let claim = script.claims.iter().find(|claim| choice.group(claim).is_some())?;
        Some((script, claim))
    }
}

impl Choice<'_> {
    /// The group of a claim, if it makes its script a source.
    pub(crate) fn group<'d>(&self, claim: &'d DirectClaim) -> Option<&'d str> {
        let group = claim.group(self.kind)?;
        let counts = self.groups.map_or_else(|| claim.counts(self.kind), |groups| groups.0.contains(group));
        counts.then_some(group)
    }
}

/// Traces a script in one direction.
pub(crate) fn traced(
    reader: &mut ExposureReader<'_>,
    moves: &Moves,
    choice: Choice<'_>,
    way: Way,
    limits: Limits,
) -> Result<Traced, ApiError> {
    let moved = |(tx, received, sent): &(TxNum, u64, u64)| {
        let sats = if way == Way::Sources { received } else { sent };
        (*sats > 0).then_some(*tx)
    };
    let txs: Vec<TxNum> = moves.entries.iter().filter_map(moved).collect();
    let mut shared = std::mem::take(&mut reader.traces);
    let mut chain = IndexChain {
        reader,
        choice,
        parts_left: MAX_PARTS,
        sources: Vec::new(),
        ids: HashMap::new(),
        groups: Vec::new(),
        group_ids: BTreeMap::new(),
    };
    let trace = shared.trace(&mut chain, way, moves.script, &txs, limits)?;
    let IndexChain { reader, sources, groups, .. } = chain;
    reader.traces = shared;
    Ok(Traced { way, trace, sources, groups })
}

/// The index, as traces see it.
struct IndexChain<'a, 'r, 'c> {
    reader: &'a mut ExposureReader<'r>,
    choice: Choice<'c>,
    parts_left: usize,
    sources: Vec<Rc<ClaimedScript>>,
    ids: HashMap<ScriptId, u32>,
    groups: Vec<String>,
    group_ids: BTreeMap<String, u32>,
}

impl IndexChain<'_, '_, '_> {
    /// The source that a script is: the first of its claims with a group decides which.
    fn source(&mut self, script: ScriptId, claimed: &Rc<ClaimedScript>) -> Option<Source> {
        let choice = self.choice;
        let group = claimed.claims.iter().find_map(|claim| choice.group(claim))?;
        let group = match self.group_ids.get(group) {
            Some(known) => *known,
            None => {
                let id = u32::try_from(self.groups.len()).ok()?;
                self.groups.push(group.to_owned());
                self.group_ids.insert(group.to_owned(), id);
                id
            }
        };
        let id = match self.ids.get(&script) {
            Some(known) => *known,
            None => {
                let id = u32::try_from(self.sources.len()).ok()?;
                self.sources.push(Rc::clone(claimed));
                self.ids.insert(script, id);
                id
            }
        };
        Some(Source { id, group })
    }
}

impl Chain for IndexChain<'_, '_, '_> {
    type Error = ApiError;

    fn transaction(&mut self, tx: TxNum) -> Result<Option<Rc<TracedTx>>, ApiError> {
        let found = self.reader.transaction(tx, self.parts_left)?;
        if let Some(found) = &found {
            self.parts_left -= found.inputs.len() + found.outputs.len();
        }
        Ok(found)
    }

    fn spenders(&mut self, tx: TxNum) -> Result<Rc<[(u32, TxNum)]>, ApiError> {
        self.reader.spenders(tx)
    }

    fn roles(&mut self, scripts: &[ScriptId]) -> Result<Vec<Role>, ApiError> {
        let facts = self.reader.facts(scripts)?;
        let role = |(script, facts): (&ScriptId, super::reader::ScriptFacts)| {
            let claimed = facts.claimed.as_ref();
            let is_service =
                facts.is_inherited_service || claimed.is_some_and(|of| of.claims.iter().any(DirectClaim::is_service));
            let source = claimed.and_then(|claimed| self.source(*script, claimed));
            Role { source, is_service, is_busy: facts.is_busy }
        };
        Ok(scripts.iter().zip(facts).map(role).collect())
    }

    fn announce(&mut self, txs: &[TxNum]) -> Result<(), ApiError> {
        self.reader.announce(txs)
    }
}
