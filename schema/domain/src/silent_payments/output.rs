//! Outputs that pay to taproot.

use bitcoin::Script;

/// The first eight bytes of the x coordinate of an output key.
pub type OutputPrefix = [u8; 8];

/// The x coordinate of the key that a P2TR script pays to; `None` for other scripts.
#[must_use]
pub(super) fn output_key(script: &Script) -> Option<[u8; 32]> {
    if script.is_p2tr() { script.as_bytes()[2..].try_into().ok() } else { None }
}

/// Its first bytes.
#[must_use]
pub fn output_prefix(script: &Script) -> Option<OutputPrefix> {
    output_key(script).and_then(|key| key.first_chunk().copied())
}
