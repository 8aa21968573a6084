//! The follower over generated chains: with scripted sources, with block files, and with a stand-in node.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, unreachable_pub)]

mod files;
mod node;
mod publish;
mod sequence;
mod support;
