//! Cost classes of requests.

/// Cost class of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cost {
    /// Reads no rows, or one or two.
    Light,
    /// Reads a bounded number of rows.
    Standard,
    /// Reads many rows, or asks the node.
    Heavy,
}

impl Cost {
    /// All classes.
    pub const ALL: [Cost; 3] = [Cost::Light, Cost::Standard, Cost::Heavy];

    /// Units of the client's rate limit that a request costs.
    #[must_use]
    pub const fn units(self) -> u32 {
        match self {
            Cost::Light => 1,
            Cost::Standard => 2,
            Cost::Heavy => 10,
        }
    }

    /// Name in descriptions and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Cost::Light => "light",
            Cost::Standard => "standard",
            Cost::Heavy => "heavy",
        }
    }
}
