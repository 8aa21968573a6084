//! Whole transactions as JSON, with the outputs that they spend.

use std::{collections::HashMap, rc::Rc};

use bitcoin::{Amount, OutPoint, Script, ScriptBuf, Transaction, TxIn, TxOut, hashes::Hash};
use cairn_chain::{Pinned, Whole};
use cairn_domain::address_of;
use cairn_http::{ApiError, ErrorCode, Work};
use cairn_model::{Network, ScriptId, TxNum, Txid};
use serde::Serialize;

use crate::{
    answer::{Age, Answer, List, Refusal},
    script_text::{InnerScripts, asm, kind},
    status::TxStatus,
};

/// A transaction.
#[derive(Debug, Serialize)]
pub(crate) struct TxJson {
    txid: String,
    version: u32,
    locktime: u32,
    vin: Vec<InputJson>,
    vout: Vec<OutputJson>,
    size: usize,
    weight: u64,
    sigops: usize,
    fee: u64,
    status: TxStatus,
}

#[derive(Debug, Serialize)]
struct InputJson {
    txid: String,
    vout: u32,
    prevout: Option<OutputJson>,
    scriptsig: String,
    scriptsig_asm: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    witness: Option<Vec<String>>,
    is_coinbase: bool,
    sequence: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    inner_redeemscript_asm: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inner_witnessscript_asm: Option<String>,
}

#[derive(Debug, Serialize)]
struct OutputJson {
    scriptpubkey: String,
    scriptpubkey_asm: String,
    scriptpubkey_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    scriptpubkey_address: Option<String>,
    value: u64,
}

impl OutputJson {
    fn new(value: u64, script: &Script, network: Network) -> Self {
        OutputJson {
            scriptpubkey: hex::encode(script.as_bytes()),
            scriptpubkey_asm: asm(script),
            scriptpubkey_type: kind(script),
            scriptpubkey_address: address_of(script.as_bytes(), network),
            value,
        }
    }
}

impl InputJson {
    fn new(input: &TxIn, prevout: Option<&Spent>, network: Network) -> Self {
        let witness = (!input.witness.is_empty()).then(|| input.witness.iter().map(hex::encode).collect());
        let script = prevout.map(|spent| Script::from_bytes(&spent.script));
        let inner = script.map(|script| InnerScripts::find(input, script)).unwrap_or_default();
        InputJson {
            txid: input.previous_output.txid.to_string(),
            vout: input.previous_output.vout,
            prevout: prevout.zip(script).map(|(spent, script)| OutputJson::new(spent.value, script, network)),
            scriptsig: hex::encode(input.script_sig.as_bytes()),
            scriptsig_asm: asm(&input.script_sig),
            witness,
            is_coinbase: input.previous_output.is_null(),
            sequence: input.sequence.0,
            inner_redeemscript_asm: inner.redeem.map(asm),
            inner_witnessscript_asm: inner.witness.map(asm),
        }
    }
}

/// An output that an input spends.
#[derive(Clone, Debug)]
struct Spent {
    value: u64,
    script: Rc<[u8]>,
}

/// Bytes of scripts that are kept for other inputs.
const MAX_KEPT: usize = 1 << 20;
/// Memory of a transaction as JSON, in bytes for each of its own: digits of its scripts, and their operations.
const BYTES_PER_BYTE: usize = 6;
/// An opcode without data takes this many bytes as text; scripts have many of them only if they are unusual.
const BYTES_PER_OPCODE: usize = 24;
/// Scripts up to this size count as usual.
const USUAL_SCRIPT: usize = 10_000;

/// Makes the JSON of transactions. Inputs often spend outputs with the same script, which is read once.
pub(crate) struct TxWriter<'a, 'p> {
    at: &'a Pinned<'p>,
    work: &'a Work,
    scripts: HashMap<ScriptId, Rc<[u8]>>,
    kept: usize,
}

impl<'a, 'p> TxWriter<'a, 'p> {
    pub(crate) fn new(at: &'a Pinned<'p>, work: &'a Work) -> Self {
        TxWriter { at, work, scripts: HashMap::new(), kept: 0 }
    }

    /// A transaction as JSON.
    pub(crate) fn json(&mut self, whole: &Whole) -> Result<TxJson, ApiError> {
        self.work.poll()?;
        self.work.keep(memory_of(whole))?;
        let (network, tx) = (self.at.view.network(), &whole.tx);
        let spent = self.spent(whole)?;
        let vin = tx.input.iter().enumerate().map(|(at, input)| InputJson::new(input, spent.get(at), network));
        let vout = tx.output.iter().map(|out| OutputJson::new(out.value.to_sat(), &out.script_pubkey, network));
        let (paid_in, paid_out) = (sum(spent.iter().map(|spent| spent.value)), sum(outputs_of(tx)));
        Ok(TxJson {
            txid: tx.compute_txid().to_string(),
            version: tx.version.0.cast_unsigned(),
            locktime: tx.lock_time.to_consensus_u32(),
            vin: vin.collect(),
            vout: vout.collect(),
            size: whole.bytes.len(),
            weight: tx.weight().to_wu(),
            sigops: sigops(tx, &spent),
            fee: if tx.is_coinbase() { 0 } else { paid_in.saturating_sub(paid_out) },
            status: TxStatus::new(whole.at),
        })
    }

    /// The outputs that the inputs spend, in their order; none of a coinbase.
    fn spent(&mut self, whole: &Whole) -> Result<Vec<Spent>, ApiError> {
        let Some(stored) = &whole.stored else {
            let txid = Txid(whole.tx.compute_txid().to_byte_array());
            let inputs = self.at.mempool.get(&txid).map_or(&[][..], |tx| &tx.inputs);
            return Ok(inputs.iter().map(|i| Spent { value: i.value, script: (&*i.script).into() }).collect());
        };
        let coins = self.at.view.transactions().inputs(stored)?;
        let mut all = Vec::with_capacity(coins.len());
        // The rows of as many transactions as a view keeps are read together.
        for some in coins.chunks(64) {
            let unknown = some.iter().filter(|coin| !self.scripts.contains_key(&coin.script));
            let numbers: Vec<TxNum> = unknown.map(|coin| coin.outpoint.tx_num).collect();
            self.at.view.transactions().fetch(&numbers)?;
            for coin in some {
                let script = match self.scripts.get(&coin.script) {
                    Some(known) => Rc::clone(known),
                    None => self.keep(coin.script, self.at.view.transactions().script_at(coin.outpoint)?.into()),
                };
                all.push(Spent { value: coin.value, script });
            }
        }
        Ok(all)
    }

    fn keep(&mut self, id: ScriptId, script: Rc<[u8]>) -> Rc<[u8]> {
        if self.kept + script.len() > MAX_KEPT {
            self.scripts.clear();
            self.kept = 0;
        }
        self.kept += script.len();
        self.scripts.insert(id, Rc::clone(&script));
        script
    }
}

fn sum(values: impl Iterator<Item = u64>) -> u64 {
    values.fold(0, u64::saturating_add)
}

fn outputs_of(tx: &Transaction) -> impl Iterator<Item = u64> {
    tx.output.iter().map(|output| output.value.to_sat())
}

/// The cost of the signature operations, as a block counts them.
fn sigops(tx: &Transaction, spent: &[Spent]) -> usize {
    let by_outpoint: HashMap<OutPoint, &Spent> =
        tx.input.iter().map(|input| input.previous_output).zip(spent).collect();
    tx.total_sigop_cost(|outpoint| {
        let spent = by_outpoint.get(outpoint)?;
        let script_pubkey = ScriptBuf::from_bytes(spent.script.to_vec());
        Some(TxOut { value: Amount::from_sat(spent.value), script_pubkey })
    })
}

/// About the bytes that a transaction as JSON takes in memory.
fn memory_of(whole: &Whole) -> usize {
    let scripts = whole.tx.output.iter().map(|output| output.script_pubkey.len());
    let scripts = scripts.chain(whole.tx.input.iter().map(|input| input.script_sig.len()));
    let unusual: usize = scripts.filter(|length| *length > USUAL_SCRIPT).sum();
    whole.bytes.len().saturating_mul(BYTES_PER_BYTE).saturating_add(unusual.saturating_mul(BYTES_PER_OPCODE))
}

/// Bytes of the transactions of a page: as JSON they take at least twice as many, which is more than an answer has.
const MAX_PAGE_BYTES: u64 = 6 << 20;

/// Refuses a page whose transactions are larger than an answer, before they are read.
fn check_sizes(at: &Pinned<'_>, numbers: &[TxNum]) -> Result<(), ApiError> {
    at.view.transactions().fetch(numbers)?;
    let mut bytes = 0;
    for number in numbers {
        let stored = at.view.transactions().get(*number)?.ok_or_else(ApiError::internal)?;
        bytes += u64::from(stored.meta().size);
    }
    if bytes <= MAX_PAGE_BYTES || numbers.len() == 1 {
        return Ok(());
    }
    let detail = format!("the transactions of this page have {bytes} bytes; at most {MAX_PAGE_BYTES} are allowed");
    Err(ApiError::new(ErrorCode::WorkLimitExceeded, detail))
}

/// Whole transactions of the chain, if a page has room for them.
pub(crate) fn confirmed(at: &Pinned<'_>, numbers: &[TxNum]) -> Result<Vec<Whole>, ApiError> {
    check_sizes(at, numbers)?;
    at.whole_of(numbers)
}

/// A page of transactions.
pub(crate) fn page(at: &Pinned<'_>, work: &Work, txs: &[Whole], age: Age) -> Result<Answer, Refusal> {
    let (mut writer, mut list) = (TxWriter::new(at, work), List::new(work));
    for whole in txs {
        list.push(&writer.json(whole)?)?;
    }
    Ok(list.finish(age))
}
