//! Secrets in headers of requests.

/// A request header whose value only its sender may know. It becomes a field of the input. No answer, error or log
/// repeats it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SecretHeader {
    /// Name of the header.
    pub name: &'static str,
    /// Name of the field. Its type is an optional string: a request without the header is the operation's to refuse.
    pub field: &'static str,
}
