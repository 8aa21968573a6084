//! Common parts of all pages for people.

pub(crate) mod escaping;
pub(crate) mod shell;
pub(crate) mod site;
