//! What to pay.

pub(crate) mod recommended;
