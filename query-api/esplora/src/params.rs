//! Parts of paths, and what a wrong one is answered with.

use cairn_model::{BlockHash, Txid};

use crate::answer::Refusal;

/// A txid as people write it: 64 hexadecimal digits, last byte first.
pub(crate) fn txid(text: &str) -> Result<Txid, Refusal> {
    text.parse().map_err(|_| Refusal::bad("Invalid hex string"))
}

/// A block hash as people write it.
pub(crate) fn block_hash(text: &str) -> Result<BlockHash, Refusal> {
    text.parse().map_err(|_| Refusal::bad("Invalid hex string"))
}

/// A number of decimal digits.
pub(crate) fn number(text: &str) -> Result<u32, Refusal> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number).ok_or_else(|| Refusal::bad("Invalid number"))
}
