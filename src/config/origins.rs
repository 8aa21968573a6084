//! Origins of web pages.

/// Parses an origin, or `*` for all.
///
/// # Errors
/// Returns the allowed values.
pub(super) fn origin(text: &str) -> Result<String, String> {
    const ALLOWED: &str =
        "expected an origin without a path, such as https://app.example or http://localhost:5173, or * for all";
    if text == "*" {
        return Ok(text.to_owned());
    }
    let text = text.to_ascii_lowercase();
    let authority = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")).ok_or(ALLOWED)?;
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let is_port = |port: &str| !port.starts_with('+') && port.parse::<u16>().is_ok();
    let is_v6 = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .is_some_and(|host| host.parse::<std::net::Ipv6Addr>().is_ok());
    let is_name = !host.is_empty() && host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-'));
    if (is_v6 || is_name) && port.is_none_or(is_port) { Ok(text) } else { Err(ALLOWED.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_have_no_path() {
        for (text, expected) in
            [("*", "*"), ("https://App.Example", "https://app.example"), ("http://[::1]:5173", "http://[::1]:5173")]
        {
            assert_eq!(origin(text).as_deref(), Ok(expected));
        }
        for text in
            ["", "app.example", "https://", "https://a/", "https://a/b", "https://u@a", "ftp://a", "https://a:x", "**"]
        {
            assert!(origin(text).is_err_and(|error| error.contains("https://app.example")), "{text}");
        }
    }
}
