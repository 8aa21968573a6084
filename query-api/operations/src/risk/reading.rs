//! Reads the facts that detectors look at, with bounded numbers of rows.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    rc::Rc,
};

use cairn_domain::{
    claims::At,
    coinjoin::detect,
    dust::is_dust,
    exposure::{MAX_PARTS, Way},
    risk::{self, Facts, Ledger, MAX_TXS, NEAR_LIMITS, Near, Nearby, Paid, Party, Spent, SubjectTx, Tx, Unexamined},
};
use cairn_model::{Outpoint, ScriptId, ScriptPrefix};
use cairn_reader::{FoundScript, ReadError, StoredTx};
use cairn_tables::{block_log::BlockLog, headers::Headers, history::HistoryEntry};

use super::exposure::{
    claimed::Kind,
    parameters::Groups,
    reader::ExposureReader,
    traced::{Choice, Moves, traced},
};
use crate::operation::prelude::*;
use crate::wallets::{claims::ScriptClaims, coinjoin_tx::CoinJoinTx, surveillance::campaign_pings};

const AT_A_TIME: usize = 128;

pub(super) struct ChainLedger<'s, 'r> {
    ctx: &'r Ctx<'r>,
    view: &'r View<'r>,
    at: At,
    txs: RefCell<HashMap<TxNum, Option<Rc<Tx>>>>,
    parts: Cell<usize>,
    traces: RefCell<&'s mut ExposureReader<'r>>,
}

impl<'s, 'r> ChainLedger<'s, 'r> {
    /// Looks at the chain and the claims of now; so does the reader of traces.
    pub(super) fn new(at: At, traces: &'s mut ExposureReader<'r>) -> Self {
        let (txs, parts) = (RefCell::default(), Cell::new(0));
        ChainLedger { ctx: traces.ctx, view: traces.view, at, txs, parts, traces: RefCell::new(traces) }
    }

    /// The facts about a script. Rows read, for each of its newest 1 000 transactions: at most one, and as many for
    /// each detector that looks at its neighbours.
    pub(super) fn facts(&self, said: &ScriptClaims) -> Result<Facts, ApiError> {
        let stated = said.stated();
        let at = self.at;
        let mut facts = Facts {
            subject: ScriptId::default(),
            txs: Vec::new(),
            tx_count: 0,
            sent_before: 0,
            has_labels: said.facts.examined,
            is_claims_cut: said.is_cut,
            services: risk::services(&stated, at),
            listed: risk::listed(&stated, at),
            dust: Ok(Vec::new()),
        };
        let Some(found) = &said.wallet.found else { return Ok(facts) };
        let mut entries = self.view.scripts().history(found, 0, MAX_TXS)?;
        facts.dust = self.dust(found, &entries)?;
        entries.reverse();
        facts.subject = found.id;
        facts.tx_count = found.totals.tx_count;
        if let Some(first) = entries.first() {
            facts.sent_before = self.view.scripts().sums_before(found, first.tx_num)?.sent;
        }
        facts.txs = self.subject_txs(&entries)?;
        Ok(facts)
    }

    /// The transactions of the script. The newest are taken apart first: if the budget ends, the oldest lack parts.
    fn subject_txs(&self, entries: &[HistoryEntry]) -> Result<Vec<SubjectTx>, ApiError> {
        let mut txs = Vec::with_capacity(entries.len());
        for some in entries.rchunks(AT_A_TIME) {
            let numbers: Vec<TxNum> = some.iter().map(|entry| entry.tx_num).collect();
            self.view.transactions().fetch(&numbers)?;
            for entry in some.iter().rev() {
                let height = self.view.chain().height_of(entry.tx_num);
                let height = height.ok_or_else(|| lacks::<Headers>(format!("transaction {}", entry.tx_num.0)))?;
                txs.push(SubjectTx {
                    tx_num: entry.tx_num,
                    height,
                    received: entry.received,
                    sent: entry.sent,
                    parts: self.tx(entry.tx_num)?,
                });
            }
        }
        txs.reverse();
        Ok(txs)
    }

    /// Transactions of campaigns among the newest of a script, the oldest first.
    fn dust(&self, found: &FoundScript, newest: &[HistoryEntry]) -> Result<Result<Vec<TxNum>, Unexamined>, ApiError> {
        let height = match self.view.movements().dust_height() {
            Err(ReadError::Unfinished(_)) => return Ok(Err(Unexamined::Unfinished)),
            height => height?,
        };
        let is_payment = |entry: &&HistoryEntry| {
            is_dust(entry.received) && entry.sent == 0 && entry.tx_num > found.totals.first.tx_num
        };
        let payments: Vec<TxNum> = newest.iter().filter(is_payment).map(|entry| entry.tx_num).collect();
        let (mut pings, is_whole) = campaign_pings(self.ctx, self.view, &payments)?;
        pings.reverse();
        // Pings of the newest blocks may not be known yet.
        let is_young = |tx: &TxNum| self.view.chain().height_of(*tx).is_none_or(|of| of > height);
        Ok(match () {
            () if !pings.is_empty() => Ok(pings),
            () if !is_whole => Err(Unexamined::LookUpCap),
            () if payments.iter().any(is_young) => Err(Unexamined::Unfinished),
            () => Ok(pings),
        })
    }

    fn stored(&self, tx_num: TxNum) -> Result<StoredTx, ApiError> {
        let missing = || lacks::<BlockLog>(format!("transaction {}", tx_num.0));
        Ok(self.view.transactions().get(tx_num)?.ok_or_else(missing)?)
    }

    /// Takes a transaction apart, unless it exceeds what is left of the budget.
    fn take_apart(&self, tx: &StoredTx) -> Option<Rc<Tx>> {
        let parts = self.parts.get() + tx.outputs().len() + tx.logged_inputs().len();
        if parts > MAX_PARTS {
            return None;
        }
        self.parts.set(parts);
        let length = self.view.facts().script_prefix;
        let paid = |output: &cairn_model::OutputMeta| Paid {
            // The log leaves out what follows from the script.
            script: ScriptId { prefix: ScriptPrefix::of(tx.script(output), length), ordinal: output.id.ordinal },
            value: output.value,
            spendable: output.spendable,
        };
        Some(Rc::new(Tx {
            tx_num: tx.tx_num,
            height: tx.height,
            inputs: tx.logged_inputs().iter().map(|of| Spent { script: of.script, value: of.value }).collect(),
            outputs: tx.outputs().iter().map(paid).collect(),
            coinjoin: detect(&CoinJoinTx(tx)),
        }))
    }
}

impl Ledger for ChainLedger<'_, '_> {
    type Error = ApiError;

    fn tx(&self, tx_num: TxNum) -> Result<Option<Rc<Tx>>, ApiError> {
        if let Some(known) = self.txs.borrow().get(&tx_num) {
            return Ok(known.clone());
        }
        self.ctx.work.poll()?;
        let tx = self.take_apart(&self.stored(tx_num)?);
        self.txs.borrow_mut().insert(tx_num, tx.clone());
        Ok(tx)
    }

    fn outpoints(&self, tx_num: TxNum) -> Result<Vec<Outpoint>, ApiError> {
        self.ctx.work.poll()?;
        let coins = self.view.transactions().inputs(&self.stored(tx_num)?)?;
        Ok(coins.into_iter().map(|coin| coin.outpoint).collect())
    }

    fn spenders(&self, tx_num: TxNum) -> Result<Vec<(u32, TxNum)>, ApiError> {
        self.ctx.work.poll()?;
        let spenders = self.view.transactions().spenders(tx_num)?;
        Ok(spenders.into_iter().map(|(vout, spender, _)| (vout, spender)).collect())
    }

    fn parties(&self, scripts: &[ScriptId]) -> Result<Option<Vec<Party>>, ApiError> {
        self.ctx.work.poll()?;
        let members = match self.view.clusters().of_scripts(scripts, self.view.as_of_tip()) {
            Err(ReadError::Unfinished(_)) => return Ok(None),
            members => members?,
        };
        let party = |member: cairn_reader::Membership| {
            member.root.map_or(Party::Script(member.script), |root| Party::Cluster(root.0))
        };
        Ok(Some(members.into_iter().map(party).collect()))
    }

    fn near(&self, facts: &Facts, nearby: Nearby) -> Result<Near, ApiError> {
        let mixers = Groups::mixers();
        let choice = match nearby {
            Nearby::Mixers => Choice { kind: Kind::Risk, groups: Some(&mixers) },
            Nearby::Sanctions => Choice { kind: Kind::Sanctions, groups: None },
        };
        let newest = facts.txs.iter().rev().map(|of| (of.tx_num, of.received, of.sent));
        let moves = Moves::new(facts.subject, newest);
        let mut reader = self.traces.borrow_mut();
        reader.tidy_up();
        let mut near = Near::default();
        for way in [Way::Sources, Way::Destinations] {
            let traced = traced(&mut reader, &moves, choice, way, NEAR_LIMITS)?;
            let claim = |source| traced.claim(source, choice).map(|(_, claim)| claim.reference());
            near.add(way, &traced.trace, claim);
        }
        if reader.is_cut {
            near.missing = Some(if reader.is_unfinished() { Unexamined::Unfinished } else { Unexamined::LookUpCap });
        }
        Ok(near)
    }
}
