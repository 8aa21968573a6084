//! Checks of the transactions that the wallet makes.

use bitcoin::{Psbt, Script, Transaction, Txid as LibraryTxid, consensus, hashes::Hash, script::Instruction};
use cairn_model::Txid;

/// Maximum size of an anchor without its witness, in bytes. A proof repeats these bytes, and an operation of the format
/// cannot produce more than 4,096.
pub const MAX_STRIPPED_BYTES: usize = 1_000;
/// Virtual size of a usual anchor: one P2WPKH input, the output with the root, and change.
pub const ANCHOR_VSIZE: u32 = 154;
/// Bytes of an input without scripts.
pub(crate) const INPUT_BYTES: usize = 41;

/// Why a transaction of the wallet is not used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TransactionFlaw {
    /// The bytes are not a PSBT or a transaction.
    #[error("it cannot be read: {0}")]
    Encoding(String),
    /// It has no output with the root, several, or one with a value.
    #[error("its outputs do not have the root exactly once")]
    Root,
    /// It pays to more than one output of change.
    #[error("it has {0} outputs besides that with the root; at most one (change) is allowed")]
    Outputs(usize),
    /// It is too large to be proven.
    #[error("it has {0} bytes without witness; {MAX_STRIPPED_BYTES} are allowed")]
    TooLarge(usize),
    /// Signatures are missing.
    #[error("it is not signed completely; the wallet must have the keys of all its coins")]
    Incomplete,
    /// The signed transaction has other inputs or outputs than the checked one.
    #[error("it was changed while it was signed")]
    Changed,
}

/// An anchor before it is signed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnsignedAnchor {
    /// The PSBT.
    pub psbt: Vec<u8>,
    /// Its fee in satoshis.
    pub fee_sats: u64,
    /// The coins that it spends.
    pub inputs: Vec<(Txid, u32)>,
    /// Its expected size without witness, in bytes.
    pub stripped_bytes: usize,
    tx: Transaction,
}

/// An anchor with all signatures.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SignedAnchor {
    /// Its id.
    pub txid: Txid,
    /// Its bytes, with witness.
    pub raw: Vec<u8>,
    /// Its virtual size.
    pub vsize: u32,
}

impl UnsignedAnchor {
    /// Checks a PSBT of the wallet: it has the root once, at most one other output, and is small enough.
    pub fn check(psbt: Vec<u8>, fee_sats: u64, root: &[u8; 32]) -> Result<Self, TransactionFlaw> {
        let parsed = Psbt::deserialize(&psbt).map_err(|error| TransactionFlaw::Encoding(error.to_string()))?;
        let tx = parsed.unsigned_tx.clone();
        check_outputs(&tx, root)?;
        // Signing adds a script to inputs of older kinds.
        let added: usize = (0..tx.input.len()).map(|at| spent_script(&parsed, at).map_or(0, script_sig_bytes)).sum();
        let stripped_bytes = tx.base_size() + added;
        if stripped_bytes > MAX_STRIPPED_BYTES {
            return Err(TransactionFlaw::TooLarge(stripped_bytes));
        }
        let inputs = inputs(&tx);
        Ok(UnsignedAnchor { psbt, fee_sats, inputs, stripped_bytes, tx })
    }

    /// Checks the signed transaction that was made from this one.
    pub fn signed(&self, raw: Vec<u8>) -> Result<SignedAnchor, TransactionFlaw> {
        let tx = read(&raw)?;
        if inputs(&tx) != self.inputs || tx.output != self.tx.output || tx.lock_time != self.tx.lock_time {
            return Err(TransactionFlaw::Changed);
        }
        if tx.base_size() > MAX_STRIPPED_BYTES {
            return Err(TransactionFlaw::TooLarge(tx.base_size()));
        }
        let vsize = u32::try_from(tx.vsize()).unwrap_or(u32::MAX);
        Ok(SignedAnchor { txid: ours(&tx.compute_txid()), raw, vsize })
    }
}

pub(crate) fn spent_coins(raw: &[u8]) -> Result<Vec<(Txid, u32)>, TransactionFlaw> {
    Ok(inputs(&read(raw)?))
}

pub(crate) fn read(raw: &[u8]) -> Result<Transaction, TransactionFlaw> {
    consensus::deserialize(raw).map_err(|error| TransactionFlaw::Encoding(error.to_string()))
}

fn inputs(tx: &Transaction) -> Vec<(Txid, u32)> {
    tx.input.iter().map(|input| (ours(&input.previous_output.txid), input.previous_output.vout)).collect()
}

fn ours(txid: &LibraryTxid) -> Txid {
    Txid(txid.to_byte_array())
}

fn check_outputs(tx: &Transaction, root: &[u8; 32]) -> Result<(), TransactionFlaw> {
    let (anchors, others): (Vec<_>, Vec<_>) = tx.output.iter().partition(|output| output.script_pubkey.is_op_return());
    match anchors.as_slice() {
        [anchor] if anchor.value.to_sat() == 0 && is_root(&anchor.script_pubkey, root) => {}
        _ => return Err(TransactionFlaw::Root),
    }
    if others.len() > 1 {
        return Err(TransactionFlaw::Outputs(others.len()));
    }
    Ok(())
}

/// True for `OP_RETURN <root>`.
fn is_root(script: &Script, root: &[u8; 32]) -> bool {
    let mut parts = script.instructions().skip(1);
    matches!(parts.next(), Some(Ok(Instruction::PushBytes(push))) if push.as_bytes() == root) && parts.next().is_none()
}

/// The script of the coin that an input spends.
fn spent_script(psbt: &Psbt, at: usize) -> Option<&[u8]> {
    let input = psbt.inputs.get(at)?;
    if let Some(spent) = &input.witness_utxo {
        return Some(spent.script_pubkey.as_bytes());
    }
    let vout = psbt.unsigned_tx.input.get(at)?.previous_output.vout;
    let spent = input.non_witness_utxo.as_ref()?.output.get(usize::try_from(vout).ok()?)?;
    Some(spent.script_pubkey.as_bytes())
}

/// Bytes that signing adds to an input besides the witness.
pub(crate) fn script_sig_bytes(script: &[u8]) -> usize {
    let script = Script::from_bytes(script);
    match () {
        () if script.is_witness_program() => 0,
        // The hash of a key or a script of version 0.
        () if script.is_p2sh() => 35,
        () if script.is_p2pkh() => 108,
        () => 150,
    }
}

/// The fee of this many virtual bytes.
pub(crate) fn fee_at(feerate: u64, vsize: u64) -> u64 {
    feerate.saturating_mul(vsize).div_ceil(1_000)
}

/// The feerate of a transaction in satoshis per 1,000 virtual bytes, rounded down.
pub(crate) fn feerate_of(fee_sats: u64, vsize: u32) -> u64 {
    fee_sats.saturating_mul(1_000) / u64::from(vsize.max(1))
}
