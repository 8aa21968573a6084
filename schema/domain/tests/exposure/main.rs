//! Exposure: random small graphs against a naive tracer in exact fractions, and against the hop-by-hop rules of
//! `snapshots/spark/exposure.py` to the last digit; and examples worked out by hand.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, unreachable_pub)]

mod by_hand;
mod fractions;
mod naive;
mod properties;
mod rounds;
mod shared;
mod spark;
mod world;
