//! Hears what scripts did: finds their nodes, and counts those that have none.

use cairn_model::{Sats, ScriptId, TxNum};
use cairn_tables::clusters::Node;

use super::{CLUSTER_OF, MOVES, Move, bands::BandDays, contradiction};
use crate::{
    deltas::StageError,
    group::Group,
    hearing::{HearContext, Listener},
    lanes::{Emitter, EmitterMemory, Sink},
    scripts::{self, Change},
};

struct HeardScript {
    id: ScriptId,
    /// Its node, once there is one.
    node: Option<TxNum>,
    /// Its balance, as long as there is no node.
    balance: Sats,
}

pub(super) struct ClusterListener<'c> {
    context: HearContext<'c>,
    heard: Option<HeardScript>,
    /// Scripts that are clusters of their own.
    singles: BandDays,
    memory: EmitterMemory,
}

impl<'c> ClusterListener<'c> {
    pub(super) fn new(context: HearContext<'c>) -> Self {
        ClusterListener { context, heard: None, singles: BandDays::default(), memory: EmitterMemory::default() }
    }

    fn begin(&self, id: ScriptId, first: TxNum) -> Result<HeardScript, StageError> {
        let past = self.context.past;
        let node = past.node(id)?;
        // The balance of a script with a node is the cluster's business.
        let balance = if node.is_some() { 0 } else { past.script(id, first)?.balance };
        Ok(HeardScript { id, node, balance })
    }

    fn change(
        &mut self,
        heard: &mut HeardScript,
        change: &Change,
        emit: &mut Emitter<'_, '_>,
    ) -> Result<(), StageError> {
        let entry = &change.entry;
        let tx = entry.tx_num;
        if let Some(node) = heard.node {
            let net = i128::from(entry.received) - i128::from(entry.sent);
            let net = i64::try_from(net).map_err(|_| contradiction("a script moved more than 2^63 satoshis"))?;
            let inside = change.mined || change.spends();
            let large = change.large && !inside;
            emit.delta(&MOVES, &tx, &Move { distance: tx.0 - node.0, cospent: change.cospent, inside, large, net });
            return Ok(());
        }
        let day = self.context.times.day_of(tx);
        let before = heard.balance;
        heard.balance = entry.after(before);
        if change.cospent {
            self.singles.change(day, Some(before), None);
            heard.node = Some(tx);
            let net =
                i64::try_from(heard.balance).map_err(|_| contradiction("a script holds more than 2^63 satoshis"))?;
            emit.row(&CLUSTER_OF, &heard.id, &Node(tx));
            emit.delta(&MOVES, &tx, &Move { distance: 0, cospent: true, inside: true, large: false, net });
        } else {
            self.singles.change(day, Some(before), Some(heard.balance));
            if !change.mined && !change.spends() {
                self.singles.pay_outside(day, entry.received.into());
            }
        }
        Ok(())
    }
}

impl Listener for ClusterListener<'_> {
    fn hear(&mut self, group: &Group<'_>, sink: &mut Sink<'_>) -> Result<(), StageError> {
        let script = scripts::changes_of(group)?;
        // A script of many transactions comes in parts.
        let mut heard = self.heard.take().filter(|heard| heard.id == script.id);
        let mut emit = Emitter::reusing(sink, std::mem::take(&mut self.memory));
        for change in &script.changes {
            let heard = match &mut heard {
                Some(heard) => heard,
                none => none.insert(self.begin(script.id, change.entry.tx_num)?),
            };
            self.change(heard, change, &mut emit)?;
        }
        (self.heard, self.memory) = (heard, emit.into_memory());
        Ok(())
    }

    fn finish(&mut self, sink: &mut Sink<'_>) -> Result<(), StageError> {
        self.singles.emit(&mut Emitter::new(sink))
    }
}
