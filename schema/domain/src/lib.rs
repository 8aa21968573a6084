//! Computations behind the answers: functions of plain data, without storage, network or clock. Amounts are integer
//! satoshis.

mod address;
mod apportion;
mod asm;
pub mod claims;
pub mod coinjoin;
pub mod cospending;
mod daily;
mod difficulty;
mod direction;
pub mod dormancy;
pub mod dust;
pub mod entities;
pub mod exchange_flows;
mod feerate;
pub mod flow_graph;
pub mod flows;
mod inscription;
mod key;
pub mod mempool;
pub mod names;
pub mod onchain;
mod op_return;
pub mod pnl;
pub mod pools;
pub mod price;
pub mod sanctions;
mod script;
pub mod signed;
mod supply;
mod text;
pub mod transfers;
mod wide;

pub use address::{AddressError, Subject, address_of, parse_address, parse_script_hash};
pub use apportion::apportion;
pub use asm::asm;
pub use daily::{Daily, DayPoint, Inconsistent};
pub use difficulty::difficulty;
pub use direction::{Direction, Effect, direction};
pub use feerate::{FeeRate, PERCENTILES, fee_percentiles};
pub use inscription::{Inscription, inscriptions};
pub use key::{hash160, key_hash, key_hashes, p2pk_of, p2pkh_of, public_key, script_sha256};
pub use op_return::{MAX_PUSHES, OpReturn, Protocol, Push, counterparty, decode_op_return};
pub use script::{ScriptType, script_type};
pub use supply::{AGE_CLASSES, Bounds, LONG_TERM_DAYS, TOP_BAND, age_class, balance_band};
pub use text::{printable_ascii, readable, urls};
