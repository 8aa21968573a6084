//! Proofs of the transactions that a pack names: raw bytes, Merkle branches and headers.

use std::collections::{BTreeMap, HashMap};

use bitcoin::{
    Transaction, TxIn,
    consensus::encode::serialize,
    hashes::{Hash, HashEngine, sha256d},
};
use cairn_domain::evidence::{MAX_PROVEN, named_txids};
use cairn_model::Txid;
use cairn_reader::{ReadError, StoredTx};
use cairn_tables::{block_log::BlockLog, headers::HeaderRow};
use serde_json::Value;

use super::sections::{TIME, is_of_time};
use crate::operation::prelude::*;
use crate::raw_tx::{NO_SOURCE, raw_tx};

/// Most bytes of the proofs of a pack, as they are written.
const MAX_BYTES: usize = 2_000_000;
/// Most transactions that fund one with a proof.
const MAX_FUNDERS: usize = 250;
/// Bytes of a transaction that could be a node of a Merkle tree.
const AMBIGUOUS: usize = 64;

/// Proofs of transactions.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "PackProofs")]
pub(super) struct Proofs {
    /// Blocks of the transactions.
    blocks: Vec<BlockProof>,
    /// Transactions with a proof: at most 25.
    transactions: Vec<TxProof>,
    /// Transactions by txid, in hexadecimal and without witnesses, so that the txid is a hash of all bytes: those with
    /// a proof, those that fund their inputs, and the coinbases.
    raw: BTreeMap<String, String>,
}

/// A block.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PackBlockProof")]
struct BlockProof {
    height: Height,
    hash: String,
    /// The 80 bytes of the header in hexadecimal.
    header: String,
    /// Txid of the coinbase.
    coinbase: String,
    /// Merkle branch of the coinbase: its length is the depth of the tree.
    coinbase_branch: Vec<String>,
}

/// A transaction in its block.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PackTxProof")]
struct TxProof {
    txid: String,
    height: Height,
    /// Position in the block; the coinbase has 0.
    position: u32,
    /// Merkle branch, from the leaf to the root.
    branch: Vec<String>,
}

/// The result for the proofs of a pack.
pub(super) enum Proving {
    /// The request did not want them.
    NotAsked,
    /// There is none, for this reason.
    Unavailable(&'static str),
    /// Proofs, and the transactions that have none.
    Made(Proofs, Vec<String>),
}

/// Makes the proofs of the transactions that sections name, within a share of the work.
pub(super) fn prove(ctx: &Ctx<'_>, sections: &Value) -> Result<Proving, ApiError> {
    let view = ctx.view()?;
    if view.raw().is_none() {
        return Ok(Proving::Unavailable(NO_SOURCE));
    }
    // The newest transactions first: the rows of their section are proven with their amounts.
    let mut named = named_txids(&sections["transactions"]);
    for txid in named_txids(sections) {
        if !named.contains(&txid) {
            named.push(txid);
        }
    }
    let rows = sections.pointer("/transactions/data/transactions").and_then(Value::as_array);
    let height_of =
        |row: &Value| Some((row.get("txid")?.as_str()?.to_owned(), row.pointer("/status/height")?.as_u64()?));
    let heights: HashMap<String, u64> = rows.into_iter().flatten().filter_map(height_of).collect();
    // Half of what is left: the answer still has to be written.
    let (made, stopped) = ctx.work.part(2, || Prover::new(view).all(&named, &heights));
    ctx.work.poll()?;
    match (made, stopped) {
        (_, Some(stopped)) if is_of_time(&stopped) => Ok(Proving::Unavailable(TIME)),
        (_, Some(_)) => Ok(Proving::Unavailable("work_budget")),
        (Err(Failed::Raw(reason)), None) => Ok(Proving::Unavailable(reason)),
        (Err(Failed::Other(error)), None) => Err(error),
        (Ok(proofs), None) => {
            let has = |txid: &&String| !proofs.transactions.iter().any(|proof| proof.txid == **txid);
            let omitted = named.iter().filter(has).cloned().collect();
            Ok(Proving::Made(proofs, omitted))
        }
    }
}

/// Why there are no proofs.
enum Failed {
    /// Raw bytes are missing, for this reason.
    Raw(&'static str),
    Other(ApiError),
}

impl From<ApiError> for Failed {
    fn from(error: ApiError) -> Self {
        Failed::Other(error)
    }
}

impl From<ReadError> for Failed {
    fn from(error: ReadError) -> Self {
        Failed::Other(error.into())
    }
}

struct BlockTxs {
    header: HeaderRow,
    txids: Vec<[u8; 32]>,
}

struct Prover<'v> {
    view: &'v View<'v>,
    blocks: HashMap<Height, BlockTxs>,
    proofs: Proofs,
    bytes: usize,
}

impl<'v> Prover<'v> {
    fn new(view: &'v View<'v>) -> Self {
        Prover { view, blocks: HashMap::new(), proofs: Proofs::default(), bytes: 0 }
    }

    fn all(mut self, named: &[String], heights: &HashMap<String, u64>) -> Result<Proofs, Failed> {
        for txid in named {
            if self.proofs.transactions.len() == MAX_PROVEN {
                break;
            }
            let Ok(id) = txid.parse::<Txid>() else { continue };
            // A row may be about the older of two transactions with one id; the newer one is found here.
            let Some(tx) = self.view.transactions().by_txid(&id)? else { continue };
            if heights.get(txid).is_none_or(|height| *height == u64::from(tx.height)) {
                self.add(&tx)?;
            }
        }
        Ok(self.proofs)
    }

    /// Adds the proof of a transaction, unless it is too large.
    fn add(&mut self, tx: &StoredTx) -> Result<(), Failed> {
        let bare = self.bare(tx)?;
        if bare.len() == AMBIGUOUS {
            return Ok(());
        }
        let mut raw = BTreeMap::from([(tx.txid().to_string(), hex::encode(bare))]);
        let funders: Vec<_> = match tx.is_coinbase() {
            true => Vec::new(),
            false => self.view.transactions().inputs(tx)?.iter().map(|coin| coin.outpoint.tx_num).collect(),
        };
        if funders.len() > MAX_FUNDERS {
            return Ok(());
        }
        for number in funders {
            let funder = self.view.transactions().get(number)?;
            let funder = funder.ok_or_else(|| lacks::<BlockLog>(format!("transaction {}", number.0)))?;
            let txid = funder.txid().to_string();
            if !raw.contains_key(&txid) && !self.proofs.raw.contains_key(&txid) {
                let bytes = self.bare(&funder)?;
                raw.insert(txid, hex::encode(bytes));
            }
            if self.bytes + raw.values().map(String::len).sum::<usize>() > MAX_BYTES {
                return Ok(());
            }
        }
        let block = self.block(tx.height)?;
        let branch = branch(&block.txids, tx.index as usize);
        let known = self.proofs.blocks.iter().any(|block| block.height == tx.height);
        let new_block = if known { None } else { Some(self.block_proof(tx.height, &mut raw)?) };
        raw.retain(|txid, _| !self.proofs.raw.contains_key(txid));
        let of_branches = 2 * branch.len() + new_block.as_ref().map_or(0, |block| 2 * block.coinbase_branch.len() + 6);
        // A hash in its list, and the names around the texts.
        let bytes = self.bytes + raw.values().map(|raw| raw.len() + 70).sum::<usize>() + of_branches * 67 + 200;
        if bytes > MAX_BYTES {
            return Ok(());
        }
        self.bytes = bytes;
        self.proofs.raw.append(&mut raw);
        self.proofs.blocks.extend(new_block);
        self.proofs.transactions.push(TxProof {
            txid: tx.txid().to_string(),
            height: tx.height,
            position: tx.index,
            branch,
        });
        Ok(())
    }

    /// Bytes of a transaction without its witnesses.
    fn bare(&self, tx: &StoredTx) -> Result<Vec<u8>, Failed> {
        let header = self.view.header(tx.height)?.ok_or_else(ApiError::internal)?;
        let (whole, _) = raw_tx(self.view, tx, header.position).map_err(Failed::Raw)?;
        let bare = |input: TxIn| TxIn { witness: Default::default(), ..input };
        Ok(serialize(&Transaction { input: whole.input.into_iter().map(bare).collect(), ..whole }))
    }

    fn block(&mut self, height: Height) -> Result<&BlockTxs, Failed> {
        if !self.blocks.contains_key(&height) {
            let header = self.view.header(height)?.ok_or_else(ApiError::internal)?;
            let txs = self.view.transactions().brief(height, 0, header.tx_count)?;
            let txids = txs.iter().map(|tx| tx.txid.0).collect();
            self.blocks.insert(height, BlockTxs { header, txids });
        }
        Ok(self.blocks.get(&height).ok_or_else(ApiError::internal)?)
    }

    fn block_proof(&mut self, height: Height, raw: &mut BTreeMap<String, String>) -> Result<BlockProof, Failed> {
        let BlockTxs { header, txids } = self.block(height)?;
        let coinbase = Txid(txids.first().copied().ok_or_else(ApiError::internal)?).to_string();
        let (first, coinbase_branch) = (header.first_tx, branch(txids, 0));
        let proof = BlockProof {
            height,
            hash: header.hash.to_string(),
            header: hex::encode(header.header),
            coinbase: coinbase.clone(),
            coinbase_branch,
        };
        if !raw.contains_key(&coinbase) && !self.proofs.raw.contains_key(&coinbase) {
            let tx = self.view.transactions().get(first)?.ok_or_else(ApiError::internal)?;
            let bytes = self.bare(&tx)?;
            raw.insert(coinbase, hex::encode(bytes));
        }
        Ok(proof)
    }
}

/// The Merkle branch of the leaf at a position: the other node of each level, as hashes are shown.
fn branch(leaves: &[[u8; 32]], position: usize) -> Vec<String> {
    let (mut level, mut at, mut branch) = (leaves.to_vec(), position, Vec::new());
    while level.len() > 1 {
        let other = level.get(at ^ 1).or(level.get(at)).copied().unwrap_or_default();
        branch.push(Txid(other).to_string());
        level = level
            .chunks(2)
            .map(|pair| {
                let mut engine = sha256d::Hash::engine();
                // The last node of a level is paired with itself.
                pair.iter().cycle().take(2).for_each(|node| engine.input(node));
                sha256d::Hash::from_engine(engine).to_byte_array()
            })
            .collect();
        at /= 2;
    }
    branch
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_lead_to_the_root() {
        let pair = |left: [u8; 32], right: [u8; 32]| sha256d::Hash::hash(&[left, right].concat()).to_byte_array();
        let [a, b, c] = [1, 2, 3].map(|byte| [byte; 32]);
        let show = |hash: [u8; 32]| Txid(hash).to_string();
        assert_eq!(branch(&[a], 0), Vec::<String>::new());
        assert_eq!(branch(&[a, b, c], 1), [show(a), show(pair(c, c))]);
        assert_eq!(branch(&[a, b, c], 2), [show(c), show(pair(a, b))]);
    }
}
