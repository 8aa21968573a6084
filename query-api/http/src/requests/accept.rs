//! `Accept`: the format that a client prefers, for operations that answer in several.

use axum::http::{HeaderMap, Uri, header, request::Parts};

/// The parameter that chooses a format.
const FORMAT: &str = "format";

/// Sets the parameter `format` of a request to the format that its `Accept` prefers, unless the request has the
/// parameter.
pub(super) fn choose(parts: &mut Parts, accepts: &[(&str, &str)]) {
    let query = parts.uri.query().unwrap_or_default();
    let has_format = query.split('&').any(|pair| pair.split('=').next() == Some(FORMAT));
    let Some(format) = preferred(&parts.headers, accepts).filter(|_| !has_format) else { return };
    let join = if query.is_empty() { "" } else { "&" };
    let target = format!("{}?{query}{join}{FORMAT}={format}", parts.uri.path());
    let mut uri = parts.uri.clone().into_parts();
    // A path with a query is still one after the change.
    uri.path_and_query = target.parse().ok();
    if let Ok(uri) = Uri::from_parts(uri) {
        parts.uri = uri;
    }
}

/// The format of the media type that a client prefers: the one with the highest quality, the first of equal ones.
/// `None` if it prefers another type, or any.
fn preferred<'f>(headers: &HeaderMap, accepts: &[(&str, &'f str)]) -> Option<&'f str> {
    let given = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut best: Option<(u32, &str)> = None;
    for range in given.flat_map(|value| value.split(',')) {
        let mut parts = range.split(';').map(str::trim);
        let media = parts.next().unwrap_or_default();
        let quality = parts.find_map(|part| part.strip_prefix("q=")).map_or(1_000, quality);
        if quality > best.map_or(0, |(most, _)| most) {
            best = Some((quality, media));
        }
    }
    let (_, media) = best?;
    accepts.iter().find(|(of, _)| of.eq_ignore_ascii_case(media)).map(|(_, format)| *format)
}

/// A quality in thousandths; 0 if it cannot be read.
fn quality(text: &str) -> u32 {
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    match (whole, rest.len()) {
        ("1", 0..=3) => 1_000,
        ("0", 0..=3) => format!("{rest:0<3}").parse().unwrap_or_default(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    const ACCEPTS: &[(&str, &str)] =
        &[("application/json", "json"), ("text/markdown", "markdown"), ("text/html", "html")];

    fn target(uri: &str, accept: Option<&str>) -> String {
        let mut request = Request::get(uri);
        if let Some(accept) = accept {
            request = request.header("accept", accept);
        }
        let (mut parts, ()) = request.body(()).unwrap().into_parts();
        choose(&mut parts, ACCEPTS);
        parts.uri.to_string()
    }

    #[test]
    fn the_preferred_format_is_chosen() {
        let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
        assert_eq!(target("/a", Some(browser)), "/a?format=html");
        assert_eq!(target("/a?depth=2", Some("text/markdown; charset=utf-8")), "/a?depth=2&format=markdown");
        assert_eq!(target("/a", Some("text/html;q=0.5, text/markdown;q=0.75")), "/a?format=markdown");
        assert_eq!(target("/a", Some("text/html;q=0")), "/a");
        assert_eq!(target("/a", Some("*/*")), "/a");
        assert_eq!(target("/a", Some("image/png, text/html;q=0.2")), "/a");
        assert_eq!(target("/a", Some("application/json")), "/a?format=json");
        assert_eq!(target("/a?format=json", Some("text/html")), "/a?format=json");
        assert_eq!(target("/a", None), "/a");
    }
}
