//! The data dictionary: a page of all datasets and their columns, from the declarations.

use crate::{Dataset, Format};

/// The page, as Markdown.
#[must_use]
pub fn dictionary() -> String {
    let mut page = String::from(HEAD);
    page += "| dataset | rows |\n|---|---|\n";
    for dataset in Dataset::all() {
        let first = dataset.about.split_once(". ").map_or(dataset.about, |(first, _)| first);
        page += &format!("| [`{0}`](#{0}) | {1} |\n", dataset.name, first.trim_end_matches('.'));
    }
    for dataset in Dataset::all() {
        let files = if dataset.is_by_blocks() { "Files by blocks" } else { "One file" };
        let sorted = dataset.sorted_by.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        page += &format!("\n## {}\n\n{}\n\n{files}, sorted by {sorted}.\n\n", dataset.name, dataset.about);
        page += "| column | type | meaning |\n|---|---|---|\n";
        for column in dataset.columns {
            let extra = column.extra.map(|extra| format!(" Only with `{}`.", extra.option())).unwrap_or_default();
            let null = if column.is_nullable { ", or null" } else { "" };
            let name = column.name_in(Format::default());
            page += &format!("| `{name}` | {}{null} | {}{extra} |\n", column.type_words(), column.about);
        }
    }
    page
}

const HEAD: &str = "# Data dictionary

Generated from the sources in `snapshots/export/src/datasets`; do not edit. A test compares both. To regenerate this page:
`CAIRN_UPDATE_DOCS=1 cargo test --release --workspace --test docs`.

Datasets of `cairn snapshot export`. Each is a folder of Parquet files. Those by blocks have a folder for each part of the
chain: `from_height=…`, or `on_day=…` with `--partition day`.

- Hashes of blocks and transactions are bytes in the order in which they are shown; `--hashes hex` writes text.
- A `script_id` is 9 bytes: the first 8 of SHA-256 of the scriptPubKey, and a number that distinguishes scripts with the same
  8 bytes. `scripts` has its script and address.
- A `tx_num` is the index of a transaction in the chain; `transactions` has its txid.
- Amounts are satoshis. With `--amounts btc` they are `decimal(18, 8)` in bitcoin, and their names end with `_btc`.
- Days and ages go by monotone block time: the latest header time up to a block. Ages are in seconds; a coin-second is one
  satoshi that is unspent for one second.
- Claims about scripts and entities are statements of their sources, not findings of Cairn.

";
