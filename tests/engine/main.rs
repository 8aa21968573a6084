//! The engine: what it indexes equals a naive ledger, whichever way it got there.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod compare;
mod drivers;
mod support;
