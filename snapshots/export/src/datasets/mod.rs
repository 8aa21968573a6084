//! The datasets. Each file has one dataset, or a few that belong together.

mod alerts;
mod blocks;
mod clusters;
mod coins;
mod daily;
mod entities;
mod inputs;
mod labels;
mod outputs;
mod prices;
mod scripts;
mod supply;
mod transactions;

use crate::Dataset;

/// All datasets, in the order of the data dictionary.
static ALL: [Dataset; 17] = [
    blocks::BLOCKS,
    transactions::TRANSACTIONS,
    inputs::INPUTS,
    outputs::OUTPUTS,
    coins::COINS,
    scripts::SCRIPTS,
    clusters::CLUSTERS,
    clusters::CLUSTER_SCRIPTS,
    labels::LABELS,
    labels::CLAIMS,
    entities::ENTITIES,
    entities::ENTITY_FLOWS,
    daily::DAILY,
    daily::BALANCE_BANDS,
    supply::SUPPLY_CHANGES,
    alerts::ALERTS,
    prices::PRICES,
];

impl Dataset {
    /// All datasets, in the order of the data dictionary.
    #[must_use]
    pub fn all() -> &'static [Dataset] {
        &ALL
    }

    /// Returns the names of all datasets, which are also the names of their folders.
    pub(crate) fn names() -> Vec<&'static str> {
        Dataset::all().iter().map(|dataset| dataset.name).collect()
    }

    /// Finds a dataset by its name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Dataset> {
        Self::all().iter().find(|dataset| dataset.name == name)
    }
}
