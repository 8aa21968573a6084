//! What the process that writes the index tells those that read it, over a Unix socket: tips, how high the chain is that
//! it knows of, and changes of the mempool. The index itself travels through the database; this only says when to look.
//!
//! ```text
//! frame: length of what follows (4, little-endian) │ kind (1) │ body
//! kinds: 0 hello (version) │ 1 tip (height, hash) │ 2 best height │ 3 mempool deltas │ 4 state of the source
//! ```
//!
//! A reader that comes late gets the present state first; one that is too slow is cut off and comes again. Losing the
//! link loses nothing: a reader also looks by itself now and then.

mod announcer;
mod frame;
mod listener;
mod slot;

pub use announcer::{Announcer, Present};
pub use frame::{BadFrame, MAX_FRAME, Message, VERSION, mempool_messages};
pub use listener::{Event, Listener};
pub use slot::{Absent, IndexSlot, IndexSource, Lock, MempoolSlot, now_ms};
