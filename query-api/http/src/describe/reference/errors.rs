//! The page of error codes.

use askama::{Template, filters::Safe};

use super::frame;
use crate::{
    answers::code::ErrorCode,
    config::HttpConfig,
    contract::{format::TextFormat, operation::RegisteredOperation},
    describe::openapi::failures,
    pages::escaping::prose,
};

#[derive(Template)]
#[template(path = "reference/errors.html")]
struct Page {
    rows: Vec<Row>,
}

/// A code.
struct Row {
    status: u16,
    name: &'static str,
    meaning: Safe<String>,
    raised: CodeOrigin,
}

/// Where a code comes from.
enum CodeOrigin {
    Never,
    Anywhere,
    By(Vec<&'static str>),
}

impl Row {
    fn of(code: ErrorCode, operations: &[RegisteredOperation], formats: &[TextFormat], config: &HttpConfig) -> Self {
        let raised = operations.iter().filter(|op| failures(op, formats, config).any(|failure| failure == code));
        let raised: Vec<&str> = raised.map(|op| op.info.name).collect();
        Row {
            status: code.status().as_u16(),
            name: code.name(),
            meaning: prose(code.meaning()),
            raised: match raised.len() {
                0 => CodeOrigin::Never,
                all if all == operations.len() => CodeOrigin::Anywhere,
                _ => CodeOrigin::By(raised),
            },
        }
    }
}

pub(super) fn page(operations: &[RegisteredOperation], formats: &[TextFormat], config: &HttpConfig) -> String {
    let rows = ErrorCode::ALL.iter().map(|code| Row::of(*code, operations, formats, config)).collect();
    frame::page("Errors", "", &Page { rows })
}
