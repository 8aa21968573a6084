//! Addresses in one table.

use serde::Deserialize;
use serde_json::Number;

use super::lookup::Balance;
use crate::visible::visible;

#[derive(Deserialize)]
pub(super) struct Rows {
    pub(super) results: Vec<Row>,
}

#[derive(Deserialize)]
pub(super) struct Row {
    pub(super) address: String,
    /// Why there is nothing about the address.
    pub(super) detail: Option<String>,
    pub(super) balance: Option<Balance>,
    pub(super) tx_count: Option<u64>,
    pub(super) received_sats: Option<i64>,
    pub(super) value_usd: Option<Number>,
    price: Option<Price>,
    pub(super) assessment: Option<Assessment>,
}

#[derive(Deserialize)]
struct Price {
    #[serde(default)]
    stale: bool,
}

#[derive(Deserialize)]
pub(super) struct Assessment {
    label: Option<Label>,
}

#[derive(Deserialize)]
struct Label {
    value: Option<String>,
}

impl Row {
    /// True if the price of its value is out of date.
    pub(super) fn is_old(&self) -> bool {
        self.price.as_ref().is_some_and(|price| price.stale)
    }

    /// The label of the address, inert.
    pub(super) fn label(&self) -> Option<String> {
        self.assessment.as_ref()?.label.as_ref()?.value.as_deref().map(visible)
    }
}

impl Rows {
    /// Sum of the confirmed balances of the rows without an error, each address counted once.
    pub(super) fn total(&self) -> i64 {
        let mut seen = std::collections::BTreeSet::new();
        let rows = self.results.iter().filter(|row| seen.insert(row.address.as_str()));
        rows.filter_map(|row| row.balance.as_ref()).map(|balance| balance.confirmed_sats).sum()
    }
}
