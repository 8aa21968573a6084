//! `GET /v1/wallets/{address}/transactions`.

use std::collections::HashMap;

use axum::http::StatusCode;
use cairn_domain::{Direction, Effect, direction};
use cairn_reader::View;
use cairn_tables::history::Entry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Wallet;
use crate::{
    context::{BlockRef, Ctx, block_ref, confirmations},
    cursor::Cursor,
    error::{ApiError, Location},
    identifiers::AddressParam,
    operation::{Detail, Info, Operation},
    values::Btc,
};

/// The movements of a script.
pub(crate) struct Transactions;

/// Largest offset; a cursor reaches further.
const MAX_OFFSET: u64 = 10_000;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TransactionsInput {
    address: AddressParam,
    /// Transactions of a page.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100))]
    limit: u32,
    /// How many of the newest to leave out.
    #[serde(default)]
    #[schemars(range(min = 0, max = 10_000))]
    offset: u32,
    /// `next_cursor` of the page before; instead of `offset`, and without its bound.
    #[schemars(length(min = 1, max = 256))]
    cursor: Option<String>,
    /// `compact` leaves out explanatory and nested members.
    #[serde(default)]
    #[allow(dead_code, reason = "applied to the answer of any operation that takes it")]
    view: Detail,
}

fn default_limit() -> u32 {
    25
}

/// A page of transactions.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TransactionsOutput {
    /// As it was asked for.
    address: String,
    /// All confirmed transactions of the script.
    total: u64,
    limit: u32,
    /// How many newer ones were left out.
    offset: u64,
    /// Offset of the next page; null at the end, and beyond the largest offset.
    next_offset: Option<u64>,
    /// Cursor of the next page; null at the end.
    next_cursor: Option<String>,
    /// Newest first.
    transactions: Vec<Movement>,
}

/// What a transaction did to the script.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Movement {
    txid: String,
    direction: Way,
    /// Received less sent.
    net_sats: i64,
    net_btc: Btc,
    /// Outputs to the script.
    received_sats: u64,
    /// Inputs from the script.
    sent_sats: u64,
    /// Fee of the whole transaction, whoever paid it; 0 for a coinbase.
    fee_sats: u64,
    /// Labels of the other side; empty where no labels are loaded.
    counterparties: Vec<String>,
    status: MovementStatus,
    /// Time of the block's header.
    time: String,
    time_unix: u32,
    /// When it was first seen unconfirmed; null where no mempool was watched.
    mempool_first_seen: Option<String>,
}

/// Way of the value, seen from the script.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Way {
    In,
    Out,
    #[serde(rename = "self")]
    Own,
}

/// How certain a transaction is.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MovementStatus {
    state: &'static str,
    height: u32,
    hash: String,
    confirmations: u32,
}

impl Operation for Transactions {
    const INFO: Info = Info {
        summary: "Transactions of an address, newest first",
        description: "What each transaction received and sent, seen from one script, with direction, fee and block. \
            Any page takes the same small number of reads besides its own rows. Pages by `offset` up to 10 000, by \
            `cursor` without end. Later pages of addresses that are not showcase addresses need a wallet session.",
        conditional: true,
        compact: &[
            "transactions.counterparties",
            "transactions.status.hash",
            "transactions.mempool_first_seen",
            "transactions.time",
            "transactions.net_btc",
        ],
        errors: &[(402, "wallet_session_required"), (409, "cursor_expired")],
        ..Info::get("wallet_transactions", "/v1/wallets/{address}/transactions", "wallets")
    };
    type Input = TransactionsInput;
    type Output = TransactionsOutput;

    fn run(ctx: &Ctx<'_>, input: TransactionsInput) -> Result<TransactionsOutput, ApiError> {
        let view = ctx.view()?;
        if input.cursor.is_some() && input.offset > 0 {
            return Err(ApiError::validation(Location::Query, "cursor", "cannot stand together with an offset"));
        }
        let later_page = input.cursor.is_some() || input.offset > 0;
        let wallet = Wallet::find(view, input.address)?;
        if later_page && ctx.config.gates_enabled && !ctx.has_session && !wallet.is_showcase(ctx.config) {
            return Err(session_required(&ctx.config.base_url));
        }
        ctx.warn("no_mempool_source", "no mempool is watched: only confirmed transactions are listed");
        ctx.warn("no_label_source", "no labels are loaded: counterparties are unknown");
        let filters: [&[u8]; 2] = [b"wallet_transactions", &wallet.script_hash];
        let total = wallet.found.map_or(0, |f| f.totals.tx_count);
        // A cursor counts from the oldest, so that new blocks do not move its page.
        let skip = match &input.cursor {
            Some(token) => total.saturating_sub(Cursor::read(token, view, &filters)?.position),
            None => u64::from(input.offset),
        };
        let entries = match &wallet.found {
            Some(found) => view.history(found, skip, input.limit as usize)?,
            None => Vec::new(),
        };
        let next = skip.saturating_add(entries.len() as u64);
        let more = next < total;
        Ok(TransactionsOutput {
            address: wallet.address,
            total,
            limit: input.limit,
            offset: skip,
            next_offset: (more && next <= MAX_OFFSET).then_some(next),
            next_cursor: more.then(|| Cursor { position: total - next }.token(view, &filters)),
            transactions: movements(view, &entries)?,
        })
    }
}

fn movements(view: &View<'_>, entries: &[Entry]) -> Result<Vec<Movement>, ApiError> {
    let mut blocks: HashMap<u32, BlockRef> = HashMap::new();
    let mut movements = Vec::with_capacity(entries.len());
    for entry in entries {
        let tx = view.tx(entry.tx_num)?.ok_or_else(|| {
            tracing::error!(tx_num = entry.tx_num.0, "a history names a transaction that is not there");
            ApiError::internal()
        })?;
        let block = match blocks.get(&tx.height) {
            Some(block) => block.clone(),
            None => blocks.entry(tx.height).or_insert(block_ref(view, tx.height)?).clone(),
        };
        let effect = Effect {
            received: entry.received,
            sent: entry.sent,
            all_inputs: tx.input_sats(),
            all_outputs: tx.output_sats(),
        };
        movements.push(Movement {
            txid: tx.txid().to_string(),
            direction: match direction(&effect) {
                Direction::In => Way::In,
                Direction::Out => Way::Out,
                Direction::OwnTransfer => Way::Own,
            },
            net_sats: effect.net(),
            net_btc: Btc(effect.net()),
            received_sats: entry.received,
            sent_sats: entry.sent,
            fee_sats: tx.fee_sats(),
            counterparties: Vec::new(),
            status: MovementStatus {
                state: "confirmed",
                height: block.height,
                hash: block.hash,
                confirmations: confirmations(view.tip(), block.height),
            },
            time: block.time,
            time_unix: block.time_unix,
            mempool_first_seen: None,
        });
    }
    Ok(movements)
}

/// 402: the gate of later pages.
fn session_required(base_url: &str) -> ApiError {
    let how = "Send `Authorization: Bearer <token>` of a wallet session, or the key of a bridge pass in \
               `X-WR-API-Key`. Sessions are not sold while the beta's buy path is paused; the first page and the \
               showcase addresses are free.";
    let bridge = json!({
        "scheme": "api_key_bridge",
        "plan_id": "wallet-monthly",
        "header": "X-WR-API-Key",
        "currency": "BTC",
        "checkout_url": null,
        "catalog_url": null,
        "description": "31-day pass; the checkout is paused during the public beta",
        "bridge_access": true,
        "requested_capability": "wallet_transactions",
        "future_native_l402_price_sats": null,
        "future_native_price_unit": null,
        "pricing_status": "paused_during_public_beta",
    });
    let detail = "transactions after the first page of an address that is no showcase address need a wallet session";
    ApiError::new(StatusCode::PAYMENT_REQUIRED, "wallet_session_required", detail)
        .with("requested_capability", "wallet_transactions")
        .with("payment_options", json!({"bridge": bridge.clone()}))
        .with("payment_required", bridge)
        .with("how_to_access", how)
        .with("getting_started_url", format!("{base_url}/"))
}
