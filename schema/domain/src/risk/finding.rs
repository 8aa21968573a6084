//! The result of one detector, before suppression and before the bounds of the history count.

use cairn_model::TxNum;

use crate::claims::Strength;

/// Why a detector could not examine everything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unexamined {
    /// The chain has no transaction of the script.
    NoHistory,
    /// Older transactions were not examined.
    HistoryCut,
    /// A transaction has too many inputs and outputs.
    LargeTransaction,
    /// More look-ups of other transactions would be needed than one answer makes.
    LookUpCap,
    /// No labels are loaded.
    NoLabels,
    /// A table that it needs is being made.
    Unfinished,
    /// More claims exist than are read.
    ClaimsCut,
}

impl Unexamined {
    /// The code, as answers have it.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Unexamined::NoHistory => "no_history",
            Unexamined::HistoryCut => "history_cut",
            Unexamined::LargeTransaction => "large_transaction",
            Unexamined::LookUpCap => "look_up_cap",
            Unexamined::NoLabels => "no_labels",
            Unexamined::Unfinished => "unfinished",
            Unexamined::ClaimsCut => "claims_cut",
        }
    }

    /// The reason in words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Unexamined::NoHistory => "No block has a transaction of the script.",
            Unexamined::HistoryCut => "Older transactions were not examined.",
            Unexamined::LargeTransaction => "A transaction has too many inputs and outputs to be examined.",
            Unexamined::LookUpCap => {
                "Not all neighbouring transactions were examined: the limit of look-ups was reached."
            }
            Unexamined::NoLabels => "No labels are loaded.",
            Unexamined::Unfinished => "A table that the detector needs is being computed; ask again later.",
            Unexamined::ClaimsCut => "The script has more claims than are read.",
        }
    }
}

/// The result of a detector.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Finding {
    /// The pattern is there.
    Fired {
        /// The transactions that show it.
        txs: Vec<TxNum>,
        /// Number of them, if `txs` has only some.
        total: u64,
        /// Level of the evidence, 0 to 100.
        level: u8,
        /// Strength of the evidence; `None` for the measured one of the detector.
        strength: Option<Strength>,
        /// Ids of the claims that it rests on.
        claim_ids: Vec<String>,
        /// The observation in a sentence.
        words: String,
        /// The observation in numbers.
        observed: Vec<(&'static str, u64)>,
    },
    /// The pattern is not in the part that was examined.
    NotFired,
    /// Not enough could be examined.
    NotExamined(Unexamined),
}

impl Finding {
    /// A pattern that the transactions show.
    pub(super) fn fired(txs: Vec<TxNum>, level: u8, words: String, observed: Vec<(&'static str, u64)>) -> Self {
        let total = txs.len() as u64;
        Finding::part(txs, total, level, words, observed)
    }

    /// A pattern of which only some transactions are named.
    pub(super) fn part(
        txs: Vec<TxNum>,
        total: u64,
        level: u8,
        words: String,
        observed: Vec<(&'static str, u64)>,
    ) -> Self {
        Finding::Fired { txs, total, level, strength: None, claim_ids: Vec::new(), words, observed }
    }
}
