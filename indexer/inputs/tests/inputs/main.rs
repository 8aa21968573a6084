//! Files of prices, from their bytes to rows and a report.

mod layouts;
mod properties;
mod rows;
mod shared;
mod support;
