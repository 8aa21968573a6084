//! What the process that writes the index tells those that read it: tips, how high the chain is that it knows of, changes
//! of the mempool, state of the source. Whoever follows the chain calls [`Publish`] and does not know who listens:
//!
//! - [`IndexSlot`], where requests of the same process find index and mempool;
//! - [`SocketPublisher`], which says the same over a Unix socket to [`FollowedIndex`] in another process. The index itself
//!   travels through the database; the socket only says when to look.
//!
//! Requests read through [`IndexSource`], whichever of the two processes they run in.
//!
//! ```text
//! frame: length of what follows (4, little-endian) │ kind (1) │ body
//! kinds: 0 hello (version) │ 1 tip (height, hash) │ 2 best height │ 3 mempool deltas │ 4 state of the source
//! ```
//!
//! A reader that comes late gets the present state first; one that is too slow is cut off and comes again. Losing the
//! link loses nothing: a reader also looks by itself now and then.

mod announcer;
mod followed;
mod frame;
mod listener;
mod publish;
mod publisher;
mod slot;

pub use announcer::{Announcer, Present};
pub use followed::{FollowedIndex, FollowingThreads};
pub use frame::{BadFrame, MAX_FRAME, Message, VERSION, mempool_messages};
pub use listener::{Event, Listener};
pub use publish::{Publish, Publishers};
pub use publisher::{SOCKET, SocketPublisher};
pub use slot::{Absent, IndexSlot, IndexSource, Lock, MempoolSlot, Projector};
