//! The parts of answers about a transaction that its page shows.

use serde::Deserialize;
use serde_json::Number;

/// Confirmations from which the interface calls a transaction final.
const FINAL: u64 = 6;

#[derive(Deserialize)]
pub(super) struct Standing {
    pub(super) txid: String,
    pub(super) state: String,
    pub(super) confirmations: u64,
    pub(super) block: Option<Block>,
    pub(super) block_index: Option<u64>,
    pub(super) mempool_first_seen: Option<String>,
    pub(super) eta: Option<Eta>,
    pub(super) departed: Option<Departure>,
    pub(super) reason: Option<String>,
}

impl Standing {
    /// Whether the payment is final, in a sentence.
    pub(super) fn sentence(&self) -> String {
        let count = self.confirmations;
        match self.state.as_str() {
            "confirmed" if count >= FINAL => {
                format!("Final: {count} confirmations. Only a deep reorganization of the chain could undo it.")
            }
            "confirmed" => {
                let word = if count == 1 { "confirmation" } else { "confirmations" };
                format!(
                    "Not final yet: {count} {word} of {FINAL}. A short reorganization of the chain can still undo it."
                )
            }
            "mempool" => "Not final: it waits in the mempool, and can still be replaced or dropped.".to_owned(),
            "conflicted" => "Not final: another transaction spends the same coins.".to_owned(),
            _ => "Not found.".to_owned(),
        }
    }
}

#[derive(Deserialize)]
pub(super) struct Block {
    pub(super) height: u64,
    pub(super) hash: String,
    pub(super) time: String,
}

#[derive(Deserialize)]
pub(super) struct Eta {
    pub(super) blocks: Option<u64>,
    pub(super) at_least_blocks: Option<u64>,
    pub(super) seconds: Option<u64>,
    pub(super) reason: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Departure {
    pub(super) reason: String,
    pub(super) replaced_by: Option<String>,
    pub(super) left_at: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Transaction {
    pub(super) wtxid: Option<String>,
    pub(super) version: Option<u64>,
    pub(super) locktime: Option<u64>,
    pub(super) size: Option<u64>,
    pub(super) vsize: Option<u64>,
    pub(super) weight: Option<u64>,
    pub(super) fee_sats: Option<i64>,
    pub(super) fee_rate_sat_vb: Option<Number>,
    pub(super) input_count: u64,
    pub(super) output_count: u64,
    pub(super) inputs: Vec<Input>,
    pub(super) outputs: Vec<Output>,
    #[serde(default)]
    pub(super) inputs_omitted: u64,
    #[serde(default)]
    pub(super) outputs_omitted: u64,
    pub(super) next_inputs_from: Option<u64>,
    pub(super) next_outputs_from: Option<u64>,
    pub(super) rbf: Option<bool>,
    #[serde(default)]
    pub(super) is_coinbase: bool,
    pub(super) raw_reason: Option<String>,
}

impl Transaction {
    /// A number of the raw transaction, or why it is not known.
    pub(super) fn number(&self, number: &Option<u64>) -> String {
        let why = || format!("unknown ({})", self.raw_reason.as_deref().unwrap_or("no raw bytes"));
        number.map_or_else(why, |number| number.to_string())
    }
}

#[derive(Deserialize)]
pub(super) struct Input {
    pub(super) index: u64,
    pub(super) prevout: Option<Prevout>,
    pub(super) label: Option<Label>,
    pub(super) age_days: Option<u64>,
    pub(super) script_sig_hex: Option<String>,
    pub(super) witness: Option<Vec<String>>,
    pub(super) too_long_reason: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Prevout {
    pub(super) txid: String,
    pub(super) vout: u64,
    pub(super) value_sats: Option<i64>,
    pub(super) address: Option<String>,
    pub(super) height: Option<u64>,
    #[serde(default)]
    pub(super) coinbase: bool,
}

#[derive(Deserialize)]
pub(super) struct Label {
    pub(super) value: String,
}

#[derive(Deserialize)]
pub(super) struct Output {
    pub(super) index: u64,
    pub(super) value_sats: i64,
    pub(super) script_type: Option<String>,
    pub(super) address: Option<String>,
    pub(super) script_hex: Option<String>,
    pub(super) asm: Option<String>,
    #[serde(default)]
    pub(super) spendable: bool,
    pub(super) label: Option<Label>,
    pub(super) spent_by: Option<Spender>,
}

#[derive(Deserialize)]
pub(super) struct Spender {
    pub(super) txid: String,
    pub(super) height: Option<u64>,
}

/// One side of a transaction as the drawing needs it.
pub(super) trait Side {
    fn sats(&self) -> i64;
    /// Who it belongs to, in words.
    fn owner(&self) -> &str;
    fn address(&self) -> Option<&str>;
}

impl Side for Input {
    fn sats(&self) -> i64 {
        self.prevout.as_ref().and_then(|coin| coin.value_sats).unwrap_or_default()
    }

    fn owner(&self) -> &str {
        let label = self.label.as_ref().map(|label| label.value.as_str());
        label.or(self.address()).unwrap_or(if self.prevout.is_none() { "new coins" } else { "no address" })
    }

    fn address(&self) -> Option<&str> {
        self.prevout.as_ref()?.address.as_deref()
    }
}

impl Side for Output {
    fn sats(&self) -> i64 {
        self.value_sats
    }

    fn owner(&self) -> &str {
        let label = self.label.as_ref().map(|label| label.value.as_str());
        label.or(self.address.as_deref()).or(self.script_type.as_deref()).unwrap_or("no address")
    }

    fn address(&self) -> Option<&str> {
        self.address.as_deref()
    }
}

#[derive(Deserialize)]
pub(super) struct Pending {
    pub(super) effective_fee_rate_sat_vb: Option<Number>,
    pub(super) projected_block: Option<u64>,
    pub(super) ancestors: Relatives,
    pub(super) descendants: Relatives,
    #[serde(default)]
    pub(super) replaces: Vec<String>,
    pub(super) bip125_replaceable: Option<bool>,
}

impl Pending {
    /// Both kinds of relatives, each with how the transaction stands to them.
    pub(super) fn relatives(&self) -> [(&'static str, &Relatives); 2] {
        [("spends", &self.ancestors), ("is spent by", &self.descendants)]
    }
}

#[derive(Deserialize)]
pub(super) struct Relatives {
    pub(super) count: u64,
    pub(super) fees_sats: i64,
    pub(super) vsize: u64,
    #[serde(default)]
    pub(super) txids: Vec<String>,
    #[serde(default)]
    pub(super) txids_omitted: u64,
}

#[derive(Deserialize)]
pub(super) struct Data {
    #[serde(default)]
    pub(super) outputs: Vec<Carrier>,
    pub(super) inscriptions: Option<Vec<Inscription>>,
    pub(super) inscriptions_reason: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Carrier {
    pub(super) vout: u64,
    pub(super) value_sats: i64,
    pub(super) text: Option<String>,
    pub(super) data_hex: Option<String>,
    #[serde(default)]
    pub(super) protocols: Vec<Protocol>,
}

#[derive(Deserialize)]
pub(super) struct Protocol {
    pub(super) name: String,
}

#[derive(Deserialize)]
pub(super) struct Inscription {
    pub(super) vin: u64,
    pub(super) content_type: Option<String>,
    pub(super) content_length: u64,
    pub(super) text: Option<String>,
}
