//! Files of labels, from their bytes to claims and a report.
#![allow(clippy::unwrap_used)]

mod actorpack;
mod lists;
mod properties;
mod rows;
mod sdn;
mod shared;
mod support;
mod tagpack;
