//! Publishes the state of the index from the process that writes it to those that read it: tip, best height, changes of
//! the mempool, status of the source. The follower calls [`Publish`], which has two implementations:
//!
//! - [`IndexSlot`] holds index and mempool for requests in the same process;
//! - [`SocketPublisher`] sends the same over a Unix socket to [`FollowedIndex`] in another process. The index itself is
//!   read from the database; the socket only says when to catch up.
//!
//! Requests read through [`IndexSource`] in both processes.
//!
//! ```text
//! frame: length of the rest (4, little-endian) │ kind (1) │ body
//! kinds: 0 hello (version) │ 1 tip (height, hash) │ 2 best height │ 3 mempool deltas │ 4 state of the source
//!        5 events │ 6 prices │ 7 troubles
//! ```
//!
//! A new reader first gets the current state. A reader that is too slow is disconnected and reconnects. A broken
//! connection loses nothing, because readers also check for new commits at regular intervals.

mod announcer;
mod followed;
mod frame;
mod listener;
mod publish;
mod publisher;
mod slot;

pub use announcer::{Announcer, MAX_READERS, Present};
pub use followed::{FollowedIndex, FollowingThreads};
pub use frame::{BadFrame, MAX_FRAME, Message, VERSION, mempool_messages};
pub use listener::{Event, Listener};
pub use publish::{Publish, Publishers};
pub use publisher::{SOCKET, SocketPublisher};
pub use slot::{Absent, IndexSlot, IndexSource, MempoolSlot, PinnedMempool, Projector};
