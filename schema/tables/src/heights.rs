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
    table::{Home, Origin, table},
};

table! {
    /// Block hash to height.
    pub struct HeightByHash("height_by_hash": (HashPrefix, Height) => ())
        in Home::Shared(b'h'), from Origin::Stage("chain");
}

table! {
    /// Monotone time to height.
    pub struct HeightByTime("height_by_time": (MonoTime, Height) => ())
        in Home::Shared(b't'), from Origin::Stage("chain");
}
