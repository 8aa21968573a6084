//! Profit and loss: random histories against an independent oracle, and small examples worked out by hand.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod by_hand;
mod histories;
mod oracle;
mod properties;
