//! Spans as they are exported.

/// A value of an attribute. Only names, templates and numbers of this server: nothing that a client wrote.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Attribute {
    /// A text.
    Text(String),
    /// A number.
    Number(u64),
}

/// One span that has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Span {
    pub(crate) trace: [u8; 16],
    pub(crate) id: [u8; 8],
    pub(crate) parent: Option<[u8; 8]>,
    pub(crate) name: String,
    /// True for the span of a whole request.
    pub(crate) is_server: bool,
    /// Nanoseconds since 1970.
    pub(crate) start: u64,
    /// Nanoseconds since 1970.
    pub(crate) end: u64,
    pub(crate) attributes: Vec<(&'static str, Attribute)>,
    /// True if the server failed.
    pub(crate) has_failed: bool,
}
