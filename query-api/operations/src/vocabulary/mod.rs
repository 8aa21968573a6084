//! What operations say alike: cursors, caveats, assessments. One module each.

pub(crate) mod assessment;
pub(crate) mod caveat;
pub(crate) mod cursor;
