//! `cairn --version`: all that a report of a fault, or a plan of an upgrade, wants to know of a program.

use std::env::consts::{ARCH, OS};

use cairn_tables::{format::FORMAT, stages::CHAIN};

/// The commit that was built, if whoever built it has said so.
const COMMIT: Option<&str> = option_env!("CAIRN_COMMIT");

/// The version, and those of what it reads and writes. `cairn -V` says the first line only.
pub(crate) fn long() -> String {
    let commit =
        COMMIT.filter(|commit| !commit.is_empty()).unwrap_or("unknown (CAIRN_COMMIT was not set at build time)");
    let checks = if cfg!(debug_assertions) { ", with debug assertions" } else { "" };
    format!(
        "{}\ncommit: {commit}\nindex: format {}, journal {}\nservice state: schema {}\n\
         built for: {OS} on {ARCH}{checks}",
        env!("CARGO_PKG_VERSION"),
        FORMAT.0,
        CHAIN.version,
        cairn_state::newest_schema(),
    )
}
