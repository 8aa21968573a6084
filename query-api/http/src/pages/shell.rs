//! The layout of all HTML pages: style, navigation and icon.

use crate::pages::escaping::escape;

/// Path of the icon. Browsers request a default one unless the page names it.
pub(crate) const ICON_PATH: &str = "/favicon.svg";
/// Three stacked stones.
pub(crate) const ICON: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 32 32\">\
    <g fill=\"#c2410c\"><ellipse cx=\"16\" cy=\"25\" rx=\"13\" ry=\"5\"/><ellipse cx=\"16\" cy=\"15.5\" rx=\"9\" ry=\"4\"/>\
    <ellipse cx=\"16\" cy=\"8\" rx=\"5\" ry=\"3\"/></g></svg>\n";

/// Content security policy of pages without scripts.
pub const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";

/// Style of all pages. Below 40 rem, table rows are shown as blocks.
const STYLE: &str = "
:root { color-scheme: light dark; --ground: light-dark(#fff, #121519); --ink: light-dark(#1a1d21, #e6e8eb);
  --muted: light-dark(#545c66, #a4acb6); --line: light-dark(#d4d8dd, #3b414a); --soft: light-dark(#f2f4f6, #1e2329);
  --link: light-dark(#0a55c0, #8ab8ff) }
* { box-sizing: border-box }
html { scroll-padding-top: 1rem; -webkit-text-size-adjust: 100% }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--ground); max-width: 62rem; margin: 0 auto;
  padding: 1rem 1rem 3rem }
h1 { margin: 1.4rem 0 .8rem; font-size: 1.9rem; line-height: 1.2 } h2 { margin: 2.2rem 0 .6rem; font-size: 1.25rem }
h3 { margin: 0; font-size: 1.02rem; overflow-wrap: anywhere } h4 { margin: 1.1rem 0 .3rem; font-size: .95rem }
a { color: var(--link) } a:hover { text-decoration-thickness: 2px }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: .2rem }
code { font: .875em ui-monospace, monospace; overflow-wrap: anywhere }
pre { background: var(--soft); border-radius: .5rem; padding: .7rem .9rem; overflow: auto; max-height: 26rem; font-size: .95rem }
pre.command { white-space: pre-wrap }
table { border-collapse: collapse; width: 100% }
th { text-align: left; font-size: .875rem; padding: .3rem .8rem .3rem 0 }
td { border-top: 1px solid var(--line); padding: .45rem .8rem .45rem 0; vertical-align: top; overflow-wrap: break-word }
td code { overflow-wrap: break-word }
.muted { color: var(--muted); font-size: .9rem }
.skip { position: absolute; left: 1rem; top: -6rem; background: var(--ground); padding: .5rem } .skip:focus { top: .5rem }
nav.top { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; border-bottom: 1px solid var(--line); padding-bottom: .5rem }
nav.top a { padding: .25rem 0; text-decoration: none } nav.top a:hover { text-decoration: underline }
nav.top a:first-child { font-weight: 700; color: var(--ink) }
p.note { background: var(--soft); border-radius: .5rem; padding: .7rem .9rem }
:target { background: var(--soft) }
@media (max-width: 40rem) { table, tbody, tr, td { display: block } th { display: none } td { padding-right: 0 }
  td, td code { overflow-wrap: anywhere } td + td { border: 0; padding-top: 0 } }
";

/// Text as HTML. Text between backticks becomes code.
pub fn prose(text: &str) -> String {
    let parts: Vec<String> = text.split('`').map(escape).collect();
    // An unpaired backtick stays as it is.
    if parts.len().is_multiple_of(2) {
        return escape(text);
    }
    let marked = parts
        .iter()
        .enumerate()
        .map(|(at, part)| if at % 2 == 0 { part.clone() } else { format!("<code>{part}</code>") });
    marked.collect()
}

/// A page with this title, content (HTML) and additional style.
pub fn page(title: &str, more_style: &str, content: &str) -> String {
    let title = escape(title);
    let full = if title == "Cairn" { title.clone() } else { format!("{title} · Cairn") };
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>{full}</title>\
         <link rel=\"icon\" type=\"image/svg+xml\" href=\"{ICON_PATH}\"><style>{STYLE}{more_style}</style></head><body>\n\
         <a class=\"skip\" href=\"#content\">Skip to content</a>\n\
         <nav class=\"top\" aria-label=\"Pages\"><a href=\"/\">Cairn</a> <a href=\"/getting-started\">Getting started</a> \
         <a href=\"/api/reference/\">Reference</a> <a href=\"/api/reference/errors/\">Errors</a> \
         <a href=\"/api/reference/definitions/\">Definitions</a> <a href=\"/openapi.json\">OpenAPI</a> \
         <a href=\"/api/health\">Health</a></nav>\n<main id=\"content\">\n<h1>{title}</h1>\n{content}</main>\n</body></html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backticks_make_code() {
        assert_eq!(prose("a `b<` c `d`"), "a <code>b&lt;</code> c <code>d</code>");
        assert_eq!((prose("a & b"), prose("one ` alone")), ("a &amp; b".to_owned(), "one ` alone".to_owned()));
    }

    #[test]
    fn titles_are_text() {
        let html = page("<a> & b", "x { y: z }", "<p>c</p>\n");
        assert!(
            html.contains("<title>&lt;a&gt; &amp; b · Cairn</title>") && html.contains("<h1>&lt;a&gt; &amp; b</h1>")
        );
        assert!(html.contains("x { y: z }</style>") && html.contains("<p>c</p>\n</main>"));
        assert!(page("Cairn", "", "").contains("<title>Cairn</title>"));
        for absent in ["<script", "src=", "href=\"http", "url(", "@import"] {
            assert!(!html.contains(absent), "{absent}");
        }
    }
}
