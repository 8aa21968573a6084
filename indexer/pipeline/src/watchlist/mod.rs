//! The watchlist: clusters with 500 BTC or more of coins of five years and more that spent nothing for five years, as
//! of one block.
//!
//! `make` computes it from the tables of the stages, in a thread of its own, concurrently with new blocks. `follow`
//! decides when: if there is none, if its block is gone, or after a day's blocks. It replaces all rows in one commit.
//! [`Engine::follow_up`](crate::Engine::follow_up) calls it after the late stages.

pub(crate) mod follow;
mod make;

pub(crate) use self::make::{NewWatchlist, make};
