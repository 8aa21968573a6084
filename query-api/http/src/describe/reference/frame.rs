//! Common parts of the pages of the reference: places and frame.

use std::fmt::Display;

use crate::pages::shell;

/// Where the reference begins.
pub(crate) const ROOT: &str = "/api/reference/";

/// A page with this title and content, with its place in the navigation.
pub(super) fn page(title: &str, place: &str, content: &impl Display) -> String {
    shell::Page { title, place, scripts: &[], styles: &[], content }.html()
}
