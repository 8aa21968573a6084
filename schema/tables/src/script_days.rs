//! `script_days`: scripts by balance, and scripts in use, as changes by day and longer period.
//!
//! ```text
//! 'b' ‖ period: level (1) ‖ number (2) → sums by position:
//!   band               change of the number of scripts whose balance is in the band
//!   16 + band          change of their balances together, in satoshis
//!   32 + band          as the first, of the scripts among them that have no address
//!   48 + band          as the second, of these
//!   64, 65, 66         scripts that sent, that received, that did either, counted once for each day
//! ```
//!
//! Amounts above zero satoshis count. A script whose coin is overwritten (BIP 30) counts as a sender.
//!
//! Band k has balances from 10^k up to 10^(k+1) satoshis. Scripts without balance are in no band.

use cairn_model::Sats;

use crate::{
    periods::Period,
    sums::Sums,
    table::{Home, Origin, table},
};

table! {
    /// The table.
    pub struct ScriptDays("script_days": Period => Sums) in Home::Shared(b'b'), from Origin::Stage("script_days");
}

/// Bands of balances: no script can have 10^16 satoshis.
pub const BANDS: u32 = 16;
/// First position of what is counted of scripts without address only.
pub const NO_ADDRESS: u32 = 2 * BANDS;
/// Position of the number of scripts that sent.
pub const SENDERS: u32 = 4 * BANDS;
/// Position of the number of scripts that received.
pub const RECEIVERS: u32 = SENDERS + 1;
/// Position of the number of scripts that sent or received.
pub const ACTIVE: u32 = RECEIVERS + 1;
/// Positions of a row.
pub const POSITIONS: u32 = ACTIVE + 1;

/// The band of a balance; `None` for none.
#[must_use]
pub fn band(balance: Sats) -> Option<u32> {
    // A damaged journal may say anything.
    balance.checked_ilog10().map(|band| band.min(BANDS - 1))
}
