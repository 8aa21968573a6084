//! Tweaks of unconfirmed transactions.

use bitcoin::{Script, Transaction, consensus::deserialize};
use cairn_model::MempoolTx;

use super::{
    input::SpentScript,
    output::{OutputPrefix, output_prefix},
    tweak::tweak,
};

/// The tweak of an unconfirmed transaction, and its P2TR outputs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnconfirmedTweak {
    /// The point, compressed.
    pub tweak: [u8; 33],
    /// Its P2TR outputs, in their order.
    pub outputs: Vec<OutputPrefix>,
}

impl UnconfirmedTweak {
    /// `None` if the transaction has no tweak, or if its bytes are not known.
    #[must_use]
    pub fn of(tx: &MempoolTx) -> Option<Self> {
        let prefixes = tx.outputs.iter().filter_map(|output| output_prefix(Script::from_bytes(&output.script)));
        let outputs: Vec<OutputPrefix> = prefixes.collect();
        if outputs.is_empty() {
            return None;
        }
        let whole: Transaction = deserialize(tx.raw.as_ref()?).ok()?;
        let spent: Vec<SpentScript> =
            tx.inputs.iter().map(|input| SpentScript::of(Script::from_bytes(&input.script))).collect();
        Some(UnconfirmedTweak { tweak: tweak(&whole, &spent)?.serialize(), outputs })
    }
}
