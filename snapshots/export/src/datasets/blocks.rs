//! `blocks`.

use cairn_model::Block;

use crate::{
    Dataset, ExportError,
    columns::{Kind, column},
    dataset::{Scope, Source},
    rows::Rows,
};

pub(super) const BLOCKS: Dataset = Dataset {
    name: "blocks",
    about: "Blocks of the active chain.",
    sorted_by: &["height"],
    columns: &[
        column("height", Kind::Int, "Height; the genesis block has 0."),
        column("hash", Kind::Hash, "Hash of the header."),
        column("previous_hash", Kind::Hash, "Hash of the previous block."),
        column("time", Kind::Time, "Time in the header."),
        column(
            "monotone_time",
            Kind::Time,
            "Latest header time up to and including this block; days and ages are based on it.",
        ),
        column("day", Kind::Day, "Day of the monotone time."),
        column("version", Kind::Long, "Version field of the header, as an unsigned number."),
        column("merkle_root", Kind::Hash, "Root of the Merkle tree of transactions."),
        column("bits", Kind::Long, "Compact form of the target."),
        column("nonce", Kind::Long, "Nonce of the header."),
        column("first_tx_num", Kind::Long, "`tx_num` of the coinbase; those of the other transactions follow."),
        column("transactions", Kind::Int, "Number of transactions, including the coinbase."),
        column("inputs", Kind::Int, "Number of inputs, excluding the one of the coinbase."),
        column("outputs", Kind::Int, "Number of outputs."),
        column("size", Kind::Int, "Serialized size in bytes, including witnesses."),
        column("weight", Kind::Int, "Weight units (BIP 141)."),
        column("subsidy", Kind::Sats, "New coins that the coinbase may create, in addition to the fees."),
        column("fee", Kind::Sats, "Fees of all transactions."),
        column(
            "coinbase",
            Kind::Sats,
            "Value of the coinbase's outputs; less than subsidy plus fees if the coinbase claims less.",
        ),
        column("output", Kind::Sats, "Value of all outputs."),
        column("overwritten_coins", Kind::Int, "Coins destroyed by a later coinbase with the same txid (BIP 30)."),
        column("overwritten", Kind::Sats, "Value of these coins."),
        column("coinbase_script", Kind::Bytes, "scriptSig of the coinbase; pools put their tags there."),
    ],
    source: Source::Blocks(rows),
};

fn word(header: &[u8; 80], at: usize) -> u32 {
    header.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn rows(scope: &mut Scope<'_>, block: &Block, rows: &mut Rows) -> Result<(), ExportError> {
    let header = &block.header;
    let inputs: u64 = block.inputs.iter().map(|input| input.value).sum();
    let outputs: u64 = block.outputs.iter().map(|output| output.value).sum();
    let coinbase: u64 = block.txs.first().map_or(0, |tx| block.outputs_of(tx).iter().map(|output| output.value).sum());
    let fee = (inputs + coinbase)
        .checked_sub(outputs)
        .ok_or_else(|| ExportError::Contradiction(format!("block {} pays more than it has", block.height)))?;
    rows.number(block.height);
    rows.block_hash(&block.hash);
    rows.block_hash(&block.previous());
    rows.time(block.time());
    rows.time(block.mono_time);
    rows.day_of(block.mono_time);
    rows.number(word(header, 0));
    let mut root: [u8; 32] = std::array::from_fn(|at| header[36 + at]);
    root.reverse();
    rows.bytes(&root);
    rows.number(word(header, 72));
    rows.number(word(header, 76));
    rows.tx(block.first_tx);
    rows.count(block.txs.len());
    rows.count(block.inputs.len());
    rows.count(block.outputs.len());
    rows.number(block.size);
    rows.number(block.weight());
    rows.sats(scope.network.subsidy_sats(block.height));
    rows.sats(fee);
    rows.sats(coinbase);
    rows.sats(outputs);
    rows.count(block.overwritten.len());
    rows.sats(block.overwritten.iter().map(|gone| gone.coin.value).sum());
    rows.bytes(&block.coinbase_script);
    Ok(())
}
