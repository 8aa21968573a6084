//! How values are written.

/// How hashes, ids of scripts and scripts are written.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Hashes {
    /// As bytes: the smallest files.
    #[default]
    Binary,
    /// As hexadecimal digits.
    Hex,
}

impl Hashes {
    /// Its name on the command line and in manifests.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Hashes::Binary => "binary",
            Hashes::Hex => "hex",
        }
    }
}

impl Format {
    /// True if inputs have more data of their coins than the journal has.
    pub(crate) fn has_spent(self) -> bool {
        self.txids || self.addresses
    }
}

/// How amounts are written.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Amounts {
    /// Whole satoshis.
    #[default]
    Sats,
    /// Bitcoin, as decimals with 8 digits after the point.
    Btc,
}

impl Amounts {
    /// Its name on the command line and in manifests.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Amounts::Sats => "sats",
            Amounts::Btc => "btc",
        }
    }
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
