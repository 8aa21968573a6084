//! `GET /v1/wallets/{address}/transactions`.

use cairn_domain::{Direction, Effect, direction, mempool::ScriptEffect, price::price_at};
use cairn_events::Currency;
use cairn_http::{Detail, Location};
use cairn_model::Txid;
use cairn_tables::{block_log::BlockLog, history::HistoryEntry};

use super::{Wallet, counterparties::Counterparties, page::page};
use crate::{
    candles::Candles,
    context::{MempoolView, block_refs, confirmations, first_seen},
    operation::prelude::*,
    parameters::{currency::CurrencyParam, identifier::AddressParam, limit::Limit},
    price_now::why_missing,
    values::{Fiat, PriceNumber, rfc3339_ms},
    vocabulary::{cursor::CursorParam, label::ShortLabel},
};

pub(crate) struct Transactions;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TransactionsInput {
    address: AddressParam,
    /// Transactions per page.
    #[serde(default)]
    limit: Limit<25, 100>,
    /// Number of transactions to skip; the list begins with the unconfirmed ones.
    #[serde(default)]
    #[schemars(range(min = 0, max = 10_000))]
    offset: u32,
    /// `next_cursor` of the previous page. It replaces `offset` and has no maximum.
    cursor: Option<CursorParam>,
    /// Code of the currency of prices and values.
    #[serde(default = "CurrencyParam::usd")]
    currency: CurrencyParam,
    /// `compact` omits explanatory and nested fields.
    #[serde(default)]
    #[allow(dead_code, reason = "applied to the answer of any operation that takes it")]
    view: Detail,
}

const SESSION: &str = "transaction pages after the first need a wallet session or a key, except for showcase addresses";

/// A page of transactions.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TransactionsOutput {
    /// The address as given in the request.
    address: String,
    /// Number of confirmed transactions of the script. The list also contains the unconfirmed ones.
    total: u64,
    /// Number of unconfirmed transactions of the script; null without a mempool.
    unconfirmed_total: Option<u64>,
    /// Why unconfirmed transactions are missing; otherwise null.
    unconfirmed_reason: Option<&'static str>,
    limit: u32,
    /// Code of the currency of prices and values.
    currency: String,
    /// Number of transactions before the page. After a cursor in the unconfirmed part, it is the number at the time of
    /// the cursor.
    offset: u64,
    /// Offset of the next page; null at the end, and above the maximum offset.
    next_offset: Option<u64>,
    /// Cursor of the next page; null at the end.
    next_cursor: Option<String>,
    /// Unconfirmed transactions, the latest first-seen first, then confirmed ones, newest first.
    transactions: Vec<Movement>,
}

/// Effect of a transaction on the script.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Movement {
    txid: String,
    direction: MovementDirection,
    /// Received minus sent.
    net_sats: i64,
    net_btc: Btc,
    /// Net amount at `price`.
    net_value: Option<Fiat>,
    /// Price of one bitcoin: the last one known at the block's time (monotone block time), or at the time when the
    /// transaction was first seen unconfirmed.
    price: Option<PriceNumber>,
    /// Time at which the price was known.
    price_as_of: Option<String>,
    /// Why price and value are null; otherwise null.
    value_reason: Option<&'static str>,
    /// Sum of outputs to the script.
    received_sats: u64,
    /// Sum of inputs from the script.
    sent_sats: u64,
    /// Fee of the whole transaction; 0 for a coinbase.
    fee_sats: u64,
    /// Labels of the senders of an incoming transaction, or of the receivers of an outgoing one; at most 8. Only the
    /// first 64 inputs or outputs are read.
    counterparties: Vec<ShortLabel>,
    status: MovementStatus,
    /// Time of the block's header; null while unconfirmed.
    time: Option<String>,
    time_unix: Option<u32>,
    /// Time at which the transaction was first seen unconfirmed; null if no mempool was watched then, or if the time is
    /// no longer stored.
    mempool_first_seen: Option<String>,
}

/// Direction of the value, relative to the script.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
// Clients know the schema by this name.
#[schemars(rename = "Way")]
pub(crate) enum MovementDirection {
    In,
    Out,
    #[serde(rename = "self")]
    Own,
}

/// Confirmation status of a transaction.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MovementStatus {
    /// `mempool` or `confirmed`.
    state: &'static str,
    /// Height of the block; null while unconfirmed.
    height: Option<u32>,
    /// Hash of the block; null while unconfirmed.
    hash: Option<String>,
    /// Number of confirmations; 0 while unconfirmed.
    confirmations: u32,
}

impl Operation for Transactions {
    const INFO: Info = Info {
        summary: "Transactions of an address, newest first",
        description: "The amounts that each transaction paid to one script and spent from it, with direction, fee and \
            block, the labels of the other side, and the value at the price of that time: first the unconfirmed ones (`status.state: mempool`), the latest first-seen first, then the confirmed \
            ones, newest first. Each page needs the same small number of reads besides its own rows. Page with `offset` \
            up to 10 000, or with `cursor` without limit. An offset counts from the head of the list, which moves with \
            every new transaction. A cursor keeps its position: a transaction that confirms between two pages may \
            appear twice, but is never omitted. After a reorg, an old cursor returns `cursor_expired`. Pages after the \
            first need a wallet session, except for showcase addresses.",
        conditional: true,
        freshness: &[TIP, MEMPOOL, CLAIMS, LABELS],
        compact: &[
            "limit",
            "offset",
            "transactions.direction",
            "transactions.net_btc",
            "currency",
            "transactions.net_value",
            "transactions.price",
            "transactions.price_as_of",
            "transactions.counterparties",
            "transactions.status",
            "transactions.time",
            "transactions.mempool_first_seen",
        ],
        errors: &[ErrorCode::WalletSessionRequired, ErrorCode::CursorExpired],
        tool: Tool::reads(
            "asked for the history of a wallet's incoming and outgoing payments, who sent money to it, or when it was paid",
            "totals and the current balance (wallet_overview), the daily balance (wallet_balance_history), or one known transaction (tx_lookup)",
        ),
        ..and_mempool(index_get("wallet_transactions", "/v1/wallets/{address}/transactions", "wallets"))
    };
    type Input = TransactionsInput;
    type Output = TransactionsOutput;

    fn run(ctx: &Ctx<'_>, input: TransactionsInput) -> Result<TransactionsOutput, ApiError> {
        let view = ctx.view()?;
        if input.cursor.is_some() && input.offset > 0 {
            return Err(ApiError::validation(Location::Query, "cursor", "cannot be combined with offset"));
        }
        let later_page = input.cursor.is_some() || input.offset > 0;
        let wallet = Wallet::find(view, ctx.pool.as_ref().ok(), input.address)?;
        if later_page && !wallet.is_showcase(ctx.chain) {
            ctx.need_session("wallet_transactions", SESSION)?;
        }
        let page = page(ctx, view, &wallet, input.limit.get(), input.offset, input.cursor.as_deref())?;
        let own = std::slice::from_ref(&wallet);
        let transactions = rows(ctx, view, (own, input.currency.0), (&page.unconfirmed, &page.confirmed))?;
        Ok(TransactionsOutput {
            address: wallet.address,
            total: page.confirmed_total,
            unconfirmed_total: page.unconfirmed_total,
            unconfirmed_reason: ctx.pool.as_ref().err().map(|absent| absent.reason()),
            limit: input.limit.get(),
            currency: input.currency.0.to_string(),
            offset: page.offset,
            next_offset: page.next_offset,
            next_cursor: page.next_cursor,
            transactions,
        })
    }
}

/// The rows of a page: unconfirmed transactions, then confirmed ones, with what each did to the wallet.
pub(super) fn rows(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    (own, currency): (&[Wallet], Currency),
    (pending, entries): (&[ScriptEffect], &[HistoryEntry]),
) -> Result<Vec<Movement>, ApiError> {
    let known = ctx.known()?;
    let others =
        TxFacts { counterparties: Counterparties::of(ctx, view, own)?, candles: Candles::new(view, &known), currency };
    let mut rows = Vec::with_capacity(pending.len() + entries.len());
    if let Ok(pool) = &ctx.pool {
        for effect in pending {
            rows.extend(unconfirmed(pool, &others, effect)?);
        }
    }
    confirmed(ctx, view, &others, entries, &mut rows)?;
    Ok(rows)
}

/// The row of a transaction, without the fields of its block.
fn movement(txid: &Txid, effect: &Effect, fee_sats: u64, status: MovementStatus) -> Movement {
    Movement {
        txid: txid.to_string(),
        direction: match direction(effect) {
            Direction::In => MovementDirection::In,
            Direction::Out => MovementDirection::Out,
            Direction::OwnTransfer => MovementDirection::Own,
        },
        net_sats: effect.net(),
        net_btc: Btc(effect.net()),
        net_value: None,
        price: None,
        price_as_of: None,
        value_reason: None,
        received_sats: effect.received,
        sent_sats: effect.sent,
        fee_sats,
        counterparties: Vec::new(),
        status,
        time: None,
        time_unix: None,
        mempool_first_seen: None,
    }
}

/// Facts about the transaction itself, independent of the script.
struct TxFacts<'c> {
    counterparties: Counterparties<'c>,
    candles: Candles<'c>,
    currency: Currency,
}

impl TxFacts<'_> {
    /// Adds the price of a time, and the value at it.
    fn priced(&self, mut row: Movement, time: u32) -> Result<Movement, ApiError> {
        match price_at(&self.candles, self.currency, time)? {
            Err(missing) => row.value_reason = Some(why_missing(missing)),
            Ok(price) => {
                row.net_value = Fiat::of_signed(row.net_sats, price.price);
                row.price = Some(PriceNumber(price.price));
                row.price_as_of = Some(rfc3339(price.as_of));
            }
        }
        Ok(row)
    }
}

fn unconfirmed(
    pool: &MempoolView<'_>,
    others: &TxFacts<'_>,
    effect: &ScriptEffect,
) -> Result<Option<Movement>, ApiError> {
    // A script's list names only existing transactions.
    let Some(tx) = pool.mempool.get(&effect.txid) else { return Ok(None) };
    let effect = Effect {
        received: effect.received_sats,
        sent: effect.sent_sats,
        all_inputs: tx.inputs.iter().map(|input| input.value).sum(),
        all_outputs: tx.outputs.iter().map(|output| output.value).sum(),
    };
    let status = MovementStatus { state: "mempool", height: None, hash: None, confirmations: 0 };
    let first_seen = Some(rfc3339_ms(tx.first_seen_ms));
    let counterparties = others.counterparties.of_unconfirmed(tx, &effect)?;
    let row = movement(&tx.txid, &effect, tx.fee_sats, status);
    let seen = u32::try_from(tx.first_seen_ms / 1_000).unwrap_or(u32::MAX);
    Ok(Some(others.priced(Movement { mempool_first_seen: first_seen, counterparties, ..row }, seen)?))
}

fn confirmed(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    others: &TxFacts<'_>,
    entries: &[HistoryEntry],
    rows: &mut Vec<Movement>,
) -> Result<(), ApiError> {
    // The rows of the page are scattered over the disk: look all of them up at once.
    let numbers: Vec<TxNum> = entries.iter().map(|entry| entry.tx_num).collect();
    view.transactions().fetch(&numbers)?;
    let blocks = block_refs(view, &numbers.iter().filter_map(|number| view.chain().height_of(*number)).collect())?;
    for entry in entries {
        let tx = view.transactions().get(entry.tx_num)?;
        let tx = tx.ok_or_else(|| lacks::<BlockLog>(format!("transaction {}", entry.tx_num.0)))?;
        let block = blocks.get(&tx.height).cloned().ok_or_else(ApiError::internal)?;
        let effect = Effect {
            received: entry.received,
            sent: entry.sent,
            all_inputs: tx.input_sats(),
            all_outputs: tx.output_sats(),
        };
        let status = MovementStatus {
            state: "confirmed",
            height: Some(block.height),
            hash: Some(block.hash),
            confirmations: confirmations(view.tip(), block.height),
        };
        let time = view.chain().get(tx.height).map_or(block.time_unix, |block| block.mono_time);
        let row = Movement {
            time: Some(block.time),
            time_unix: Some(block.time_unix),
            mempool_first_seen: first_seen(ctx, &tx.txid()),
            counterparties: others.counterparties.of_confirmed(&tx, &effect)?,
            ..movement(&tx.txid(), &effect, tx.fee_sats(), status)
        };
        rows.push(others.priced(row, time)?);
    }
    Ok(())
}
