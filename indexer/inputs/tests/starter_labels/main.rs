//! The labels that ship with Cairn: every fact of them, checked again.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod facts;
mod sanctioned;
mod shipped;
