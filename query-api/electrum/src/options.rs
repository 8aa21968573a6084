//! Settings of the protocol.

/// Name and version of this software, as `server.version` and `server.features` give them.
pub(crate) const SOFTWARE: &str = concat!("Cairn ", env!("CARGO_PKG_VERSION"));

/// Settings of the protocol.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Longest history, in transactions, that is listed, subscribed to and whose coins are listed.
    pub max_history: u32,
    /// Text of `server.banner`.
    pub banner: String,
}

impl Options {
    /// Default of [`Options::max_history`]: clients refuse messages above about 1 MB, and an entry takes 95 bytes.
    pub const MAX_HISTORY: u32 = 10_000;
}

impl Default for Options {
    fn default() -> Self {
        Options { max_history: Options::MAX_HISTORY, banner: format!("{SOFTWARE}, a Bitcoin index") }
    }
}
