//! Traces that several choices of claims share.

use std::rc::Rc;

use cairn_model::{ScriptId, TxNum};

use super::{Chain, Limits, Role, Trace, TracedTx, Way, trace};

/// Amounts of a trace that is kept, at most: 2.4 MB.
const MAX_KEPT_AMOUNTS: usize = 50_000;

/// The newest trace of each direction around one script.
///
/// A trace follows from the chain and from the roles of the scripts that it meets. So the trace for another choice of
/// claims is the same as a kept one if the scripts that the kept one asked for, in the same order, have the same roles
/// again. Then only their roles are looked up: no transaction is read, and no amount is computed.
#[derive(Default)]
pub struct SharedTraces {
    kept: Vec<Kept>,
}

/// The parameters of a trace.
#[derive(PartialEq, Eq)]
struct Question {
    subject: ScriptId,
    txs: Vec<TxNum>,
    limits: Limits,
}

struct Kept {
    way: Way,
    question: Question,
    asked: Vec<Asked>,
    trace: Rc<Trace>,
}

/// Scripts that a trace asked for together, and their roles.
struct Asked {
    scripts: Vec<ScriptId>,
    roles: Vec<Role>,
}

impl SharedTraces {
    /// As [`trace`]. The chain must be the same in each call, except for the sources.
    pub fn trace<C: Chain>(
        &mut self,
        chain: &mut C,
        way: Way,
        subject: ScriptId,
        txs: &[TxNum],
        limits: Limits,
    ) -> Result<Rc<Trace>, C::Error> {
        let question = Question { subject, txs: txs.to_vec(), limits };
        let kept = self.kept.iter().find(|kept| kept.way == way && kept.question == question);
        if let Some(kept) = kept
            && kept.has_same_roles(chain)?
        {
            return Ok(Rc::clone(&kept.trace));
        }
        let mut recorder = Recorder { chain, asked: Vec::new() };
        let found = Rc::new(trace(&mut recorder, way, subject, txs, limits)?);
        if found.flows.steps_taken(limits.steps) <= MAX_KEPT_AMOUNTS {
            let asked = recorder.asked;
            self.kept.retain(|kept| kept.way != way && kept.question.is_about(&question));
            self.kept.push(Kept { way, question, asked, trace: Rc::clone(&found) });
        }
        Ok(found)
    }
}

impl Question {
    /// True if the other one is about the same script, with the same limits.
    fn is_about(&self, other: &Question) -> bool {
        (self.subject, self.limits) == (other.subject, other.limits)
    }
}

impl Kept {
    /// True if the scripts have the roles again that they had. Asks in the order of the trace, up to the first
    /// difference: the trace itself would ask the same.
    fn has_same_roles<C: Chain>(&self, chain: &mut C) -> Result<bool, C::Error> {
        for Asked { scripts, roles } in &self.asked {
            if chain.roles(scripts)? != *roles {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Notes the roles that a trace asks for.
struct Recorder<'c, C> {
    chain: &'c mut C,
    asked: Vec<Asked>,
}

impl<C: Chain> Chain for Recorder<'_, C> {
    type Error = C::Error;

    fn transaction(&mut self, tx: TxNum) -> Result<Option<Rc<TracedTx>>, C::Error> {
        self.chain.transaction(tx)
    }

    fn spenders(&mut self, tx: TxNum) -> Result<Rc<[(u32, TxNum)]>, C::Error> {
        self.chain.spenders(tx)
    }

    fn roles(&mut self, scripts: &[ScriptId]) -> Result<Vec<Role>, C::Error> {
        let roles = self.chain.roles(scripts)?;
        self.asked.push(Asked { scripts: scripts.to_vec(), roles: roles.clone() });
        Ok(roles)
    }

    fn announce(&mut self, txs: &[TxNum]) -> Result<(), C::Error> {
        self.chain.announce(txs)
    }
}
