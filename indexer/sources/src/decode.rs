//! Decodes a raw block into flat lists, in one pass.

use bitcoin::Amount;
use cairn_model::{BlockHash, InputFlags, OutputMeta, ScriptId, TxMeta, Txid, is_unspendable};

use crate::{
    bytes::{Cursor, ReadError},
    hash::{merkle_root, sha256d},
    ids::{Hashed, Ids},
    sighash::{read_witness, script_sig_anyone_can_pay},
};

/// Largest serialized block of the protocol, in bytes.
pub const MAX_BLOCK_SIZE: u32 = 4_000_000;
/// Smallest possible block: header, count and the smallest transaction.
pub(crate) const MIN_BLOCK_SIZE: u32 = 80 + 1 + MIN_TX_SIZE as u32;
/// Version, count, one input without script, count, one output without script, lock time.
const MIN_TX_SIZE: usize = 4 + 1 + MIN_INPUT_SIZE + 1 + MIN_OUTPUT_SIZE + 4;
const MIN_INPUT_SIZE: usize = 36 + 1 + 4;
const MIN_OUTPUT_SIZE: usize = 8 + 1;

/// Why bytes are not a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeErrorKind {
    /// A primitive value cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// More bytes than the largest block.
    #[error("the block is larger than the protocol allows")]
    BlockTooLarge,
    /// The block has no transaction.
    #[error("the block has no transaction")]
    NoTransactions,
    /// Bytes are left after the last transaction.
    #[error("bytes are left after the last transaction")]
    TrailingBytes,
    /// A transaction has no input.
    #[error("a transaction has no input")]
    NoInputs,
    /// A transaction has no output.
    #[error("a transaction has no output")]
    NoOutputs,
    /// The flag after the segwit marker is not 1.
    #[error("the flag after the segwit marker is unknown")]
    BadSegwitFlag,
    /// The segwit form is used, but no input has a witness.
    #[error("the segwit serialization is used without any witness")]
    SuperfluousWitness,
    /// An amount, or the sum of a transaction's outputs, exceeds 21 million bitcoin.
    #[error("an amount exceeds the money supply")]
    BadAmount,
    /// The first transaction is not a coinbase, or its script is not 2 to 100 bytes long.
    #[error("the first transaction is not a valid coinbase")]
    BadCoinbase,
    /// A transaction other than the first spends the null outpoint.
    #[error("a later transaction spends the null outpoint")]
    ExtraCoinbase,
    /// The header commits to other transactions.
    #[error("the Merkle root does not match the transactions")]
    MerkleMismatch,
    /// There are witnesses, and the coinbase commits to none or to others (BIP 141).
    #[error("the witness commitment does not match the witnesses")]
    WitnessMismatch,
}

/// An invalid block, with the offset at which reading stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{kind} (at byte {at} of the block)")]
pub struct DecodeError {
    /// Offset in the raw block, in bytes.
    pub at: usize,
    /// The rule that the bytes break there.
    pub kind: DecodeErrorKind,
}

/// An outpoint in a transaction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Prevout {
    /// Transaction that created the coin.
    pub txid: Txid,
    /// Index of the output in it.
    pub vout: u32,
}

/// A decoded block. Inputs are those of all transactions except the coinbase, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decoded {
    /// Hash of the header.
    pub hash: BlockHash,
    /// The 80 bytes of the header.
    pub header: [u8; 80],
    /// Serialized size in bytes, with witness.
    pub size: u32,
    /// scriptSig of the coinbase, 2 to 100 bytes.
    pub coinbase_script: Vec<u8>,
    /// Transactions in order; `inputs` are ranges of [`Decoded::prevouts`] and [`Decoded::flags`], empty for the
    /// coinbase; `outputs` are ranges of [`Decoded::outputs`].
    pub txs: Vec<TxMeta>,
    /// The outpoint that each input spends.
    pub prevouts: Vec<Prevout>,
    /// Flags from the scripts of each input, parallel to `prevouts`. `coinbase` is a property of the spent coin, and
    /// always false here.
    pub flags: Vec<InputFlags>,
    /// Outputs in order. `id.ordinal` is 0; an output of an unspendable script has the default id. The coinbase of
    /// genesis is not special here.
    pub outputs: Vec<OutputMeta>,
    /// scriptPubKeys of the outputs, concatenated.
    pub scripts: Vec<u8>,
}

impl Decoded {
    /// Weight of the block in weight units (BIP 141).
    #[must_use]
    pub fn weight(&self) -> u64 {
        let witness: u64 = self.txs.iter().map(|t| u64::from(t.size - t.base_size)).sum();
        u64::from(self.size) * 4 - witness * 3
    }

    /// Compares the witnesses with the commitment in the coinbase (BIP 141), since Merkle root and txids do not cover
    /// them. This hashes nearly the whole block a second time. `raw` are the bytes that this was decoded from.
    fn check_witnesses(&self, raw: &[u8]) -> Result<(), DecodeError> {
        if self.txs.iter().all(|tx| tx.size == tx.base_size) || self.witness_commitment_holds(raw) == Some(true) {
            return Ok(());
        }
        Err(DecodeError { at: raw.len(), kind: DecodeErrorKind::WitnessMismatch })
    }

    fn witness_commitment_holds(&self, raw: &[u8]) -> Option<bool> {
        const COMMITMENT: [u8; 6] = [0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed];
        let coinbase = self.txs.first()?;
        let outputs = self.outputs.get(..coinbase.outputs.end as usize)?;
        let committed =
            outputs.iter().rev().map(|o| self.script(o)).find(|s| s.len() >= 38 && s.starts_with(&COMMITMENT));
        let transactions: usize = self.txs.iter().map(|tx| tx.size as usize).sum();
        let mut at = raw.len().checked_sub(transactions)?;
        let mut ids = Vec::with_capacity(self.txs.len());
        let mut reserved: &[u8] = &[];
        for (i, tx) in self.txs.iter().enumerate() {
            let bytes = raw.get(at..at + tx.size as usize)?;
            at += tx.size as usize;
            ids.push(match i {
                // The coinbase has the commitment and cannot be part of it; its witness is one item of 32 bytes.
                0 => {
                    // Marker and flag, and then exactly that.
                    if tx.size - tx.base_size != 2 + 34 {
                        return None;
                    }
                    let witness = bytes.len().checked_sub(38).and_then(|from| bytes[from..].strip_prefix(&[1, 32]))?;
                    reserved = &witness[..32];
                    [0; 32]
                }
                _ if tx.size == tx.base_size => tx.txid.0,
                _ => sha256d(&[bytes]),
            });
        }
        Some(sha256d(&[&merkle_root(ids)?, reserved]) == committed?[6..38])
    }

    /// scriptPubKey of an output of this block; empty for an output of another block.
    #[must_use]
    pub fn script(&self, output: &OutputMeta) -> &[u8] {
        self.scripts.get(output.script.start as usize..output.script.end as usize).unwrap_or_default()
    }
}

/// Decodes a raw block (header, count, transactions). Each byte is hashed at most once for the txids, and once for the
/// witness commitment.
///
/// `prefix_len` is the number of bytes of a script's hash in its id: 8, except in tests of collisions.
///
/// # Errors
/// Fails if the bytes are not a block, its Merkle root does not match its transactions, or its witness commitment not
/// its witnesses. Checked are format, counts, amounts and the position of the coinbase. Scripts, signatures and the
/// existence of the spent coins are not checked.
pub fn decode_block(raw: &[u8], prefix_len: usize) -> Result<Decoded, DecodeError> {
    let decoded = decode_with(raw, Hashed { prefix_len })?;
    decoded.check_witnesses(raw)?;
    Ok(decoded)
}

/// Decodes a raw block with ids from any source, without a look at the witness commitment.
pub(crate) fn decode_with(raw: &[u8], ids: impl Ids) -> Result<Decoded, DecodeError> {
    if raw.len() > MAX_BLOCK_SIZE as usize {
        return Err(DecodeError { at: 0, kind: DecodeErrorKind::BlockTooLarge });
    }
    let mut visitor = Visitor { r: Cursor::new(raw), ids, block: Decoded::empty(raw.len() as u32) };
    match visitor.block() {
        Ok(()) => Ok(visitor.block),
        Err(kind) => Err(DecodeError { at: visitor.r.position(), kind }),
    }
}

impl Decoded {
    fn empty(size: u32) -> Self {
        // Slightly above the average densities of mainnet: most blocks need no second allocation.
        let n = size as usize;
        Decoded {
            hash: BlockHash::default(),
            header: [0; 80],
            size,
            coinbase_script: Vec::new(),
            txs: Vec::new(),
            prevouts: Vec::with_capacity(n / 160),
            flags: Vec::with_capacity(n / 160),
            outputs: Vec::with_capacity(n / 160),
            scripts: Vec::with_capacity(n / 6),
        }
    }
}

struct Visitor<'a, I> {
    r: Cursor<'a>,
    ids: I,
    block: Decoded,
}

impl<I: Ids> Visitor<'_, I> {
    fn block(&mut self) -> Result<(), DecodeErrorKind> {
        self.block.header = self.r.array()?;
        self.block.hash = BlockHash(sha256d(&[&self.block.header]));
        let count = self.r.count(MIN_TX_SIZE)?;
        if count == 0 {
            return Err(DecodeErrorKind::NoTransactions);
        }
        self.block.txs.reserve_exact(count);
        for i in 0..count {
            self.transaction(i == 0)?;
        }
        if self.r.remaining() > 0 {
            return Err(DecodeErrorKind::TrailingBytes);
        }
        if self.ids.are_all(&self.block.header, &self.block.txs) {
            Ok(())
        } else {
            Err(DecodeErrorKind::MerkleMismatch)
        }
    }

    fn transaction(&mut self, coinbase: bool) -> Result<(), DecodeErrorKind> {
        let start = self.r.position();
        self.r.take(4)?;
        // A count of zero inputs marks the segwit form.
        let segwit = self.r.peek() == Some(0);
        if segwit {
            self.r.take(1)?;
            match self.r.u8()? {
                1 => {}
                // Not segwit, then: a transaction without inputs.
                0 => return Err(DecodeErrorKind::NoInputs),
                _ => return Err(DecodeErrorKind::BadSegwitFlag),
            }
        }
        let body = self.r.position();
        let first_input = self.block.prevouts.len() as u32;
        let first_output = self.block.outputs.len() as u32;
        let inputs = self.inputs(coinbase)?;
        self.outputs()?;
        let body_end = self.r.position();
        if segwit {
            self.witnesses(inputs, first_input as usize, coinbase)?;
        }
        self.r.take(4)?;
        let end = self.r.position();

        let (txid, base_size) = if segwit {
            let parts = [(start, start + 4), (body, body_end), (end - 4, end)];
            (self.ids.txid(&parts.map(|(a, b)| self.r.between(a, b))), 8 + body_end - body)
        } else {
            (self.ids.txid(&[self.r.between(start, end)]), end - start)
        };
        self.block.txs.push(TxMeta {
            txid: txid.ok_or(DecodeErrorKind::MerkleMismatch)?,
            size: (end - start) as u32,
            base_size: base_size as u32,
            inputs: first_input..self.block.prevouts.len() as u32,
            outputs: first_output..self.block.outputs.len() as u32,
        });
        Ok(())
    }

    fn inputs(&mut self, coinbase: bool) -> Result<usize, DecodeErrorKind> {
        let count = self.r.count(MIN_INPUT_SIZE)?;
        if count == 0 {
            return Err(DecodeErrorKind::NoInputs);
        }
        if coinbase && count != 1 {
            return Err(DecodeErrorKind::BadCoinbase);
        }
        for _ in 0..count {
            let prevout = Prevout { txid: Txid(self.r.array()?), vout: self.r.u32()? };
            let len = self.r.compact_size()?;
            let script_sig = self.r.take(len)?;
            self.r.take(4)?;
            let null = prevout.vout == u32::MAX && prevout.txid == Txid::default();
            if coinbase {
                if !null || !(2..=100).contains(&len) {
                    return Err(DecodeErrorKind::BadCoinbase);
                }
                self.block.coinbase_script = script_sig.to_vec();
            } else if null {
                return Err(DecodeErrorKind::ExtraCoinbase);
            } else {
                self.block.prevouts.push(prevout);
                let anyone_can_pay = script_sig_anyone_can_pay(script_sig);
                self.block.flags.push(InputFlags { anyone_can_pay, ..InputFlags::default() });
            }
        }
        Ok(count)
    }

    fn outputs(&mut self) -> Result<(), DecodeErrorKind> {
        let count = self.r.count(MIN_OUTPUT_SIZE)?;
        if count == 0 {
            return Err(DecodeErrorKind::NoOutputs);
        }
        let mut sum = 0u64;
        for _ in 0..count {
            let value = self.r.u64()?;
            let len = self.r.compact_size()?;
            let script = self.r.take(len)?;
            // Both stay below 2^63: the sum is checked after every step.
            sum = sum.saturating_add(value);
            if value > Amount::MAX_MONEY.to_sat() || sum > Amount::MAX_MONEY.to_sat() {
                return Err(DecodeErrorKind::BadAmount);
            }
            let from = self.block.scripts.len() as u32;
            self.block.scripts.extend_from_slice(script);
            let spendable = !is_unspendable(script);
            let id = if spendable {
                ScriptId { prefix: self.ids.prefix(script).ok_or(DecodeErrorKind::MerkleMismatch)?, ordinal: 0 }
            } else {
                ScriptId::default()
            };
            let script = from..self.block.scripts.len() as u32;
            self.block.outputs.push(OutputMeta { value, script, id, spendable });
        }
        Ok(())
    }

    fn witnesses(&mut self, inputs: usize, first: usize, coinbase: bool) -> Result<(), DecodeErrorKind> {
        let mut items = 0;
        for i in 0..inputs {
            let (n, anyone_can_pay) = read_witness(&mut self.r)?;
            items += n;
            if !coinbase && anyone_can_pay {
                self.block.flags[first + i].anyone_can_pay = true;
            }
        }
        if items == 0 { Err(DecodeErrorKind::SuperfluousWitness) } else { Ok(()) }
    }
}
