//! Our caveats: `name=value`, the name up to the first `=`.

use crate::binding::Binding;

/// Caveat of ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Name {
    Method,
    Path,
    Query,
    Body,
    Expires,
}

impl Name {
    /// Those that must equal the request.
    pub(crate) const EQUAL: [Self; 4] = [Self::Method, Self::Path, Self::Query, Self::Body];

    const fn text(self) -> &'static str {
        match self {
            Self::Method => "wr_method",
            Self::Path => "wr_path",
            Self::Query => "wr_query_sha256",
            Self::Body => "wr_body_sha256",
            Self::Expires => "wr_expires",
        }
    }

    pub(crate) fn value_in(self, caveat: &[u8]) -> Option<&[u8]> {
        caveat.strip_prefix(self.text().as_bytes())?.strip_prefix(b"=")
    }

    fn with(self, value: &str) -> String {
        format!("{}={value}", self.text())
    }
}

/// Returns the value that a caveat must have for this request; `None` for the expiry, which no request has.
pub(crate) fn value_for(name: Name, binding: &Binding<'_>) -> Option<String> {
    match name {
        Name::Method => Some(binding.method().to_owned()),
        Name::Path => Some(binding.path().to_owned()),
        Name::Query => Some(hex::encode(binding.query_hash())),
        Name::Body => Some(hex::encode(binding.body_hash())),
        Name::Expires => None,
    }
}

pub(crate) fn of_request(binding: &Binding<'_>, expires: u64) -> Vec<String> {
    let equal = Name::EQUAL.into_iter().filter_map(|name| Some(name.with(&value_for(name, binding)?)));
    equal.chain([Name::Expires.with(&expires.to_string())]).collect()
}

/// Reads the value of `wr_expires`: decimal digits, no sign and no leading zero.
pub(crate) fn parse_expires(value: &[u8]) -> Option<u64> {
    let text = str::from_utf8(value).ok()?;
    let seconds: u64 = text.parse().ok()?;
    (seconds.to_string() == text).then_some(seconds)
}
