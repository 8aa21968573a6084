//! `daily`: sums over the blocks of a day, and of longer periods.
//!
//! ```text
//! 'd' ‖ period: level (1) ‖ number (2) → sums by position, see `Measure`
//! ```

use crate::{
    periods::Period,
    sums::{Sums, positions},
    table::{Home, Origin, table},
};

table! {
    /// The table.
    pub struct Daily("daily": Period => Sums) in Home::Shared(b'd'), from Origin::Stage("ages");
}

macro_rules! measures {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Positions of sums. A coin-second is one satoshi that is unspent for one second of monotone block time.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u32)]
        pub enum Measure {
            $($(#[$doc])* $name,)*
        }

        impl Measure {
            /// All of them, each at the index that is its position.
            pub const ALL: &'static [Measure] = &[$(Measure::$name),*];
        }
    };
}

measures! {
    /// Blocks.
    Blocks,
    /// Transactions, coinbases included.
    Txs,
    /// Coins made: outputs that enter the coin set.
    CreatedCoins,
    /// Their value in satoshis.
    CreatedSats,
    /// Coins spent.
    SpentCoins,
    /// Their value in satoshis.
    SpentSats,
    /// Coins overwritten (BIP 30).
    OverwrittenCoins,
    /// Their value in satoshis.
    OverwrittenSats,
    /// Fees in satoshis.
    FeeSats,
    /// Coin-seconds destroyed: value of each spent coin × its age.
    Destroyed,
    /// Value of each coin made × its block's monotone time. With [`Measure::LeftMoment`] it gives the coin-seconds
    /// created up to any time: unspent value × time − created moment + left moment.
    CreatedMoment,
    /// Value of each coin spent or overwritten × the monotone time of the block that did it.
    LeftMoment,
}

positions!(Measure);

impl Measure {
    /// Its sum in a row.
    #[must_use]
    pub fn of(self, row: &Sums) -> i128 {
        row.get(self.position())
    }
}
