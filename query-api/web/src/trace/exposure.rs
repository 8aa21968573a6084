//! Exposure: how much of the coins came from claimed addresses or went to them, and where the trace of the rest ends.

use serde::Deserialize;

use crate::format;

/// Paths and rows of a direction that are listed.
pub(super) const PATHS: usize = 10;
pub(super) const ROWS: usize = 20;

#[derive(Deserialize)]
pub(super) struct Exposure {
    sources: Option<Direction>,
    destinations: Option<Direction>,
    #[serde(default)]
    pub(super) caveats: Vec<String>,
}

#[derive(Deserialize)]
pub(super) struct Direction {
    pub(super) examined: Examined,
    #[serde(default, alias = "by_category")]
    pub(super) by_list: Vec<Row>,
    #[serde(default)]
    pub(super) paths: Vec<Trace>,
    #[serde(default)]
    unresolved: Vec<Unresolved>,
    mined: Option<Amount>,
    fees: Option<Amount>,
}

#[derive(Deserialize)]
pub(super) struct Examined {
    pub(super) transactions: u64,
    pub(super) of: u64,
}

#[derive(Deserialize)]
pub(super) struct Row {
    category: Option<String>,
    list: Option<String>,
    pub(super) ownership: Amount,
    pub(super) counterparty: Amount,
    pub(super) indirect: Amount,
}

#[derive(Deserialize)]
pub(super) struct Amount {
    pub(super) haircut_sats: i64,
}

/// A part of the coins that reached no claim.
#[derive(Deserialize)]
struct Unresolved {
    reason: String,
    haircut_sats: i64,
}

#[derive(Deserialize)]
pub(super) struct Trace {
    pub(super) source: Origin,
    pub(super) listing: Option<String>,
    pub(super) haircut_sats: i64,
    #[serde(default)]
    pub(super) hops: Vec<Hop>,
}

#[derive(Deserialize)]
pub(super) struct Origin {
    pub(super) address: String,
    pub(super) entity: Option<String>,
    list: Option<String>,
    category: Option<String>,
    pub(super) listed_at: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Hop {
    pub(super) txid: String,
}

impl Exposure {
    /// The directions that were examined, with their names.
    pub(super) fn directions(&self) -> Vec<(&'static str, &Direction)> {
        let both = [("Where its money came from", &self.sources), ("Where its money went", &self.destinations)];
        both.into_iter().filter_map(|(name, one)| Some((name, one.as_ref()?))).collect()
    }
}

impl Row {
    /// The list or the category.
    pub(super) fn name(&self) -> String {
        named(self.list.as_deref(), self.category.as_deref())
    }
}

impl Origin {
    pub(super) fn name(&self) -> String {
        named(self.list.as_deref(), self.category.as_deref())
    }
}

/// The name of a list stays as it is; a category is a code.
fn named(list: Option<&str>, category: Option<&str>) -> String {
    let known = list.map(crate::visible::visible).or_else(|| category.map(format::words));
    known.unwrap_or_else(|| "unnamed".to_owned())
}

impl Direction {
    /// Where the trace of the rest ends, with its amount: largest first as the API sorts them, then mined and fees.
    pub(super) fn rest(&self) -> Vec<(String, i64)> {
        let mut rest: Vec<_> = self.unresolved.iter().map(|one| (ending(&one.reason), one.haircut_sats)).collect();
        let named = [(&self.mined, "mined: the coins began in a block reward"), (&self.fees, "fees of miners")];
        let named = named.into_iter().filter_map(|(one, words)| Some((words.to_owned(), one.as_ref()?.haircut_sats)));
        rest.extend(named);
        rest.retain(|(_, sats)| *sats != 0);
        rest
    }
}

/// A reason at which a trace stops, in words.
fn ending(reason: &str) -> String {
    match reason {
        "held" => "not spent yet: it stands where it arrived",
        "hop_limit" => "beyond these hops",
        "service" => "at a service, which mixes the coins of its customers",
        "coinjoin" => "in a CoinJoin",
        "busy" => "at an address with too many transactions",
        "returned" => "came back to this address",
        "unspendable" => "in an output that nobody can spend",
        "history_cap" => "in transactions that are too old to be examined",
        "coin_cap" | "transaction_cap" | "work_cap" => "beyond the limits of the answer",
        "rounding" => "lost in rounding down",
        _ => return format::words(reason),
    }
    .to_owned()
}
