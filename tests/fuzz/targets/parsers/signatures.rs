//! Signed messages: a script, a message and a signature, from strangers.

use bitcoin::Script;
use cairn_domain::signed::{Verdict, verify_signed};

use super::bounds::within;

/// Before it reads a list, the decoder of transactions makes room for up to a megabyte of it, whatever the bytes are.
const FREE_BYTES: u64 = 3 << 20;
const BYTES_PER_BYTE: u64 = 80;

/// The first byte is the length of the script; the message ends at a NUL.
pub fn run(bytes: &[u8]) {
    let Some((length, rest)) = bytes.split_first() else { return };
    let Some((script, rest)) = rest.split_at_checked(usize::from(*length)) else { return };
    let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
    let (message, signature) = rest.split_at(end);
    let (Ok(message), Ok(signature)) = (str::from_utf8(message), str::from_utf8(signature)) else { return };
    let (script, signature) = (Script::from_bytes(script), signature.trim_start_matches('\0'));
    let limit = FREE_BYTES + BYTES_PER_BYTE * bytes.len() as u64;
    let verdict = within(limit, || verify_signed(script, message, signature));
    if let Verdict::Valid(_) = verdict {
        let other = format!("{message}.");
        assert!(!matches!(verify_signed(script, &other, signature), Verdict::Valid(_)), "valid for two messages");
    }
}
