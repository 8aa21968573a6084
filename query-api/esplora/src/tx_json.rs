//! Whole transactions as JSON, with the outputs that they spend.

use std::{collections::HashMap, rc::Rc};

use bitcoin::{
    Amount, OutPoint, Script, ScriptBuf, Transaction, TxIn, TxOut, Witness, consensus::deserialize, hashes::Hash,
};
use cairn_chain::{Pinned, Whole};
use cairn_domain::address_of;
use cairn_http::{ApiError, ErrorCode, Work};
use cairn_model::{MempoolTx, Network, ScriptId, TxNum, Txid};
use serde::{Serialize, Serializer};

use crate::{
    answer::{Age, Answer, List, Refusal},
    script_text::{Asm, Hex, InnerScripts, kind},
    status::TxStatus,
};

/// A transaction. Its scripts are written without copies: they may be as large as a block.
#[derive(Debug, Serialize)]
struct TxJson<'t> {
    txid: String,
    version: u32,
    locktime: u32,
    vin: Vec<InputJson<'t>>,
    vout: Vec<OutputJson<'t>>,
    size: usize,
    weight: u64,
    sigops: usize,
    fee: u64,
    status: TxStatus,
}

#[derive(Debug, Serialize)]
struct InputJson<'t> {
    txid: String,
    vout: u32,
    prevout: Option<OutputJson<'t>>,
    scriptsig: Hex<'t>,
    scriptsig_asm: Asm<'t>,
    #[serde(skip_serializing_if = "Witness::is_empty", serialize_with = "items")]
    witness: &'t Witness,
    is_coinbase: bool,
    sequence: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    inner_redeemscript_asm: Option<Asm<'t>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inner_witnessscript_asm: Option<Asm<'t>>,
}

#[derive(Debug, Serialize)]
struct OutputJson<'t> {
    scriptpubkey: Hex<'t>,
    scriptpubkey_asm: Asm<'t>,
    scriptpubkey_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    scriptpubkey_address: Option<String>,
    value: u64,
}

fn items<S: Serializer>(witness: &Witness, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(witness.iter().map(Hex))
}

impl<'t> OutputJson<'t> {
    fn new(value: u64, script: &'t Script, network: Network) -> Self {
        OutputJson {
            scriptpubkey: Hex(script.as_bytes()),
            scriptpubkey_asm: Asm(script),
            scriptpubkey_type: kind(script),
            scriptpubkey_address: address_of(script.as_bytes(), network),
            value,
        }
    }
}

impl<'t> InputJson<'t> {
    fn new(input: &'t TxIn, prevout: Option<&'t Spent>, network: Network) -> Self {
        let script = prevout.map(|spent| Script::from_bytes(&spent.script));
        let inner = script.map(|script| InnerScripts::find(input, script)).unwrap_or_default();
        InputJson {
            txid: input.previous_output.txid.to_string(),
            vout: input.previous_output.vout,
            prevout: prevout.zip(script).map(|(spent, script)| OutputJson::new(spent.value, script, network)),
            scriptsig: Hex(input.script_sig.as_bytes()),
            scriptsig_asm: Asm(&input.script_sig),
            witness: &input.witness,
            is_coinbase: input.previous_output.is_null(),
            sequence: input.sequence.0,
            inner_redeemscript_asm: inner.redeem.map(Asm),
            inner_witnessscript_asm: inner.witness.map(Asm),
        }
    }
}

impl<'t> TxJson<'t> {
    fn new(whole: &'t Whole, spent: &'t [Spent], network: Network) -> Self {
        let tx = &whole.tx;
        let vin = tx.input.iter().enumerate().map(|(at, input)| InputJson::new(input, spent.get(at), network));
        let vout = tx.output.iter().map(|out| OutputJson::new(out.value.to_sat(), &out.script_pubkey, network));
        let (paid_in, paid_out) = (sum(spent.iter().map(|spent| spent.value)), sum(outputs_of(tx)));
        TxJson {
            txid: tx.compute_txid().to_string(),
            version: tx.version.0.cast_unsigned(),
            locktime: tx.lock_time.to_consensus_u32(),
            vin: vin.collect(),
            vout: vout.collect(),
            size: whole.bytes.len(),
            weight: tx.weight().to_wu(),
            sigops: sigops(tx, spent),
            fee: if tx.is_coinbase() { 0 } else { paid_in.saturating_sub(paid_out) },
            status: TxStatus::new(whole.at),
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
/// Reads the outputs that transactions spend. They often have the same script, which is read once.
struct SpentReader<'a, 'p> {
    at: &'a Pinned<'p>,
    scripts: HashMap<ScriptId, Rc<[u8]>>,
    kept: usize,
}

impl<'a, 'p> SpentReader<'a, 'p> {
    fn new(at: &'a Pinned<'p>) -> Self {
        SpentReader { at, scripts: HashMap::new(), kept: 0 }
    }

    /// The outputs that the inputs spend, in their order; none of a coinbase.
    fn of_tx(&mut self, whole: &Whole) -> Result<Vec<Spent>, ApiError> {
        let Some(stored) = &whole.stored else {
            let txid = Txid(whole.tx.compute_txid().to_byte_array());
            return Ok(self.at.mempool()?.get(&txid).map(|tx| spent_by(tx)).unwrap_or_default());
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

/// Bytes of the transactions of a page: as JSON they take at least twice as many, and an answer has 12 MiB.
const MAX_PAGE_BYTES: usize = 5 << 20;

/// Refuses a page whose transactions are larger than an answer, before they are read.
fn check_sizes(at: &Pinned<'_>, work: &Work, numbers: &[TxNum]) -> Result<(), ApiError> {
    at.view.transactions().fetch(numbers)?;
    let mut bytes = 0;
    for number in numbers {
        let stored = at.view.transactions().get(*number)?.ok_or_else(ApiError::internal)?;
        bytes += stored.meta().size as usize;
    }
    if bytes > MAX_PAGE_BYTES && numbers.len() > 1 {
        let detail = format!("the transactions of this page have {bytes} bytes; at most {MAX_PAGE_BYTES} are allowed");
        return Err(ApiError::new(ErrorCode::WorkLimitExceeded, detail));
    }
    Ok(work.keep(bytes)?)
}

/// Whole transactions of the chain, if a page has room for them.
pub(crate) fn confirmed(at: &Pinned<'_>, work: &Work, numbers: &[TxNum]) -> Result<Vec<Whole>, ApiError> {
    check_sizes(at, work, numbers)?;
    at.whole_of(numbers)
}

/// A list of transactions.
pub(crate) struct TxList<'a, 'p> {
    work: &'a Work,
    reader: SpentReader<'a, 'p>,
    list: List<'a>,
}

impl<'a, 'p> TxList<'a, 'p> {
    /// An empty list.
    pub(crate) fn new(at: &'a Pinned<'p>, work: &'a Work) -> Self {
        TxList { work, reader: SpentReader::new(at), list: List::new(work) }
    }

    /// Adds a transaction.
    pub(crate) fn push(&mut self, whole: &Whole) -> Result<(), Refusal> {
        self.work.poll()?;
        let spent = self.reader.of_tx(whole)?;
        self.list.push(&TxJson::new(whole, &spent, self.reader.at.view.network()))
    }

    /// Its length in bytes so far.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// The list as an answer.
    pub(crate) fn finish(self, age: Age) -> Result<Answer, Refusal> {
        self.list.finish(age)
    }
}

/// Writes single transactions as texts.
pub(crate) struct TxTexts<'a, 'p>(SpentReader<'a, 'p>);

impl<'a, 'p> TxTexts<'a, 'p> {
    pub(crate) fn new(at: &'a Pinned<'p>) -> Self {
        TxTexts(SpentReader::new(at))
    }

    /// The JSON of a transaction.
    pub(crate) fn write(&mut self, whole: &Whole) -> Result<String, ApiError> {
        let spent = self.0.of_tx(whole)?;
        Ok(serde_json::to_string(&TxJson::new(whole, &spent, self.0.at.view.network()))?)
    }

    /// The JSON of a transaction that has left the mempool; `None` without its bytes.
    pub(crate) fn write_departed(&self, tx: &MempoolTx) -> Result<Option<String>, ApiError> {
        let Some(bytes) = &tx.raw else { return Ok(None) };
        let Ok(decoded) = deserialize(bytes) else { return Ok(None) };
        let whole = Whole { tx: decoded, bytes: bytes.to_vec(), stored: None, at: None };
        let spent = spent_by(tx);
        Ok(Some(serde_json::to_string(&TxJson::new(&whole, &spent, self.0.at.view.network()))?))
    }
}

/// The outputs that an unconfirmed transaction spends.
fn spent_by(tx: &MempoolTx) -> Vec<Spent> {
    tx.inputs.iter().map(|input| Spent { value: input.value, script: (&*input.script).into() }).collect()
}

/// A page of transactions.
pub(crate) fn page(at: &Pinned<'_>, work: &Work, txs: &[Whole], age: Age) -> Result<Answer, Refusal> {
    let mut list = TxList::new(at, work);
    txs.iter().try_for_each(|whole| list.push(whole))?;
    list.finish(age)
}

/// One transaction.
pub(crate) fn single(at: &Pinned<'_>, work: &Work, whole: &Whole, age: Age) -> Result<Answer, Refusal> {
    let spent = SpentReader::new(at).of_tx(whole)?;
    Answer::large(&TxJson::new(whole, &spent, at.view.network()), age, work)
}
