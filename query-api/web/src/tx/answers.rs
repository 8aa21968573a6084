//! The parts of answers about a transaction that its page shows.

use serde::Deserialize;
use serde_json::Number;

use crate::format::words as words_of;

/// Locktimes from which they are times; smaller ones are heights.
const TIMES: u64 = 500_000_000;

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
    pub(super) input_sats: Option<i64>,
    pub(super) output_sats: Option<i64>,
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
    pub(super) coinbase: Option<Coinbase>,
    pub(super) status: Option<Past>,
    /// Why fields that need the raw bytes are null.
    pub(super) raw_reason: Option<String>,
}

impl Transaction {
    /// Why a field that needs the raw bytes is null.
    pub(super) fn raw_reason(&self) -> &str {
        self.raw_reason.as_deref().unwrap_or("the raw bytes are not available")
    }

    pub(super) fn locktime_words(&self) -> Option<String> {
        let locktime = self.locktime?;
        Some(match locktime {
            0 => "0: no lock".to_owned(),
            1..TIMES => format!("{locktime}: not before block {}", locktime + 1),
            _ => format!("{locktime}: not before this time in seconds since 1970"),
        })
    }

    /// The transactions that it replaced in the mempool.
    pub(super) fn replaced(&self) -> &[String] {
        self.status.as_ref().map_or(&[], |status| status.replaces.as_slice())
    }

    /// First indexes of the lists on the page.
    pub(super) fn first_input(&self) -> u64 {
        self.inputs.first().map_or(0, |input| input.index)
    }

    pub(super) fn first_output(&self) -> u64 {
        self.outputs.first().map_or(0, |output| output.index)
    }
}

#[derive(Deserialize)]
pub(super) struct Coinbase {
    pub(super) text: String,
}

#[derive(Deserialize)]
pub(super) struct Past {
    #[serde(default)]
    replaces: Vec<String>,
}

#[derive(Deserialize)]
pub(super) struct Input {
    pub(super) index: u64,
    pub(super) prevout: Option<Prevout>,
    pub(super) label: Option<Label>,
    pub(super) age_days: Option<u64>,
    pub(super) script_sig_hex: Option<String>,
    pub(super) sequence: Option<u64>,
    pub(super) witness: Option<Vec<String>>,
    pub(super) too_long_reason: Option<String>,
}

impl Input {
    /// The witness items, if they are known and not too long.
    pub(super) fn items(&self) -> &[String] {
        self.witness.as_deref().unwrap_or_default()
    }
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
    entity: Option<String>,
    confidence_tier: Option<String>,
    state: Option<String>,
}

impl Label {
    pub(super) fn path(&self) -> Option<String> {
        self.entity.as_deref().map(|entity| format!("/entity/{}", cairn_http::segment(entity)))
    }

    /// How sure it is, in words.
    pub(super) fn certainty(&self) -> String {
        let words = [self.state.as_deref(), self.confidence_tier.as_deref().filter(|tier| !tier.is_empty())];
        match words {
            [Some(state), Some(tier)] => format!("{}, {tier} confidence", words_of(state)),
            [Some(one), None] => words_of(one),
            [None, Some(tier)] => format!("{tier} confidence"),
            [None, None] => "confidence unknown".to_owned(),
        }
    }
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
    pub(super) vin: Option<u64>,
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
    #[serde(default)]
    pub(super) parents: Vec<String>,
    #[serde(default)]
    pub(super) children: Vec<String>,
    pub(super) bip125_replaceable: Option<bool>,
}

impl Pending {
    /// Both kinds of relatives: how the transaction stands to them, all of them, and the next ones.
    pub(super) fn relatives(&self) -> [(&'static str, &Relatives, &[String]); 2] {
        [
            ("needs", &self.ancestors, self.parents.as_slice()),
            ("is needed by", &self.descendants, self.children.as_slice()),
        ]
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
    /// True if there are more than were counted.
    #[serde(default)]
    pub(super) truncated: bool,
}

#[derive(Deserialize)]
pub(super) struct Data {
    #[serde(default)]
    pub(super) outputs: Vec<Carrier>,
    pub(super) next_outputs_from: Option<u64>,
    #[serde(default)]
    pub(super) inscriptions_truncated: bool,
    pub(super) inscriptions: Option<Vec<Inscription>>,
    pub(super) inscriptions_reason: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Carrier {
    pub(super) vout: u64,
    pub(super) value_sats: i64,
    pub(super) text: Option<String>,
    pub(super) data_hex: Option<String>,
    pub(super) script_bytes: Option<u64>,
    #[serde(default)]
    pub(super) pushes: Vec<Push>,
    #[serde(default)]
    pub(super) protocols: Vec<Protocol>,
}

#[derive(Deserialize)]
pub(super) struct Push {
    pub(super) hex: Option<String>,
    pub(super) number: Option<i64>,
    pub(super) text: Option<String>,
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
