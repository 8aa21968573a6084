//! A wallet as the operation answers.

use serde::Deserialize;
use serde_json::Number;

use crate::{format, visible::visible};

/// Used addresses that the table lists. The others follow as lines.
const LISTED: usize = 50;

#[derive(Deserialize)]
pub(super) struct Wallet {
    pub(super) branches: Vec<Branch>,
    pub(super) address_count: u64,
    pub(super) balance: Balance,
    pub(super) utxo_count: u64,
    pub(super) unconfirmed_tx_count: Option<u64>,
    addresses: Option<Vec<Used>>,
    #[serde(default)]
    pub(super) addresses_omitted: u64,
    pub(super) transactions: Option<History>,
}

#[derive(Deserialize)]
pub(super) struct Balance {
    pub(super) confirmed_sats: i64,
    #[serde(default)]
    pub(super) immature_sats: i64,
    pub(super) unconfirmed_sats: Option<i64>,
    pub(super) unconfirmed_reason: Option<String>,
    pub(super) total_sats: Option<i64>,
}

#[derive(Deserialize)]
pub(super) struct Branch {
    item: u64,
    step: Option<u64>,
    script_type: String,
    is_ranged: bool,
    pub(super) scanned: u64,
    pub(super) used: u64,
    next_index: Option<u64>,
    pub(super) next_address: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Used {
    pub(super) address: Option<String>,
    script_hash: String,
    branch: usize,
    index: u64,
    pub(super) tx_count: u64,
    pub(super) balance_sats: i64,
    pub(super) received_sats: i64,
}

#[derive(Deserialize)]
pub(super) struct History {
    pub(super) total: u64,
    pub(super) unconfirmed_omitted: Option<u64>,
    pub(super) currency: String,
    pub(super) next_cursor: Option<String>,
    pub(super) transactions: Vec<Movement>,
}

#[derive(Deserialize)]
pub(super) struct Movement {
    pub(super) txid: String,
    direction: String,
    pub(super) net_sats: i64,
    pub(super) net_value: Option<Number>,
    pub(super) value_reason: Option<String>,
    status: Status,
    time: Option<String>,
}

#[derive(Deserialize)]
struct Status {
    height: Option<u64>,
}

/// An answer with profit and loss.
#[derive(Deserialize)]
pub(super) struct Gains {
    pub(super) pnl: Option<Pnl>,
}

#[derive(Deserialize)]
pub(super) struct Pnl {
    pub(super) currency: String,
    method: String,
    pub(super) transaction_count: u64,
    holdings: Holdings,
    totals: Totals,
    total_gain: Option<Number>,
    pub(super) unpriced_transactions: u64,
    pub(super) reason: Option<String>,
    #[serde(default)]
    pub(super) years: Vec<Year>,
}

#[derive(Deserialize)]
struct Holdings {
    cost_basis: Option<Number>,
    market_value: Option<Number>,
    unrealized_gain: Option<Number>,
    price: Option<Number>,
    price_as_of: Option<String>,
    price_source: Option<String>,
    price_stale: Option<bool>,
}

#[derive(Deserialize)]
struct Totals {
    proceeds: Option<Number>,
    fee_cost: Option<Number>,
    realized_gain: Option<Number>,
}

#[derive(Deserialize)]
pub(super) struct Year {
    pub(super) year: i64,
    pub(super) transactions: u64,
    pub(super) acquired_sats: i64,
    pub(super) disposed_sats: i64,
    pub(super) realized_gain: Option<Number>,
}

/// An amount of money to two decimals; smaller amounts and other numbers as they are.
pub(super) fn money(amount: &Number) -> String {
    match amount.as_f64() {
        Some(value) if value.abs() >= 0.01 && value.abs() < 1e15 => format::decimal(&format!("{value:.2}")),
        _ => amount.to_string(),
    }
}

impl Branch {
    /// Name of the branch: which entry, and what it is for by BIP 44.
    pub(super) fn name(&self) -> String {
        let entry = self.item + 1;
        match (self.is_ranged, self.step) {
            (false, _) => format!("Entry {entry}: a single script"),
            (true, Some(0)) => format!("Entry {entry}: receiving (…/0/*)"),
            (true, Some(1)) => format!("Entry {entry}: change (…/1/*)"),
            (true, Some(step)) => format!("Entry {entry}: …/{step}/*"),
            (true, None) => format!("Entry {entry}: …/*"),
        }
    }

    /// Its script type, in words.
    pub(super) fn script(&self) -> String {
        format::words(&self.script_type)
    }

    fn path(&self, index: u64) -> String {
        match (self.is_ranged, self.step) {
            (false, _) => "single script".to_owned(),
            (true, Some(step)) => format!("…/{step}/{index}"),
            (true, None) => format!("…/{index}"),
        }
    }

    /// Path of the next fresh address.
    pub(super) fn next_path(&self) -> Option<String> {
        self.next_index.map(|index| self.path(index))
    }
}

impl Used {
    /// Its address, or the hash of its script.
    pub(super) fn shown(&self) -> String {
        self.address.clone().unwrap_or_else(|| format!("scripthash:{}", self.script_hash))
    }
}

impl Wallet {
    fn used(&self) -> &[Used] {
        self.addresses.as_deref().unwrap_or_default()
    }

    /// Used addresses of the table.
    pub(super) fn listed(&self) -> impl Iterator<Item = &Used> {
        self.used().iter().take(LISTED)
    }

    /// Number of the other used addresses of the answer.
    pub(super) fn others(&self) -> usize {
        self.used().len().saturating_sub(LISTED)
    }

    /// The other used addresses, one a line with its path.
    pub(super) fn lines(&self) -> String {
        let lines = self.used().iter().skip(LISTED).map(|used| format!("{}  {}", used.shown(), self.path(used)));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Path of a used address, as far as the answer gives it.
    pub(super) fn path(&self, used: &Used) -> String {
        let branch = self.branches.get(used.branch);
        let path = branch.map_or_else(|| used.index.to_string(), |branch| branch.path(used.index));
        let entry = branch.map_or(1, |branch| branch.item + 1);
        if self.branches.iter().any(|branch| branch.item > 0) { format!("entry {entry}: {path}") } else { path }
    }
}

impl Movement {
    /// Direction in words.
    pub(super) fn way(&self) -> String {
        match self.direction.as_str() {
            "in" => "received".to_owned(),
            "out" => "sent".to_owned(),
            other => format::words(&visible(other)),
        }
    }

    pub(super) fn height(&self) -> Option<u64> {
        self.status.height
    }

    pub(super) fn when(&self) -> String {
        self.time.as_deref().map_or_else(|| "unconfirmed".to_owned(), format::minute)
    }
}

impl Pnl {
    /// Method of the costs, in words.
    pub(super) fn method(&self) -> &str {
        match self.method.as_str() {
            "average" => "average cost",
            "fifo" => "first in, first out",
            other => other,
        }
    }

    /// Time and source of the price; says so if it is out of date.
    pub(super) fn price_note(&self) -> Option<String> {
        let at = format::minute(self.holdings.price_as_of.as_deref()?);
        let source = self.holdings.price_source.as_deref().map_or_else(|| "two sources".to_owned(), visible);
        let old = if self.holdings.price_stale == Some(true) { "; it is out of date" } else { "" };
        Some(format!("The price is that of {at} from {source}{old}"))
    }

    /// Amounts of money with their names.
    pub(super) fn amounts(&self) -> [(&'static str, Option<String>); 8] {
        let shown = |amount: &Option<Number>| amount.as_ref().map(money);
        [
            ("Total gain", shown(&self.total_gain)),
            ("Realized gain", shown(&self.totals.realized_gain)),
            ("Unrealized gain", shown(&self.holdings.unrealized_gain)),
            ("Market value", shown(&self.holdings.market_value)),
            ("Cost of the holdings", shown(&self.holdings.cost_basis)),
            ("Proceeds", shown(&self.totals.proceeds)),
            ("Fees", shown(&self.totals.fee_cost)),
            ("Price of one bitcoin", shown(&self.holdings.price)),
        ]
    }
}

impl Year {
    pub(super) fn gain(&self) -> Option<String> {
        self.realized_gain.as_ref().map(money)
    }
}
