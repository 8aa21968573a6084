//! `GET /v1/qr`.

use cairn_http::{File, Png};

use super::code;
use crate::operation::prelude::*;

pub(crate) struct Qr;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct QrInput {
    /// Content of the code: any text, such as a bitcoin: URI. Digits alone, and capitals with digits, need less space.
    #[schemars(length(min = 1, max = 4096), example = "bitcoin:1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa?amount=0.001")]
    data: String,
}

/// Text that does not fit into the largest code.
const TOO_LONG: ErrorCode = ErrorCode::QrCapacityExceeded;

impl Operation for Qr {
    const INFO: Info = Info {
        summary: "A QR code of a text, as a PNG picture",
        description: "Black on white with the quiet zone that scanners need. The densest encoding is chosen, and a \
            better error correction where there is room for it; text beyond ASCII is marked as UTF-8. The largest code \
            has 2 953 bytes, or 4 296 capitals and digits; a longer text is answered with 422. The answer depends only \
            on the text and may be cached forever.",
        cost: Cost::Standard,
        source: "request",
        freshness: &[],
        freshness_semantics: "the answer depends on nothing but the request",
        errors: &[TOO_LONG],
        tool: Tool::reads(
            "asked for a picture to scan, such as of an address or a payment request",
            "reading a QR code, or text of more than 2 953 bytes",
        ),
        ..index_get("qr_code", "/v1/qr", "service")
    };
    type Input = QrInput;
    type Output = File<Png>;

    fn run(_: &Ctx<'_>, input: QrInput) -> Result<File<Png>, ApiError> {
        let Some(code) = code::encode(&input.data) else {
            let detail = format!(
                "the text is too long for a QR code: it has {} bytes; at most 2 953 bytes, or 4 296 capitals and digits, fit",
                input.data.len()
            );
            return Err(ApiError::new(TOO_LONG, detail));
        };
        code::picture(&code).map(File::new).map_err(|error| {
            tracing::error!(%error, "a picture could not be written");
            ApiError::internal()
        })
    }
}
