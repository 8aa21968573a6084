//! Blocks with what the index knows besides: a list of mempool.space.

use axum::{
    Router,
    extract::{Path, State},
    http::request::Parts,
    routing::get,
};
use cairn_chain::Pinned;
use cairn_http::Cost;
use cairn_model::Height;
use cairn_tables::headers::HeaderRow;
use serde::Serialize;

use crate::{
    answer::{Age, Answer, Refusal},
    block_json::BlockJson,
    blocks::{height_of, lists, rows_down_from},
    params,
    state::Esplora,
};

/// Blocks of a list.
const BLOCKS: Height = 15;

/// The routes of blocks with more fields.
pub(crate) fn routes() -> Router<Esplora> {
    lists("/v1/blocks", blocks).route("/v1/block/{hash}", get(block))
}

/// A block with more fields.
#[derive(Debug, Serialize)]
pub(crate) struct FullBlock {
    #[serde(flatten)]
    block: BlockJson,
    extras: Extras,
}

/// Further data of the index about a block.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Extras {
    total_fees: u64,
    /// Without the coinbase; 0 in a block that has nothing else.
    avg_fee: u64,
    /// Outputs of the coinbase.
    reward: u64,
    /// Inputs, without the coinbase's.
    total_inputs: u32,
    total_outputs: u32,
    /// Sum of the outputs, without the coinbase's.
    total_output_amt: u64,
    avg_tx_size: f64,
    /// The coinbase's scriptSig.
    coinbase_raw: String,
    header: String,
}

impl FullBlock {
    pub(crate) fn new(at: &Pinned<'_>, height: Height, row: &HeaderRow) -> Self {
        let extras = Extras {
            total_fees: row.fees,
            avg_fee: row.fees.checked_div(u64::from(row.tx_count).saturating_sub(1)).unwrap_or(0),
            reward: row.coinbase_sats,
            total_inputs: row.input_count,
            total_outputs: row.output_count,
            total_output_amt: row.output_sats.saturating_sub(row.coinbase_sats),
            avg_tx_size: f64::from(row.size) / f64::from(row.tx_count.max(1)),
            coinbase_raw: hex::encode(&row.coinbase_script),
            header: hex::encode(row.header),
        };
        FullBlock { block: BlockJson::new(at, height, row), extras }
    }
}

fn blocks(at: &Pinned<'_>, start: Option<u64>) -> Result<Answer, Refusal> {
    // Heights above the tip stand for the tip.
    let start = start.map(|start| start.min(at.view.tip().height.into()));
    let rows = rows_down_from(at, start, BLOCKS)?;
    let blocks: Vec<FullBlock> = rows.iter().map(|(height, row)| FullBlock::new(at, *height, row)).collect();
    Answer::json(&blocks, Age::Short)
}

async fn block(State(esplora): State<Esplora>, Path(hash): Path<String>, from: Parts) -> Result<Answer, Refusal> {
    let hash = params::block_hash(&hash)?;
    esplora
        .read(Cost::Light, &from, move |at, _| {
            let height = height_of(at, &hash)?;
            Answer::json(&FullBlock::new(at, height, &at.header(height)?), Age::Short)
        })
        .await
}
