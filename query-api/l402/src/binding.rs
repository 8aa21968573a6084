//! The request that a credential opens.

use thiserror::Error;

use crate::chain::sha256;

/// Longest path in bytes to which a credential is bound.
pub const MAX_PATH_BYTES: usize = 2_048;
/// Longest method in bytes.
pub const MAX_METHOD_BYTES: usize = 16;

/// Request to which a credential is bound: another method, path, query or body is another request.
///
/// Nothing is normalized here, so two requests are the same only if their bytes are:
///
/// - **Method:** upper-case letters, as in the request line. Whether HEAD counts as GET is up to the caller.
/// - **Path:** begins with `/`, in the form after which the server chose the operation. The caller decodes and
///   normalizes it before, since only the router knows which spellings are one path.
/// - **Query:** the bytes behind the first `?` of the request's target, neither decoded nor sorted. No query is the
///   same as an empty one. Sorting is not safe: in `a=1&a=2` the order counts for a server that takes the first or the
///   last value. Nor is decoding: it makes two texts equal that a server may treat differently. Comparing bytes never
///   opens more than was paid for, and clients repeat the same URL after they paid: `@getalby/lightning-tools` 9.0.1
///   calls `fetch` with the same text, `l402` 0.5.1 gives the same configuration to axios. A proxy in between rewrites
///   both requests alike. The arguments of MCP have no order; the caller writes them as a query in an order of its own.
/// - **Body:** SHA-256 of the bytes of the request's content; of no bytes if there is no body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Binding<'r> {
    method: &'r str,
    path: &'r str,
    query: &'r [u8],
    body_hash: [u8; 32],
}

/// Why no credential can be bound to a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum BindingError {
    /// The method is not one.
    #[error("the method must be 1 to {MAX_METHOD_BYTES} upper-case letters")]
    Method,
    /// The path does not begin with a slash, or is too long.
    #[error("the path must begin with / and have at most {MAX_PATH_BYTES} bytes; ask for a shorter one")]
    Path,
}

impl<'r> Binding<'r> {
    /// Describes a request, with [`body_hash`] of its body.
    pub fn new(
        method: &'r str,
        path: &'r str,
        query: Option<&'r [u8]>,
        body_hash: [u8; 32],
    ) -> Result<Self, BindingError> {
        let is_method =
            (1..=MAX_METHOD_BYTES).contains(&method.len()) && method.bytes().all(|b| b.is_ascii_uppercase());
        if !is_method {
            return Err(BindingError::Method);
        }
        if !path.starts_with('/') || path.len() > MAX_PATH_BYTES {
            return Err(BindingError::Path);
        }
        Ok(Self { method, path, query: query.unwrap_or_default(), body_hash })
    }

    pub(crate) const fn method(&self) -> &'r str {
        self.method
    }

    pub(crate) const fn path(&self) -> &'r str {
        self.path
    }

    pub(crate) fn query_hash(&self) -> [u8; 32] {
        sha256(self.query)
    }

    pub(crate) const fn body_hash(&self) -> &[u8; 32] {
        &self.body_hash
    }
}

/// Computes the hash of a request's body; that of no bytes if there is no body.
#[must_use]
pub fn body_hash(body: &[u8]) -> [u8; 32] {
    sha256(body)
}
