//! Result of a comparison with a manifest.

/// A file that is not what the manifest says.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Difference {
    /// Its path from the folder of the manifest.
    pub path: String,
    /// How it differs.
    pub what: String,
}

/// Compared files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checked<M> {
    /// The manifest.
    pub manifest: M,
    /// Files that are not what it says.
    pub differences: Vec<Difference>,
}
