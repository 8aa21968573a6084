//! Graphs of who pays whom around a script.
//!
//! * An edge is the value that one side's coins pay the other. A part of each input owner's coins goes to each output,
//!   in proportion to the output's value; the fee is one more output. Parts are rounded by the largest remainder, so
//!   the value that an owner brings into a transaction also leaves it, to the satoshi.
//! * Nobody knows who pays whom in a CoinJoin: the graph ends there.
//! * Nodes are found hop by hop, outwards along sent payments and inwards along received ones. Each hop takes those
//!   with the largest values; among equal ones, the one whose key is less.

mod building;
mod layout;
mod legs;

pub use building::{Accounting, Building, Direction, Edge, Graph, Limits, Node, Side};
pub use layout::{COLUMN_WIDTH, ROW_HEIGHT, layout};
pub use legs::{End, Leg, Parties, TooManyParts, legs_from, legs_to};
