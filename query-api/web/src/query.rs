//! Parameters of pages.

use axum::{extract::Query, http::request::Parts};

/// The parameters of the query of a page. Broken ones count as absent; the last of equal names counts.
pub(crate) struct Parameters(Vec<(String, String)>);

impl Parameters {
    pub(crate) fn of(parts: &Parts) -> Self {
        Parameters(Query::try_from_uri(&parts.uri).map(|Query(all)| all).unwrap_or_default())
    }

    /// A parameter without the spaces around it; `None` if it is absent or empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.0.iter().rev().find(|(known, _)| known == name)?;
        Some(value.trim()).filter(|value| !value.is_empty())
    }

    /// A number; `None` if it is absent or no number.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded() {
        let (parts, ()) = axum::http::Request::get("/x?a=%20b+c&n=7&e=&n=8&bad=%ff").body(()).unwrap().into_parts();
        let parameters = Parameters::of(&parts);
        assert_eq!((parameters.get("a"), parameters.number("n")), (Some("b c"), Some(8)));
        assert_eq!((parameters.get("e"), parameters.get("absent")), (None, None));
    }
}
