//! Graphs of who pays whom around a script.
//!
//! * An edge is what one side's coins pay the other: of each input owner's coins a part goes to each output in
//!   proportion to its value, the fee as one more output, shared out by the largest remainder. So what an owner brings
//!   into a transaction is what leaves it, to the satoshi.
//! * Nobody knows who pays whom in a CoinJoin: the graph ends there.
//! * Nodes are found hop by hop, outwards along what is paid and inwards along what is received. In each hop those with
//!   the largest values are taken; of equal ones the one whose key is less.

mod building;
mod layout;
mod legs;

pub use building::{Accounting, Building, Direction, Edge, Graph, Limits, Node, Side};
pub use layout::{COLUMN_WIDTH, ROW_HEIGHT, layout};
pub use legs::{End, Leg, Parties, TooManyParts, legs_from, legs_to};
