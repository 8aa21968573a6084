//! Proofs of transactions in a pack: raw bytes, Merkle branches and headers. They need nothing else.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::{
    BlockHash, Transaction, Txid,
    block::Header,
    consensus::deserialize,
    hashes::{Hash, HashEngine, sha256d},
};
use cairn_model::{Height, Network};
use serde_json::{Map, Value};

use super::{headers::HeaderChain, pack::BadPack, verify::hexadecimal};
use crate::{Subject, parse_address, script_sha256};

/// Bytes of a transaction that could be a node of a Merkle tree: it proves nothing.
const AMBIGUOUS: usize = 64;
/// Longest branch: a block has fewer than 2^32 transactions.
const MAX_BRANCH: usize = 32;
/// Most transactions whose proofs a pack has.
pub const MAX_PROVEN: usize = 25;

/// Proofs that hold.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Proven {
    /// Transactions that are in their blocks.
    pub txids: Vec<String>,
    /// Rows of the section of transactions whose amounts follow from raw bytes.
    pub rows: Vec<String>,
    /// Transactions that the pack names, without a proof.
    pub omitted: Vec<String>,
}

/// The txids that the sections of a pack name, in their order, each once.
#[must_use]
pub fn named_txids(sections: &Value) -> Vec<String> {
    let (mut all, mut seen) = (Vec::new(), BTreeSet::new());
    find_txids(sections, &mut |txid| {
        if seen.insert(txid.to_owned()) {
            all.push(txid.to_owned());
        }
    });
    all
}

fn find_txids(value: &Value, found: &mut impl FnMut(&str)) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match (name.as_str(), value) {
                    ("txid", Value::String(txid)) => found(txid),
                    ("txids", Value::Array(txids)) => txids.iter().filter_map(Value::as_str).for_each(&mut *found),
                    (_, value) => find_txids(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| find_txids(item, found)),
        _ => {}
    }
}

/// The root of a Merkle tree above a leaf; `None` if the branch cannot be one of a tree.
fn root(leaf: [u8; 32], position: u64, branch: &[[u8; 32]]) -> Option<[u8; 32]> {
    if branch.len() > MAX_BRANCH || position >> branch.len() != 0 {
        return None;
    }
    let mut at = leaf;
    for (level, other) in branch.iter().enumerate() {
        let is_right = position >> level & 1 == 1;
        // The last node of a level is paired with itself, always as the left one.
        if is_right && *other == at {
            return None;
        }
        let (left, right) = if is_right { (other, &at) } else { (&at, other) };
        let mut engine = sha256d::Hash::engine();
        engine.input(left);
        engine.input(right);
        at = sha256d::Hash::from_engine(engine).to_byte_array();
    }
    Some(at)
}

/// A place in a pack from which texts are read.
struct Place<'p> {
    members: &'p Map<String, Value>,
    place: String,
}

impl<'p> Place<'p> {
    /// The object at a place, which has exactly these members.
    fn of(value: &'p Value, place: String, names: &[&str]) -> Result<Self, BadPack> {
        let members = value.as_object().ok_or_else(|| BadPack::at(&place, "is not an object"))?;
        match members.keys().find(|name| !names.contains(&name.as_str())) {
            Some(other) => Err(BadPack::at(format!("{place}/{other}"), "is not a member of a proof")),
            None => Ok(Place { members, place }),
        }
    }

    fn bad(&self, name: &str, problem: &str) -> BadPack {
        BadPack::at(format!("{}/{name}", self.place), problem)
    }

    fn text(&self, name: &str) -> Result<&'p str, BadPack> {
        self.members.get(name).and_then(Value::as_str).ok_or_else(|| self.bad(name, "is not a text"))
    }

    fn number(&self, name: &str) -> Result<u32, BadPack> {
        let number = self.members.get(name).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
        number.ok_or_else(|| self.bad(name, "is not a whole number"))
    }

    fn list(&self, name: &str) -> Result<&'p Vec<Value>, BadPack> {
        self.members.get(name).and_then(Value::as_array).ok_or_else(|| self.bad(name, "is not a list"))
    }

    /// Hashes as they are shown, with the bytes reversed.
    fn branch(&self, name: &str) -> Result<Vec<[u8; 32]>, BadPack> {
        let hashes = self.list(name)?.iter().map(|hash| hash.as_str().and_then(shown_hash));
        hashes.collect::<Option<_>>().ok_or_else(|| self.bad(name, "has an item that is not a hash"))
    }

    fn hash(&self, name: &str) -> Result<[u8; 32], BadPack> {
        shown_hash(self.text(name)?).ok_or_else(|| self.bad(name, "is not a hash"))
    }
}

fn shown_hash(text: &str) -> Option<[u8; 32]> {
    let mut bytes: [u8; 32] = hexadecimal(text)?.try_into().ok()?;
    bytes.reverse();
    Some(bytes)
}

/// Raw transactions of the proofs, by txid. Which of them are needed is noted.
struct RawTxs {
    txs: BTreeMap<[u8; 32], (Transaction, usize, String)>,
    used: BTreeSet<[u8; 32]>,
}

impl RawTxs {
    fn read(raw: &Value) -> Result<Self, BadPack> {
        let members = raw.as_object().ok_or_else(|| BadPack::at("/proofs/raw", "is not an object"))?;
        let mut txs = BTreeMap::new();
        for (name, raw) in members {
            let place = format!("/proofs/raw/{name}");
            let bytes = raw.as_str().and_then(hexadecimal);
            let bytes = bytes.ok_or_else(|| BadPack::at(&place, "is not small hexadecimal digits"))?;
            let tx: Transaction = deserialize(&bytes).map_err(|_| BadPack::at(&place, "is not a transaction"))?;
            // Bytes of witnesses are not part of the txid: nothing would check them.
            let is_bare = tx.input.iter().all(|input| input.witness.is_empty());
            if !is_bare || tx.compute_txid().to_string() != *name || sha256d::Hash::hash(&bytes).to_string() != *name {
                return Err(BadPack::at(&place, "is not the transaction of this id without its witnesses"));
            }
            txs.insert(tx.compute_txid().to_byte_array(), (tx, bytes.len(), place));
        }
        Ok(RawTxs { txs, used: BTreeSet::new() })
    }

    fn get(&mut self, txid: &[u8; 32]) -> Option<(&Transaction, usize)> {
        self.used.insert(*txid);
        self.txs.get(txid).map(|(tx, bytes, _)| (tx, *bytes))
    }
}

struct Block {
    height: Height,
    hash: BlockHash,
    root: [u8; 32],
    depth: usize,
}

/// Checks the proofs of a pack, whose digest has been checked. With headers, their blocks must be on that chain.
pub fn check_proofs(pack: &Value, chain: Option<&HeaderChain>) -> Result<Option<Proven>, BadPack> {
    let named = named_txids(pack.get("sections").unwrap_or(&Value::Null));
    let omitted = pack.get("proofs_omitted").filter(|omitted| !omitted.is_null());
    let Some(proofs) = pack.get("proofs").filter(|proofs| !proofs.is_null()) else {
        return match omitted {
            Some(_) => Err(BadPack::at("/proofs_omitted", "is there, but no proofs are")),
            None => Ok(None),
        };
    };
    let place = Place::of(proofs, "/proofs".to_owned(), &["blocks", "transactions", "raw"])?;
    let mut raw = RawTxs::read(proofs.get("raw").unwrap_or(&Value::Null))?;
    let blocks = blocks(&place, &mut raw, chain)?;
    let (mut proven, mut used) = (Proven::default(), BTreeSet::new());
    for (at, proof) in place.list("transactions")?.iter().enumerate() {
        let proof = Place::of(proof, format!("/proofs/transactions/{at}"), &["txid", "height", "position", "branch"])?;
        let (txid, height) = (proof.text("txid")?, proof.number("height")?);
        if !named.iter().any(|name| name == txid) || proven.txids.iter().any(|known| known == txid) {
            return Err(proof.bad("txid", "is not a transaction that the sections name, or is proven twice"));
        }
        let block = blocks.get(&height).ok_or_else(|| proof.bad("height", "is not that of a block of the proofs"))?;
        used.insert(height);
        in_block(&proof, block, &mut raw)?;
        proven.txids.push(txid.to_owned());
    }
    if let Some(height) = blocks.keys().find(|height| !used.contains(*height)) {
        return Err(BadPack::at("/proofs/blocks", format!("has block {height}, which no transaction is in")));
    }
    rows(pack, &blocks, place.list("transactions")?, &mut raw, &mut proven)?;
    if let Some((_, (_, _, place))) = raw.txs.iter().find(|(txid, _)| !raw.used.contains(*txid)) {
        return Err(BadPack::at(place, "belongs to no proof"));
    }
    let expected: BTreeSet<&str> =
        named.iter().filter(|name| !proven.txids.contains(name)).map(String::as_str).collect();
    let stated = omitted.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let texts: BTreeSet<&str> = stated.iter().filter_map(Value::as_str).collect();
    if stated.len() != expected.len() || texts != expected {
        return Err(BadPack::at("/proofs_omitted", "does not name the transactions without a proof, each once"));
    }
    proven.omitted = expected.into_iter().map(str::to_owned).collect();
    Ok(Some(proven))
}

fn blocks(
    proofs: &Place<'_>,
    raw: &mut RawTxs,
    chain: Option<&HeaderChain>,
) -> Result<BTreeMap<Height, Block>, BadPack> {
    let mut all = BTreeMap::new();
    for (at, block) in proofs.list("blocks")?.iter().enumerate() {
        let names = ["height", "hash", "header", "coinbase", "coinbase_branch"];
        let of = Place::of(block, format!("/proofs/blocks/{at}"), &names)?;
        let (height, branch) = (of.number("height")?, of.branch("coinbase_branch")?);
        let header = hexadecimal(of.text("header")?).and_then(|bytes| deserialize::<Header>(&bytes).ok());
        let header = header.ok_or_else(|| of.bad("header", "is not a header of 80 bytes"))?;
        if header.block_hash().to_string() != of.text("hash")? {
            return Err(of.bad("hash", "is not the hash of the header"));
        }
        if !header.target().is_met_by(header.block_hash()) {
            return Err(of.bad("header", "does not meet its own target"));
        }
        match chain.map(|chain| chain.hash_at(height)) {
            Some(None) => return Err(of.bad("height", "is not in the file of headers")),
            Some(Some(hash)) if hash != header.block_hash() => {
                return Err(of.bad("hash", "is not that of the block at this height in the file of headers"));
            }
            _ => {}
        }
        let coinbase = of.hash("coinbase")?;
        let (tx, bytes) = raw.get(&coinbase).ok_or_else(|| of.bad("coinbase", "has no raw bytes"))?;
        if !tx.is_coinbase() || bytes == AMBIGUOUS {
            return Err(of.bad("coinbase", "is not a coinbase, or has 64 bytes, as a node of the tree has"));
        }
        let root = header.merkle_root.to_byte_array();
        if self::root(coinbase, 0, &branch) != Some(root) {
            return Err(of.bad("coinbase_branch", "does not lead to the root in the header"));
        }
        let block = Block { height, hash: header.block_hash(), root, depth: branch.len() };
        if all.insert(height, block).is_some() {
            return Err(of.bad("height", "is that of an earlier item"));
        }
    }
    Ok(all)
}

/// Checks that a transaction is in its block, and that all that fund it are there.
fn in_block(proof: &Place<'_>, block: &Block, raw: &mut RawTxs) -> Result<(), BadPack> {
    let (txid, branch) = (proof.hash("txid")?, proof.branch("branch")?);
    if branch.len() != block.depth {
        return Err(proof.bad("branch", "has another length than that of the coinbase: its leaf is not a transaction"));
    }
    if root(txid, proof.number("position")?.into(), &branch) != Some(block.root) {
        return Err(proof.bad("branch", "does not lead to the root in the header"));
    }
    let (tx, bytes) = raw.get(&txid).ok_or_else(|| proof.bad("txid", "has no raw bytes"))?;
    if bytes == AMBIGUOUS {
        return Err(proof.bad("txid", "has 64 bytes, as a node of the tree has: that proves nothing"));
    }
    if tx.is_coinbase() {
        return Ok(());
    }
    let funders: Vec<Txid> = tx.input.iter().map(|input| input.previous_output.txid).collect();
    for funder in funders {
        raw.get(&funder.to_byte_array())
            .ok_or_else(|| proof.bad("txid", &format!("spends from {funder}, whose raw bytes are missing")))?;
    }
    Ok(())
}

#[derive(PartialEq, Eq, Debug)]
struct Amounts {
    received: u64,
    sent: u64,
    fee: u64,
}

/// Compares the rows of the section of transactions with raw bytes.
fn rows(
    pack: &Value,
    blocks: &BTreeMap<Height, Block>,
    proofs: &[Value],
    raw: &mut RawTxs,
    proven: &mut Proven,
) -> Result<(), BadPack> {
    let network = pack.get("network").and_then(Value::as_str);
    let network = network.and_then(|name| Network::ALL.into_iter().find(|network| network.name() == name));
    let network = network.ok_or_else(|| BadPack::at("/network", "is not a network"))?;
    let address = pack.get("address").and_then(Value::as_str).unwrap_or_default();
    let subject = parse_address(address, Some(network)).map_err(|error| BadPack::at("/address", error.to_string()))?;
    let rows = pack.pointer("/sections/transactions/data/transactions").and_then(Value::as_array);
    for (at, row) in rows.into_iter().flatten().enumerate() {
        let place = format!("/sections/transactions/data/transactions/{at}");
        let Some(txid) = row.get("txid").and_then(Value::as_str) else { continue };
        let Some(proof) = proofs.iter().find(|proof| proof.get("txid") == row.get("txid")) else { continue };
        let height = proof.get("height").and_then(Value::as_u64);
        let block = height.and_then(|height| blocks.get(&u32::try_from(height).ok()?));
        let block = block.ok_or_else(|| BadPack::at(&place, "is proven by no block"))?;
        let stated = (row.pointer("/status/height").and_then(Value::as_u64), row.pointer("/status/hash"));
        if stated != (Some(block.height.into()), Some(&Value::from(block.hash.to_string()))) {
            return Err(BadPack::at(format!("{place}/status"), "names another block than the proof"));
        }
        let amounts = shown_hash(txid).and_then(|txid| amounts(raw, &txid, &subject));
        let amounts = amounts.ok_or_else(|| BadPack::at(&place, "has inputs that its funding transactions lack"))?;
        for (name, amount) in
            [("received_sats", amounts.received), ("sent_sats", amounts.sent), ("fee_sats", amounts.fee)]
        {
            if row.get(name).and_then(Value::as_u64) != Some(amount) {
                let problem = format!("is {}, but the raw transactions give {amount}", row[name]);
                return Err(BadPack::at(format!("{place}/{name}"), problem));
            }
        }
        proven.rows.push(txid.to_owned());
    }
    Ok(())
}

fn sum(mut of: impl Iterator<Item = u64>) -> Option<u64> {
    of.try_fold(0u64, |sum, sats| sum.checked_add(sats))
}

/// The amounts of a transaction that follow from it and those that fund it.
fn amounts(raw: &mut RawTxs, txid: &[u8; 32], subject: &Subject) -> Option<Amounts> {
    let is_own = |script: &bitcoin::Script| match subject {
        Subject::Script(own) => own == script.as_bytes(),
        Subject::ScriptHash(own) => *own == script_sha256(script.as_bytes()),
    };
    let tx = raw.get(txid)?.0.clone();
    let paid = sum(tx.output.iter().map(|output| output.value.to_sat()))?;
    let own = tx.output.iter().filter(|output| is_own(&output.script_pubkey));
    let received = sum(own.map(|output| output.value.to_sat()))?;
    if tx.is_coinbase() {
        return Some(Amounts { received, sent: 0, fee: 0 });
    }
    let (mut all, mut sent) = (0u64, 0u64);
    for input in &tx.input {
        let (funder, _) = raw.get(&input.previous_output.txid.to_byte_array())?;
        let coin = funder.output.get(usize::try_from(input.previous_output.vout).ok()?)?;
        all = all.checked_add(coin.value.to_sat())?;
        if is_own(&coin.script_pubkey) {
            sent = sent.checked_add(coin.value.to_sat())?;
        }
    }
    Some(Amounts { received, sent, fee: all.checked_sub(paid)? })
}
