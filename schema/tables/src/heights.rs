//! Heights by block hash and by time.
//!
//! ```text
//! height_by_hash  'h' ‖ block hash prefix (8) ‖ height (4)      → ∅
//! height_by_time  't' ‖ monotone time (4) ‖ height (4)          → ∅
//! ```
//!
//! A prefix is a hint: several rows may share one, so the full hash is compared.

use cairn_model::{Height, MonoTime};

use crate::{
    keys::HashPrefix,
    table::{Home, Origin, Table},
};

/// Block hash to height.
pub struct HeightByHash;

impl Table for HeightByHash {
    const NAME: &'static str = "height_by_hash";
    const HOME: Home = Home::Shared(b'h');
    const ORIGIN: Origin = Origin::Stage("chain");
    type Key = (HashPrefix, Height);
    type Value = ();
}

/// Monotone time to height.
pub struct HeightByTime;

impl Table for HeightByTime {
    const NAME: &'static str = "height_by_time";
    const HOME: Home = Home::Shared(b't');
    const ORIGIN: Origin = Origin::Stage("chain");
    type Key = (MonoTime, Height);
    type Value = ();
}
