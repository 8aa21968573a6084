//! `POST /v1/wallets/lookup`.

mod history;
mod pending;
mod scan;

use cairn_domain::mempool::ScriptTotals;
use cairn_http::{Formatted, Location};
use serde_json::json;

use self::{
    history::{Page, TransactionPage},
    pending::Pending,
    scan::{BranchEnd, BranchRow, Scan},
};
use super::{
    Wallet,
    balance_history::{Days, Point, days_of},
    dashboard::{DaysParams, WalletGlance, glance},
    overview::{Balance, Unconfirmed},
    pnl::{Gains, GainsParams, PnlFormat, gains},
    union::Union,
};
use crate::{
    context::MARKET,
    definitions::WHOLE_WALLETS,
    operation::prelude::*,
    parameters::{
        descriptor::{DescriptorParam, EXAMPLE},
        limit::Limit,
    },
    vocabulary::cursor::CursorParam,
};

const NAME: &str = "wallet_lookup";
/// Descriptors and keys of one request.
const MAX_ITEMS: usize = 20;
const MAX_ADDRESSES: usize = 1_000;

pub(crate) struct WalletLookup;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "WalletLookupInput")]
pub(crate) struct LookupInput {
    /// The wallet: output descriptors or extended public keys, up to 20, as texts; or as Bitcoin Core's
    /// `listdescriptors` lists them. All are counted as one wallet.
    #[schemars(length(min = 1, max = 20), example = [json!(EXAMPLE)])]
    wallet: Vec<Item>,
    /// A branch ends after this many consecutive addresses that no transaction has used (BIP 44).
    #[serde(default)]
    gap_limit: Limit<20, 1000>,
    /// Parts of the answer besides the balance.
    #[serde(default = "addresses_only")]
    #[schemars(length(max = 5))]
    include: Vec<WalletPart>,
    /// Days of `dashboard` and `balance_history`.
    #[serde(flatten)]
    days: DaysParams,
    /// Parameters of `pnl`.
    #[serde(flatten)]
    gains: GainsParams,
    /// Transactions per page.
    #[serde(default)]
    limit: Limit<25, 100>,
    /// `next_cursor` of the previous page of transactions, with the same `wallet`.
    cursor: Option<CursorParam>,
}

fn addresses_only() -> Vec<WalletPart> {
    vec![WalletPart::Addresses]
}

/// A descriptor or key.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "WalletItem")]
enum Item {
    Text(DescriptorParam),
    Listed(ListedDescriptor),
}

/// An entry of `listdescriptors`; its other fields have no effect.
#[derive(Debug, Deserialize, JsonSchema)]
struct ListedDescriptor {
    desc: DescriptorParam,
    /// First and last index: only these addresses are read. Without a range, the gap limit decides.
    #[schemars(length(min = 2, max = 2), inner(range(min = 0, max = 2_147_483_647)))]
    range: Option<Vec<u32>>,
}

/// A part of the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum WalletPart {
    Addresses,
    Transactions,
    BalanceHistory,
    Dashboard,
    Pnl,
}

/// A whole wallet.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "WalletLookupOutput")]
pub(crate) struct LookupOutput {
    /// Address sequences of the descriptors and keys, in order. The descriptors and keys themselves are not repeated.
    branches: Vec<BranchRow>,
    /// Number of used addresses: those that a transaction funds, confirmed or not.
    address_count: u64,
    balance: Balance,
    /// Number of unspent outputs of confirmed transactions, including those that an unconfirmed transaction spends.
    utxo_count: u64,
    /// Number of unconfirmed transactions of the wallet, each counted once; null without a mempool, or if there are too
    /// many to count.
    unconfirmed_tx_count: Option<u64>,
    /// Used addresses by branch and index, at most 1000; null unless `include` has `addresses`.
    addresses: Option<Vec<AddressRow>>,
    addresses_omitted: u64,
    /// Page of transactions; null unless `include` has `transactions`.
    transactions: Option<TransactionPage>,
    /// Balance by day; null unless `include` has `balance_history`.
    balance_history: Option<WalletDays>,
    /// Dashboard; null unless `include` has `dashboard`.
    dashboard: Option<WalletGlance>,
    /// Profit and loss; null unless `include` has `pnl`.
    pnl: Option<Gains>,
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
}

/// A used address.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "WalletAddress")]
struct AddressRow {
    /// Address; null if the script has none (P2PK, bare multisig, …).
    address: Option<String>,
    /// SHA-256 of the scriptPubKey in natural byte order.
    script_hash: String,
    /// Position of the branch in `branches`, from 0.
    branch: usize,
    /// Index of the address in the branch.
    index: u32,
    /// Number of confirmed transactions of the address.
    tx_count: u64,
    balance_sats: u64,
    balance_btc: Btc,
    received_sats: u64,
}

/// The balance of a wallet by day.
#[derive(Debug, Serialize, JsonSchema)]
struct WalletDays {
    /// Code of the currency of the values.
    currency: String,
    /// True if the price of the day of the tip is old; null if that day has no point or no price.
    price_stale: Option<bool>,
    /// Points for every day (UTC, monotone block time) from the first to the last activity, or from `from` to `to`.
    /// Transfers within the wallet count as received and as sent.
    points: Vec<Point>,
}

impl Operation for WalletLookup {
    const INFO: Info = Info {
        summary: "A whole wallet by output descriptors or extended public keys: balance, history, dashboard, P&L",
        description: "Derives the addresses of descriptors (BIP 380) or of extended public keys (BIP 44, 49, 84, 86), \
            up to the gap limit, and answers for all of them as one wallet. A descriptor shows every address of its \
            owner. So it is sent in the body, and is neither stored nor logged nor repeated in an answer or an error; \
            use a server that you trust. Private keys are refused. `include` adds the used addresses, transactions, \
            the balance by day, the dashboard, and profit and loss, with the same fields and gates as for one address: \
            free up to 100 transactions of the whole wallet, or for the first page. `format=csv` with `include: \
            [\"pnl\"]` returns the file for an importer.",
        conditional: true,
        private: true,
        freshness: &[TIP, MEMPOOL, MARKET, CLAIMS, LABELS],
        needs_tip: true,
        errors: &[ErrorCode::WalletSessionRequired, ErrorCode::HistoryLimitExceeded, ErrorCode::CursorExpired],
        tool: Tool::UNLISTED,
        cost: Cost::Heavy,
        ..and_mempool(index_post(NAME, "/v1/wallets/lookup", "wallets"))
    };
    type Input = LookupInput;
    type Output = Formatted<LookupOutput>;

    fn run(ctx: &Ctx<'_>, input: LookupInput) -> Result<Formatted<LookupOutput>, ApiError> {
        let view = ctx.view()?;
        let wants = |part| input.include.contains(&part);
        let is_file = input.gains.format == PnlFormat::Csv;
        check(&input, is_file)?;
        let pool = ctx.unconfirmed();
        let mut scan = Scan::default();
        for (at, item) in input.wallet.iter().enumerate() {
            scan.add((ctx, view), pool, (at, item.text(), item.end(at, input.gap_limit.get())?))?;
        }
        let union = Union::of(&scan.wallets, ctx);
        let place = (NAME, Location::Body);
        let currency = input.gains.currency.0;
        let dashboard = wants(WalletPart::Dashboard)
            .then(|| glance(ctx, view, &union, (&input.days, currency), place))
            .transpose()?;
        let pending = pool.map(|pool| Pending::of(ctx, pool, &scan.wallets)).transpose()?;
        let entries = match wants(WalletPart::Transactions) || wants(WalletPart::BalanceHistory) {
            true => union.entries(ctx, view)?,
            false => Vec::new(),
        };
        let texts: Vec<&[u8]> = input.wallet.iter().map(|item| item.text().as_bytes()).collect();
        let page = Page { gate: NAME, limit: input.limit.get(), cursor: input.cursor.as_deref(), wallet: &texts };
        let transactions = wants(WalletPart::Transactions).then(|| {
            let wallet = (&scan.wallets[..], &union, pending.as_ref());
            TransactionPage::of((ctx, view), wallet, &entries, (&page, currency))
        });
        let days = wants(WalletPart::BalanceHistory).then(|| {
            let daily = days_of(ctx, view, &entries, (input.days.from, input.days.to))?;
            let Days { points, price_stale } = Days::of(ctx, view, currency, daily)?;
            Ok::<_, ApiError>(WalletDays { currency: currency.to_string(), price_stale, points })
        });
        let (transactions, balance_history) = (transactions.transpose()?, days.transpose()?);
        let pnl = match wants(WalletPart::Pnl).then(|| gains(ctx, view, &union, input.gains, place)).transpose()? {
            Some(Formatted::Csv(table)) => return Ok(Formatted::Csv(table)),
            Some(Formatted::Markdown(table)) => return Ok(Formatted::Markdown(table)),
            Some(Formatted::Json(gains)) => Some(gains),
            None => None,
        };
        let totals = pending.as_ref().map(|pending| pending.totals);
        let change = Unconfirmed::of(ctx, union.balance(), |_| totals.unwrap_or_else(ScriptTotals::default));
        let coins = scan.wallets.iter().filter_map(|wallet| Some(wallet.found?.totals.coin_count()));
        Ok(Formatted::Json(LookupOutput {
            address_count: scan.wallets.len() as u64,
            balance: Balance::of(
                union.balance(),
                union.immature_sats(ctx, view)?,
                change.as_ref().map_err(|reason| *reason),
            ),
            utxo_count: coins.sum(),
            unconfirmed_tx_count: pending.filter(|pending| pending.is_whole).map(|pending| pending.totals.tx_count),
            addresses: input.include.contains(&WalletPart::Addresses).then(|| addresses(&scan)),
            addresses_omitted: match input.include.contains(&WalletPart::Addresses) {
                true => scan.wallets.len().saturating_sub(MAX_ADDRESSES) as u64,
                false => 0,
            },
            branches: scan.branches,
            transactions,
            balance_history,
            dashboard,
            pnl,
            definition: WHOLE_WALLETS,
        }))
    }
}

/// Checks rules that a schema cannot express.
fn check(input: &LookupInput, is_file: bool) -> Result<(), ApiError> {
    debug_assert!(input.wallet.len() <= MAX_ITEMS);
    let refuse = |name, message: &str| Err(ApiError::validation(Location::Body, name, message));
    match () {
        () if is_file && input.include != [WalletPart::Pnl] => refuse("format", "csv is for include: [\"pnl\"], alone"),
        () if input.cursor.is_some() && !input.include.contains(&WalletPart::Transactions) => {
            refuse("cursor", "is for include: [\"transactions\"]")
        }
        () => Ok(()),
    }
}

impl Item {
    fn text(&self) -> &DescriptorParam {
        match self {
            Item::Text(text) => text,
            Item::Listed(listed) => &listed.desc,
        }
    }

    fn end(&self, at: usize, gap: u32) -> Result<BranchEnd, ApiError> {
        match self {
            Item::Listed(ListedDescriptor { range: Some(range), .. }) => match range.as_slice() {
                [first, last] if first <= last => Ok(BranchEnd::Range(*first, *last)),
                _ => {
                    let message = "must be the first and the last index, in this order";
                    Err(ApiError::validation(Location::Body, &format!("wallet[{at}].range"), message))
                }
            },
            _ => Ok(BranchEnd::Gap(gap)),
        }
    }
}

fn addresses(scan: &Scan) -> Vec<AddressRow> {
    let row = |(used, wallet): (&scan::UsedScript, &Wallet)| {
        let totals = wallet.found.map(|found| found.totals);
        let balance: Sats = totals.map_or(0, |totals| totals.balance());
        AddressRow {
            address: wallet.own_address.clone(),
            script_hash: hex::encode(wallet.script_hash),
            branch: used.branch,
            index: used.index,
            tx_count: totals.map_or(0, |totals| totals.tx_count),
            balance_sats: balance,
            balance_btc: Btc::of(balance),
            received_sats: totals.map_or(0, |totals| totals.funded),
        }
    };
    scan.used.iter().zip(&scan.wallets).take(MAX_ADDRESSES).map(row).collect()
}
