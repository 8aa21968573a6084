//! Links to pages.

use std::fmt;

use askama::filters::{Escaper, Html, HtmlSafe};
use cairn_http::segment;

use crate::format::Plain;

/// HTML that is safe as it is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Markup(pub(crate) String);

impl fmt::Display for Markup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl HtmlSafe for Markup {}

pub(crate) fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    // Writing to a String cannot fail.
    let _ = Html.write_escaped_str(&mut html, text);
    html
}

pub(crate) fn address_path(address: &str) -> String {
    format!("/address/{}", segment(address))
}

pub(crate) fn tx_path(txid: &str) -> String {
    format!("/tx/{}", segment(txid))
}

/// Path of the page of a block, by height or hash.
pub(crate) fn block_path(block: &dyn fmt::Display) -> String {
    format!("/block/{}", segment(&block.to_string()))
}

/// A link to an address, written out.
pub(crate) fn address(address: &str) -> Markup {
    Markup(format!("<a href=\"{}\"><code>{}</code></a>", address_path(address), escaped(address)))
}

/// A link to an address, shortened in the middle.
pub(crate) fn short_address(address: &str) -> Markup {
    shortened(&address_path(address), address)
}

/// A link to a transaction, shortened in the middle.
pub(crate) fn tx(txid: &str) -> Markup {
    shortened(&tx_path(txid), txid)
}

pub(crate) fn block(height: impl Plain<u64>) -> Markup {
    let height = height.plain();
    Markup(format!("<a href=\"/block/{height}\">{height}</a>"))
}

/// A link whose text is cut in the middle. The whole text is its title.
fn shortened(path: &str, text: &str) -> Markup {
    let (path, whole) = (escaped(path), escaped(text));
    Markup(format!("<a href=\"{path}\" title=\"{whole}\"><code>{}</code></a>", escaped(&short(text))))
}

/// The first eight and the last six characters of a long text.
pub(crate) fn short(text: &str) -> String {
    let count = text.chars().count();
    if count <= 18 {
        return text.to_owned();
    }
    let (first, last): (String, String) = (text.chars().take(8).collect(), text.chars().skip(count - 6).collect());
    format!("{first}…{last}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_escaped_and_short() {
        assert_eq!(address("a<\"b").0, "<a href=\"/address/a%3C%22b\"><code>a&#60;&#34;b</code></a>");
        assert_eq!(short("0123456789abcdefghij"), "01234567…efghij");
        assert_eq!(short("short"), "short");
        assert!(tx("0123456789abcdefghij").0.contains("title=\"0123456789abcdefghij\""));
    }
}
