//! The layout of all HTML pages: style, navigation and icon.

use std::fmt;

use askama::{Template, filters::Safe};

/// Path of the icon. Browsers request a default one unless the page names it.
pub(crate) const ICON_PATH: &str = "/favicon.svg";
/// Three stacked stones.
pub(crate) const ICON: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 32 32\">\
    <g fill=\"#c2410c\"><ellipse cx=\"16\" cy=\"25\" rx=\"13\" ry=\"5\"/><ellipse cx=\"16\" cy=\"15.5\" rx=\"9\" ry=\"4\"/>\
    <ellipse cx=\"16\" cy=\"8\" rx=\"5\" ry=\"3\"/></g></svg>\n";

/// Content security policy of pages without scripts.
pub const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";
/// Content security policy of pages without scripts whose forms this server takes.
pub const FORM_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; base-uri 'none'; \
    form-action 'self'; frame-ancestors 'none'";

/// The layout around the content of all pages.
#[derive(Template)]
#[template(path = "shell.html")]
struct Shell<'a, C: fmt::Display> {
    title: &'a str,
    more_style: Safe<&'a str>,
    content: Safe<&'a C>,
}

/// A page with this title, content (a template, or HTML without its last newline) and additional style.
pub fn page(title: &str, more_style: &str, content: &impl fmt::Display) -> String {
    let shell = Shell { title, more_style: Safe(more_style), content: Safe(content) };
    let html = shell.render().unwrap_or_else(|error| {
        // No content of a page fails to render.
        tracing::error!(%error, title, "a page cannot be rendered");
        String::new()
    });
    html + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_text() {
        let html = page("<a> & b", "x { y: z }", &"<p>c</p>");
        assert!(
            html.contains("<title>&lt;a&gt; &amp; b · Cairn</title>") && html.contains("<h1>&lt;a&gt; &amp; b</h1>")
        );
        assert!(html.contains("x { y: z }</style>") && html.contains("<p>c</p>\n</main>"));
        assert!(page("Cairn", "", &"").contains("<title>Cairn</title>"));
        for absent in ["<script", "src=", "href=\"http", "url(", "@import"] {
            assert!(!html.contains(absent), "{absent}");
        }
    }
}
