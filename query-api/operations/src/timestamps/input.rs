//! A proof and the hash of a file, as clients send them.

use base64::{
    Engine,
    alphabet::{STANDARD, URL_SAFE},
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use cairn_http::{ApiError, BadText, ErrorCode, FieldError, Location, TextFormat};
use cairn_timestamps::{HashFunction, MAX_BYTES, Proof};

use crate::parsed::{parsed, schema};

pub(crate) const FILE_HASH: TextFormat = TextFormat {
    name: "file-hash",
    codes: &[ErrorCode::InvalidHash],
    takes_numbers: false,
    canonical: |text| text.trim().to_ascii_lowercase().into(),
    example: None,
    look: |_, text, _| match parse(text) {
        Some(_) => Ok(()),
        None => Err(BadText::with_code(
            ErrorCode::InvalidHash,
            "expected the hash of a file: 64 hexadecimal digits (SHA-256), or 40 (SHA-1, RIPEMD-160)",
        )),
    },
};

fn parse(text: &str) -> Option<Vec<u8>> {
    let is_known = |hash: &Vec<u8>| HashFunction::ALL.iter().any(|function| function.length() == hash.len());
    hex::decode(text).ok().filter(is_known)
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct FileHashParam(pub(super) Vec<u8>);

parsed!(FileHashParam, |text: &str| parse(text).map(FileHashParam).ok_or("not the hash of a file"));
schema!(inline FileHashParam, "FileHash", {
    "type": "string",
    "format": FILE_HASH.name,
    "pattern": "^([0-9a-fA-F]{40}|[0-9a-fA-F]{64})$",
    "description": "Hash of the file: 64 hexadecimal digits (SHA-256), or 40 (SHA-1, RIPEMD-160).",
    "examples": ["27362e66e032c731c1c8519f43063fe0e5d070db1c0c3552bb04afa18a31c6bf"],
});

/// A proof about the first transaction of the chain, as a file: the second SHA-256 of its hash is the Merkle root of
/// block 0, on all networks but testnet4.
pub(super) const EXAMPLE: &str =
    "AE9wZW5UaW1lc3RhbXBzAABQcm9vZgC/ieLohOiSlAEIJzYuZuAyxzHByFGfQwY/4OXQcNscDDVSuwSvoYoxxr8IAAWIlg1z1xkBAQA=";

/// Maximum length of a proof in base64, with line breaks.
pub(super) const MAX_TEXT: usize = 100_000;

/// Reads a proof in base64 from the field `name`. Both alphabets are read, with and without padding; spaces and line
/// breaks are left out.
///
/// # Errors
/// Returns 400 `invalid_proof`, with the offset of the first byte that is wrong.
pub(super) fn read_proof(name: &str, text: &str) -> Result<Proof, ApiError> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let is_url_safe = digits.iter().any(|digit| matches!(digit, b'-' | b'_'));
    let padding = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let engine = GeneralPurpose::new(if is_url_safe { &URL_SAFE } else { &STANDARD }, padding);
    let bytes = engine.decode(&digits).map_err(|_| {
        let message = format!("is not base64: it must be the bytes of a file *.ots, at most {MAX_BYTES}, in base64");
        invalid(name, message)
    })?;
    Proof::read(&bytes).map_err(|error| {
        let message = match bytes.len() {
            length if length > MAX_BYTES => format!("{error}: it has {length}"),
            _ => error.to_string(),
        };
        invalid(name, message).with("offset", error.offset)
    })
}

fn invalid(name: &str, message: String) -> ApiError {
    let field = FieldError { location: Location::Body, name: name.to_owned(), message, allowed: None, example: None };
    ApiError::of_fields(ErrorCode::InvalidProof, vec![field])
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn every_form_of_base64() {
        let proof = read_proof("proof", EXAMPLE).unwrap();
        let url = EXAMPLE.replace('+', "-").replace('/', "_");
        let lines: String = EXAMPLE.chars().flat_map(|digit| [digit, '\n']).collect();
        for text in [EXAMPLE.trim_end_matches('='), &url, url.trim_end_matches('='), &lines, &format!(" {EXAMPLE}\r\n")]
        {
            assert_eq!(read_proof("proof", text).unwrap(), proof, "{text}");
        }
    }

    #[test]
    fn errors_have_the_offset() {
        for (text, offset) in [("", Some(0)), ("AAAA", Some(1)), ("AE9w", Some(3)), ("!", None), ("A", None)] {
            let error = read_proof("proof", text).unwrap_err();
            assert_eq!((error.status.as_u16(), error.code), (400, ErrorCode::InvalidProof));
            assert_eq!(error.extra.get("offset").and_then(Value::as_u64), offset, "{text}: {}", error.detail);
            assert_eq!(error.errors[0].name, "proof");
        }
    }

    #[test]
    fn hashes_of_files() {
        let look = |text: &str| (FILE_HASH.look)(&Value::Null, text, None).err().and_then(|bad| bad.code);
        assert_eq!((look(&"0f".repeat(32)), look(&"0f".repeat(20))), (None, None));
        for text in ["", "0f", "zz", &"0f".repeat(31), &"0f".repeat(33), &"zz".repeat(32)] {
            assert_eq!(look(text), Some(ErrorCode::InvalidHash), "{text}");
        }
        assert_eq!((FILE_HASH.canonical)(&format!(" {} ", "0F".repeat(32))), "0f".repeat(32));
    }
}
