//! Lines and their cells.

mod cells;
mod lines;

pub(crate) use cells::Cells;
pub(crate) use lines::{Line, Lines};
