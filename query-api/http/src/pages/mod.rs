//! What all pages for people have in common.

pub(crate) mod escaping;
pub(crate) mod shell;
pub(crate) mod site;
