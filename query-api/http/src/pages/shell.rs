//! The layout of all HTML pages: one frame, one width, one style sheet, one icon.

use std::{fmt, sync::LazyLock};

use askama::{Template, filters::Safe};
use axum::http::HeaderValue;
use base64::{Engine, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256};

/// Path of the icon. Browsers request a default one unless the page names it.
pub(crate) const ICON_PATH: &str = "/favicon.svg";
/// Three stacked stones.
pub(crate) const ICON: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 32 32\">\
    <g fill=\"#c2410c\"><ellipse cx=\"16\" cy=\"25\" rx=\"13\" ry=\"5\"/><ellipse cx=\"16\" cy=\"15.5\" rx=\"9\" ry=\"4\"/>\
    <ellipse cx=\"16\" cy=\"8\" rx=\"5\" ry=\"3\"/></g></svg>\n";

/// The style of all pages.
pub(crate) const STYLE: &str = include_str!("../../templates/style.css");
/// Path of the style sheet.
pub(crate) const STYLE_PATH: &str = "/style.css";

/// Content security policy of pages: nothing comes from elsewhere, and nothing runs that is not a file of this server.
pub const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
    img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Content security policy of pages that are files of their own: they carry the style sheet, and have no scripts.
pub(crate) static FILE_POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let hash = STANDARD.encode(Sha256::digest(STYLE));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{hash}'; img-src 'self'; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'"
    );
    // Base64 is visible ASCII.
    HeaderValue::from_str(&policy).unwrap_or_else(|_| HeaderValue::from_static("default-src 'none'"))
});

/// Path of the style sheet with its version, which browsers keep for good.
static VERSIONED_STYLE: LazyLock<String> = LazyLock::new(|| versioned(STYLE_PATH, STYLE));

/// A path with the version of what is there: its content can be kept for good.
#[must_use]
pub fn versioned(path: &str, content: &str) -> String {
    format!("{path}?v={}", hex::encode(&Sha256::digest(content)[..6]))
}

/// Pages in the navigation: path and text.
const PLACES: [(&str, &str); 7] = [
    ("/", "Chain"),
    ("/wallet", "Wallet"),
    ("/tx/push", "Send"),
    ("/about", "API"),
    ("/getting-started", "Getting started"),
    ("/api/reference/", "Reference"),
    ("/api/reference/definitions/", "Definitions"),
];

/// A page: what goes into the frame.
pub struct Page<'a, C> {
    /// Title and first heading.
    pub title: &'a str,
    /// Path of the page in the navigation that it belongs to; empty: none.
    pub place: &'a str,
    /// Paths of its scripts.
    pub scripts: &'a [&'a str],
    /// Paths of its style sheets, besides that of all pages.
    pub styles: &'a [&'a str],
    /// A template, or HTML without its last newline.
    pub content: &'a C,
}

/// The layout around the content of all pages.
#[derive(Template)]
#[template(path = "shell.html")]
struct Shell<'a, C: fmt::Display> {
    title: &'a str,
    place: &'a str,
    scripts: &'a [&'a str],
    styles: &'a [&'a str],
    /// The whole style sheet, in pages that are files of their own.
    style: Option<Safe<&'a str>>,
    content: Safe<&'a C>,
}

impl<C: fmt::Display> Page<'_, C> {
    /// Writes the page.
    #[must_use]
    pub fn html(&self) -> String {
        self.written(None)
    }

    /// Writes the page as a file that is readable without this server: with the style sheet in it, and without what
    /// leads to other pages.
    #[must_use]
    pub fn file(&self) -> String {
        self.written(Some(Safe(STYLE)))
    }

    fn written(&self, style: Option<Safe<&str>>) -> String {
        let Page { title, place, scripts, styles, content } = *self;
        let shell = Shell { title, place, scripts, styles, style, content: Safe(content) };
        let html = shell.render().unwrap_or_else(|error| {
            // No content of a page fails to render.
            tracing::error!(%error, title, "a page cannot be rendered");
            String::new()
        });
        html + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page<'a>(title: &'a str, content: &'a &'a str) -> Page<'a, &'a str> {
        Page { title, place: "/about", scripts: &[], styles: &[], content }
    }

    #[test]
    fn titles_are_text() {
        let html = page("<a> & b", &"<p>c</p>").html();
        assert!(
            html.contains("<title>&lt;a&gt; &amp; b · Cairn</title>") && html.contains("<h1>&lt;a&gt; &amp; b</h1>")
        );
        assert!(html.contains("<p>c</p>\n</main>") && html.contains("href=\"/about\" aria-current=\"page\""));
        assert!(page("Cairn", &"").html().contains("<title>Cairn</title>"));
        for absent in ["<script", "<style", "src=", "href=\"http", "url(", "@import"] {
            assert!(!html.contains(absent), "{absent}");
        }
    }

    #[test]
    fn a_file_has_the_style_that_its_policy_names() {
        let html = page("a", &"").file();
        let (_, rest) = html.split_once("<style>").unwrap();
        let (style, _) = rest.split_once("</style>").unwrap();
        let hash = STANDARD.encode(Sha256::digest(style));
        assert!(FILE_POLICY.to_str().unwrap().contains(&format!("'sha256-{hash}'")));
        assert!(!html.contains("<link") && !html.contains("<form") && !html.contains("<nav"));
    }
}
