//! The signal of one detector: its state and why.

use cairn_model::TxNum;

use super::{Facts, Finding, KnownService, Unexamined};
use crate::claims::Strength;

/// Most transactions that a signal names.
pub const MAX_TXIDS: usize = 10;

/// Where the precision of a detector comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measurement {
    /// It is measured on generated actors.
    Generated,
    /// It repeats claims about the script: the claim has its own strength.
    Claims,
}

/// Description of a detector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DetectorInfo {
    /// Its id in answers.
    pub id: &'static str,
    /// Id of its definition.
    pub definition: &'static str,
    /// The parameters in force.
    pub parameters: &'static [(&'static str, u64)],
    /// True if services show the pattern in their ordinary business, so that a known service suppresses it.
    pub is_structural: bool,
    /// True if it looks at the transactions of the script.
    pub needs_history: bool,
    /// Where its precision comes from.
    pub measurement: Measurement,
    /// Strength by its measured precision.
    pub strength: Strength,
    /// Ordinary reasons for the pattern.
    pub benign: &'static [&'static str],
    /// Evidence that would decide between the reasons.
    pub decided_by: &'static [&'static str],
}

/// State of a signal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SignalState {
    /// The pattern is there.
    Fired,
    /// The pattern is not in what was examined.
    NotFired,
    /// The pattern is there, but the script is said to belong to a service that shows it anyway.
    Suppressed,
    /// Not enough could be examined.
    NotExamined,
}

/// The signal of a detector.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signal {
    /// The detector.
    pub detector: &'static DetectorInfo,
    /// Its state.
    pub state: SignalState,
    /// Why, as a code.
    pub code: &'static str,
    /// Why, in words.
    pub reason: String,
    /// Level of the evidence, 0 to 100; `None` if nothing fired.
    pub level: Option<u8>,
    /// Strength of the evidence; `None` if nothing fired.
    pub strength: Option<Strength>,
    /// Transactions that show it, at most [`MAX_TXIDS`].
    pub txs: Vec<TxNum>,
    /// Number of all of them.
    pub total: u64,
    /// Ids of the claims that it rests on, at most [`MAX_TXIDS`].
    pub claim_ids: Vec<String>,
    /// The observation in numbers.
    pub observed: Vec<(&'static str, u64)>,
    /// Services that suppress it.
    pub suppressed_by: Vec<KnownService>,
}

/// The share that was examined, in words.
fn examined(facts: &Facts) -> String {
    format!("{} of {} transactions of the script were examined", facts.examined(), facts.tx_count)
}

pub(super) fn conclude(detector: &'static DetectorInfo, facts: &Facts, finding: Finding) -> Signal {
    let signal = |state, code, reason| Signal {
        detector,
        state,
        code,
        reason,
        level: None,
        strength: None,
        txs: Vec::new(),
        total: 0,
        claim_ids: Vec::new(),
        observed: Vec::new(),
        suppressed_by: Vec::new(),
    };
    let not_examined = |why: Unexamined| {
        let share = match detector.needs_history && facts.tx_count > 0 {
            true => format!("{} The pattern was not found; {}.", why.words(), examined(facts)),
            false => why.words().to_owned(),
        };
        signal(SignalState::NotExamined, why.code(), share)
    };
    match finding {
        Finding::Fired { mut txs, total, level, strength, mut claim_ids, words, observed } => {
            txs.truncate(MAX_TXIDS);
            claim_ids.truncate(MAX_TXIDS);
            let is_known = detector.is_structural && !facts.services.is_empty();
            let (state, code, reason, suppressed_by) = match is_known {
                true => {
                    let reason =
                        format!("{words} A source names a service as its owner, and services show this anyway.");
                    (SignalState::Suppressed, "known_service", reason, facts.services.clone())
                }
                false => (SignalState::Fired, "observed", words, Vec::new()),
            };
            Signal {
                level: Some(level),
                // A strong claim does not make a weak detector stronger.
                strength: Some(strength.map_or(detector.strength, |of| of.min(detector.strength))),
                txs,
                total,
                claim_ids,
                observed,
                suppressed_by,
                ..signal(state, code, reason)
            }
        }
        Finding::NotExamined(why) => not_examined(why),
        Finding::NotFired if !detector.needs_history => signal(
            SignalState::NotFired,
            "examined",
            "No standing claim of a list of sanctions about the script was found. No list is complete.".to_owned(),
        ),
        Finding::NotFired => match missing(facts) {
            Some(why) => not_examined(why),
            None => signal(SignalState::NotFired, "examined", format!("{}.", examined(facts))),
        },
    }
}

/// Why the facts do not show the absence of a pattern.
fn missing(facts: &Facts) -> Option<Unexamined> {
    match () {
        () if facts.tx_count == 0 => Some(Unexamined::NoHistory),
        () if facts.tx_count > facts.txs.len() as u64 => Some(Unexamined::HistoryCut),
        () if facts.examined() < facts.txs.len() as u64 => Some(Unexamined::LargeTransaction),
        () => None,
    }
}
