//! How values are written.

cairn_model::words! {
    /// How hashes, ids of scripts and scripts are written.
    #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
    pub enum Hashes {
        /// As bytes: the smallest files.
        #[default]
        Binary = "binary",
        /// As hexadecimal digits.
        Hex = "hex",
    }
    /// Its name on the command line and in manifests.
    pub fn name;
}

impl Format {
    /// True if inputs have more data of their coins than the journal has.
    pub(crate) fn has_spent(self) -> bool {
        self.txids || self.addresses
    }
}

cairn_model::words! {
    /// How amounts are written.
    #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
    pub enum Amounts {
        /// Whole satoshis.
        #[default]
        Sats = "sats",
        /// Bitcoin, as decimals with 8 digits after the point.
        Btc = "btc",
    }
    /// Its name on the command line and in manifests.
    pub fn name;
}

/// How values are written.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Format {
    /// Form of hashes, ids and scripts.
    pub hashes: Hashes,
    /// Form of amounts.
    pub amounts: Amounts,
    /// True if inputs have the txid of the coin that they spend.
    pub txids: bool,
    /// Inputs and outputs have addresses.
    pub addresses: bool,
}
