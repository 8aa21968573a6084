//! The SHA-256 hash of a file, as clients send it to be anchored.

use cairn_http::{BadText, ErrorCode, TextFormat};

use crate::parsed::{parsed, schema};

pub(crate) const SHA256: TextFormat = TextFormat {
    name: "sha256",
    codes: &[ErrorCode::InvalidHash],
    takes_numbers: false,
    canonical: |text| text.trim().to_ascii_lowercase().into(),
    example: None,
    look: |_, text, _| match parse(text) {
        Some(_) => Ok(()),
        None => Err(BadText::with_code(
            ErrorCode::InvalidHash,
            "expected the SHA-256 hash of a file: 64 hexadecimal digits",
        )),
    },
};

fn parse(text: &str) -> Option<[u8; 32]> {
    hex::decode(text).ok()?.try_into().ok()
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sha256Param(pub(super) [u8; 32]);

parsed!(Sha256Param, |text: &str| parse(text).map(Sha256Param).ok_or("not a SHA-256 hash"));
schema!(inline Sha256Param, "Sha256", {
    "type": "string",
    "format": SHA256.name,
    "pattern": "^[0-9a-fA-F]{64}$",
    "description": "SHA-256 hash of the file: 64 hexadecimal digits.",
    "examples": ["27362e66e032c731c1c8519f43063fe0e5d070db1c0c3552bb04afa18a31c6bf"],
});

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_sha256_hashes_are_hashes() {
        assert_eq!(parse(&"0f".repeat(32)), Some([0x0f; 32]));
        for bad in ["", "0f", &"0f".repeat(20), &"0f".repeat(33), &"0g".repeat(32)] {
            assert_eq!(parse(bad), None, "{bad}");
        }
        assert_eq!((SHA256.canonical)(&format!(" {} ", "0F".repeat(32))), "0f".repeat(32));
    }
}
