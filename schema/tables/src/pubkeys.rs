//! `pubkeys`: the public keys that P2PK outputs show, by the hashes of their forms. An address has the hash of one form
//! of a key; with this table it finds the key's P2PK scripts, whether or not a spend has shown the key.
//!
//! ```text
//! 'K' ‖ first bytes of HASH160 of a form of the key (8) ‖ the key as the script has it (33 or 65) → sums by position:
//!   0    outputs that pay to the script, spent or not
//! ```
//!
//! The forms of a key are the one that the script has, the compressed and the uncompressed one. Bytes that are not a
//! point of the curve have only their own. All outputs count, also those that nobody can spend (genesis).

use crate::{
    codec::{DecodeError, Input, KeyCodec},
    keys::HashPrefix,
    sums::Sums,
    table::{Home, Origin, table},
};

table! {
    /// The table.
    pub struct Pubkeys("pubkeys": (HashPrefix, ShownKey) => Sums) in Home::Shared(b'K'), from Origin::Stage("pubkeys");
}

/// Position of the number of outputs.
pub const OUTPUTS: u32 = 0;

/// A public key as a script has it: 33 or 65 bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ShownKey(pub Vec<u8>);

impl KeyCodec for ShownKey {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }

    fn decode(bytes: &mut Input<'_>) -> Result<Self, DecodeError> {
        let key = bytes.take(bytes.left())?;
        if cairn_model::is_key(key) { Ok(ShownKey(key.to_vec())) } else { Err(bytes.error("no public key")) }
    }
}
