//! The operations that need a session, as a sentence and a list: a part of several pages.

use askama::{Template, filters::Safe};
use cairn_http::{Info, RegisteredOperation};

use crate::config::ApiConfig;

#[derive(Template)]
#[template(path = "exceptions.html")]
pub(super) struct Exceptions<'a> {
    live: bool,
    gates: bool,
    conditional: Vec<&'a Info>,
}

pub(super) fn exceptions<'a>(operations: &'a [RegisteredOperation], config: &ApiConfig) -> Safe<Exceptions<'a>> {
    let conditional = operations.iter().map(|op| &op.info).filter(|info| info.conditional).collect();
    Safe(Exceptions { live: config.http.access_mode.is_live(), gates: config.http.gates_enabled, conditional })
}
