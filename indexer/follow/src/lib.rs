//! The follower: brings an index to the tip of its source of blocks, keeps it there, and publishes changes to readers.
//!
//! A [`Source`] provides blocks from block files ([`FileSource`]) or from a node ([`NodeSource`]). A [`Follower`]
//! drives the sources in order with one loop: first block files, if given, then a node. Changes are published to every
//! [`cairn_link::Publish`], in this process and in others.
//!
//! A follower without an end does not end with an error either: it publishes what is wrong ([`cairn_model::Trouble`])
//! and goes on when that has passed. A source can only be refused when it is followed for the first time.

mod error;
mod figures;
mod files;
mod follower;
mod index;
mod newest_quotes;
mod node;
mod pause;
mod room;
mod source;
mod troubles;
mod units;
mod until;

pub use error::FollowError;
pub use files::FileSource;
pub use follower::{Follower, Outcome};
pub use index::OpenIndex;
pub use newest_quotes::NewestQuotes;
pub use node::{NodeSource, TOPICS, connect};
pub use source::{ActiveSource, Reached, Source};
pub use units::{round, size};
pub use until::Until;
