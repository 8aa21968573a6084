//! The follower: brings an index to where its source of blocks is, keeps it there, and tells the index's readers.
//!
//! A [`Source`] is where blocks come from: block files ([`FileSource`]) or a node ([`NodeSource`]). A [`Follower`] drives
//! one after the other, with one loop: block files first, where they are given, then a node. What happens is told to every
//! [`cairn_link::Publish`], in this process and in others.

mod error;
mod figures;
mod files;
mod follower;
mod index;
mod node;
mod source;
mod units;
mod until;

pub use error::FollowError;
pub use files::FileSource;
pub use follower::{Follower, Outcome};
pub use index::OpenIndex;
pub use node::{NodeSource, TOPICS, connect};
pub use source::{ActiveSource, Reached, Source};
pub use units::{round, size};
pub use until::Until;
