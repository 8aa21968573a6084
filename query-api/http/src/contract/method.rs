//! HTTP methods of operations.

/// HTTP method of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// GET; HEAD comes with it.
    Get,
    /// POST with a JSON body. Its answers are never stored and have no ETag.
    Post,
}

impl Method {
    /// The method as HTTP writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
        }
    }
}
