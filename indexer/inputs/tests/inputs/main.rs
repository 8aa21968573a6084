//! Files of prices, from their bytes to rows and a report.
#![allow(clippy::unwrap_used)]

mod layouts;
mod properties;
mod rows;
mod shared;
mod support;
