//! Facts that detectors look at: plain data.

use std::rc::Rc;

use cairn_events::Category;
use cairn_model::{Height, Sats, ScriptId, TxNum};

use super::Unexamined;
use crate::{claims::Strength, coinjoin::CoinJoin};

/// A coin that a transaction spends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spent {
    /// Its script.
    pub script: ScriptId,
    /// Its value.
    pub value: Sats,
}

/// An output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Paid {
    /// Its script.
    pub script: ScriptId,
    /// Its value.
    pub value: Sats,
    /// False for outputs that nobody can spend by their form.
    pub spendable: bool,
}

/// A confirmed transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tx {
    /// Its number in the order of the chain.
    pub tx_num: TxNum,
    /// Height of its block.
    pub height: Height,
    /// The coins that it spends; none for a coinbase.
    pub inputs: Vec<Spent>,
    /// Its outputs.
    pub outputs: Vec<Paid>,
    /// The kind of CoinJoin that it looks like.
    pub coinjoin: Option<CoinJoin>,
}

impl Tx {
    /// True for the first transaction of a block.
    #[must_use]
    pub fn is_coinbase(&self) -> bool {
        self.inputs.is_empty()
    }

    /// True if it has no single sender: several owners may have paid it, or none.
    #[must_use]
    pub fn has_no_sender(&self) -> bool {
        self.is_coinbase() || self.coinjoin.is_some()
    }
}

/// A transaction of the script.
#[derive(Clone, Debug)]
pub struct SubjectTx {
    /// Its number.
    pub tx_num: TxNum,
    /// Height of its block.
    pub height: Height,
    /// Sum of its outputs to the script.
    pub received: Sats,
    /// Sum of its inputs from the script.
    pub sent: Sats,
    /// Its parts; `None` if it has too many of them to be examined.
    pub parts: Option<Rc<Tx>>,
}

/// A service that the script is said to belong to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KnownService {
    /// Name of the entity in paths.
    pub entity: String,
    /// Its category.
    pub category: Category,
    /// Id of the claim that says so.
    pub claim_id: String,
    /// Level of that claim, 0 to 100.
    pub level: u8,
}

/// A claim that a signal rests on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClaimRef {
    /// Id of the claim.
    pub claim_id: String,
    /// Its level, 0 to 100.
    pub level: u8,
    /// Strength of its evidence.
    pub strength: Strength,
}

/// Scripts that transactions tie together, or a script that none ties to another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Party {
    /// A cluster, by its root.
    Cluster(TxNum),
    /// A script that is a cluster of its own.
    Script(ScriptId),
}

/// The facts about a script.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The script.
    pub subject: ScriptId,
    /// Its newest transactions, the oldest first; at most [`MAX_TXS`](super::MAX_TXS).
    pub txs: Vec<SubjectTx>,
    /// Number of all its transactions.
    pub tx_count: u64,
    /// Sum that it sent before the first of `txs`.
    pub sent_before: Sats,
    /// True if labels are loaded.
    pub has_labels: bool,
    /// True if there are more claims about it than were read.
    pub is_claims_cut: bool,
    /// Services that it is said to belong to.
    pub services: Vec<KnownService>,
    /// Standing claims of lists of sanctions about it.
    pub listed: Vec<ClaimRef>,
    /// Transactions of campaigns that paid it dust, the oldest first, or the reason why they are not known.
    pub dust: Result<Vec<TxNum>, Unexamined>,
}

impl Facts {
    /// Number of transactions whose parts are known.
    #[must_use]
    pub fn examined(&self) -> u64 {
        self.txs.iter().filter(|tx| tx.parts.is_some()).count() as u64
    }

    /// The transactions with their parts, the oldest first.
    pub(super) fn with_parts(&self) -> impl DoubleEndedIterator<Item = (&SubjectTx, &Rc<Tx>)> {
        self.txs.iter().filter_map(|tx| Some((tx, tx.parts.as_ref()?)))
    }
}
