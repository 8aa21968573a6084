//! Costs that one client can cause others: the worst that consensus allows in a transaction, clients that ask and
//! leave, and one client beside another, over real sockets.
//!
//! With `CAIRN_TEST_LONG=1` there are more requests. `CAIRN_TEST_ATTACK` names attacks by a part of their names.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, missing_docs, unreachable_pub)]

mod attacks;
mod electrum;
mod fair;
mod leave;
mod price;
mod support;
mod usage;
mod worst;
