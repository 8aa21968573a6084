//! Collections whose clones share everything that did not change since. A clone takes constant time; a change copies
//! only the few nodes on its way that a clone still holds, and changes the others in place. So the writer publishes a
//! version after every batch of deltas, and a reader may hold a version for as long as it likes.

mod list;
mod map;
mod slots;

pub(super) use list::SortedList;
pub(super) use map::{SharedMap, entry_bytes};
pub(super) use slots::{Slots, place_bytes};
