//! Dust that was paid to an address, perhaps to watch it.

use serde::Deserialize;

/// Campaigns, and spends of their dust, that are listed.
pub(super) const CAMPAIGNS: usize = 5;

#[derive(Deserialize)]
pub(super) struct Surveillance {
    pub(super) observed: bool,
    #[serde(default)]
    pub(super) campaigns: Vec<Campaign>,
    #[serde(default)]
    pub(super) co_spent_dust: Vec<CoSpent>,
    #[serde(default)]
    pub(super) dust_payment_count: u64,
    #[serde(default)]
    pub(super) examined_tx_count: u64,
    #[serde(default)]
    pub(super) tx_count: u64,
    pub(super) note: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Campaign {
    pub(super) basis: String,
    pub(super) text: Option<String>,
    pub(super) first_time: String,
    pub(super) last_time: String,
    pub(super) last_txid: String,
    pub(super) recipient_count: u64,
}

/// Dust that was spent together with other coins.
#[derive(Deserialize)]
pub(super) struct CoSpent {
    pub(super) spent_txid: String,
    pub(super) linked_script_count: u64,
}
