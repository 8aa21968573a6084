//! What a request costs the server.

/// What an operation costs the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cost {
    /// Nothing is read, or a row or two.
    Light,
    /// A bounded number of rows.
    Standard,
    /// Many rows, or a question to the node.
    Heavy,
}

impl Cost {
    /// All of them.
    pub const ALL: [Cost; 3] = [Cost::Light, Cost::Standard, Cost::Heavy];

    /// What a request takes from the budget of its client.
    #[must_use]
    pub const fn units(self) -> u32 {
        match self {
            Cost::Light => 1,
            Cost::Standard => 2,
            Cost::Heavy => 10,
        }
    }

    /// Name, as descriptions and metrics have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Cost::Light => "light",
            Cost::Standard => "standard",
            Cost::Heavy => "heavy",
        }
    }
}
