//! Exports: what the files have against a plain ledger, and what happens to an export that is stopped, continued or
//! damaged.

#![allow(clippy::unwrap_used, missing_docs, unreachable_pub)]

mod beside;
mod chain;
mod forms;
mod resumed;
mod since;
mod spent;
mod stores;
mod support;
mod verified;
mod world;
