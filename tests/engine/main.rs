//! The engine: what it indexes equals a naive ledger, whichever way it got there.
//!
//! With `CAIRN_TEST_LONG=1` more seeds and larger chains are tried. Whatever fails names its seed.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, unreachable_pub)]

mod archive;
#[path = "../chaingen/tests/common/mod.rs"]
mod bitcoin_kernel;
mod busy;
mod claims;
mod collisions;
mod compare;
mod compare_clusters;
mod compare_days;
mod compare_pubkeys;
mod contests;
mod damaged;
mod damaged_sums;
mod disk_full;
mod drivers;
mod dust;
mod dust_by_hand;
mod errors;
mod exchange_flows;
mod exchange_flows_by_hand;
mod exchange_flows_cases;
mod exchange_flows_chains;
mod exchange_flows_following;
mod feed;
mod few_files;
mod follower;
mod forks;
mod formats;
mod identity;
mod inherited_by_hand;
mod interrupted;
mod kept;
mod kept_damaged;
mod kernel;
mod labels;
mod labels_by_hand;
mod late;
mod late_hoards;
mod ledger;
mod memory;
mod names;
mod outpoints;
mod owners;
mod owners_by_hand;
mod rarities;
mod real;
mod reindex;
mod replaced;
mod shapes;
mod signet;
mod silent_payments;
mod stages;
mod stores;
mod support;
mod suspects;
mod table_files;
mod toys;
mod undo;
mod view_example;
mod watchlist;
