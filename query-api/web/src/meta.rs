//! Where figures come from: the block at which they are valid, and the answer of the API that says the same.

use std::fmt;

use askama::{Template, filters::HtmlSafe};
use serde::Deserialize;

/// The source of an answer. Writes itself as a line below the figures that were made from it.
#[derive(Clone, Debug, Template)]
#[template(path = "source.html")]
pub(crate) struct Source {
    /// Path of the answer, if a GET gives it.
    pub(crate) path: String,
    /// True if a POST gives it.
    pub(crate) is_post: bool,
    pub(crate) tip: Option<Tip>,
    pub(crate) warnings: Vec<Warning>,
}

impl HtmlSafe for Source {}

/// The tip at which an answer is valid.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub(crate) struct Tip {
    pub(crate) height: u32,
    pub(crate) hash: String,
}

/// A warning about an answer.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Warning {
    pub(crate) code: String,
    #[serde(default)]
    pub(crate) message: String,
}

#[derive(Deserialize)]
struct Body {
    #[serde(rename = "_meta")]
    meta: Meta,
}

#[derive(Deserialize)]
struct Meta {
    endpoint: String,
    tip: Option<Tip>,
    #[serde(default)]
    warnings: Vec<Warning>,
}

impl Source {
    pub(crate) fn read(body: &[u8], path: String) -> Result<Self, serde_json::Error> {
        let Body { meta: Meta { endpoint, tip, warnings } } = serde_json::from_slice(body)?;
        Ok(Source { path, is_post: endpoint.starts_with("POST "), tip, warnings })
    }
}

/// Writes a warning as its sentence, or its code if it has none.
impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.message.is_empty() { &self.code } else { &self.message })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_names_block_and_answer() {
        let body = r#"{"a":1,"_meta":{"endpoint":"/v1/x","tip":{"height":7,"hash":"00ab","lag_blocks":null},
            "warnings":[{"code":"c","message":"a <b>"},{"code":"d"}]}}"#;
        let html = Source::read(body.as_bytes(), "/v1/x?a=\"".to_owned()).unwrap().to_string();
        for part in ["href=\"/block/00ab\"", "block 7", "href=\"/v1/x?a=&#34;\"", "a &#60;b&#62;", ">d<"] {
            assert!(html.contains(part), "{part}: {html}");
        }
        let posted = r#"{"_meta":{"endpoint":"POST /v1/x","tip":null}}"#;
        let html = Source::read(posted.as_bytes(), "/v1/x".to_owned()).unwrap().to_string();
        assert!(html.contains("<code>POST /v1/x</code>") && !html.contains("href=\"/v1"), "{html}");
        assert!(Source::read(b"{}", String::new()).is_err());
    }
}
