//! The P2PK scripts of a key, found by the hash that an address has.

use cairn_domain::key_hashes;
use cairn_tables::{
    keys::HashPrefix,
    pubkeys::{OUTPUTS, Pubkeys, ShownKey},
    stages::PUBKEYS,
};

use crate::{error::ReadError, subjects::ScriptView};

/// A public key that P2PK outputs show.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoundKey {
    /// The key, as the script has it: 33 or 65 bytes.
    pub key: Vec<u8>,
    /// Outputs that pay to the script, spent or not, with those that nobody can spend.
    pub outputs: u64,
}

impl ScriptView<'_> {
    /// The keys of P2PK outputs of which one form has that HASH160, ascending: at most one for each form of a key, so
    /// four. As many rows read, and one.
    pub fn pubkeys(self, hash: &[u8; 20]) -> Result<Vec<FoundKey>, ReadError> {
        self.view.require(&PUBKEYS)?;
        let prefix = HashPrefix::of_hash160(hash);
        let mut found = Vec::new();
        for row in self.view.scan_while::<Pubkeys>((prefix, ShownKey(Vec::new())), |(of, _)| *of == prefix)? {
            let ((_, ShownKey(key)), sums) = row?;
            // Another key's hash may begin with the same bytes.
            if key_hashes(&key).contains(hash) {
                let outputs =
                    u64::try_from(sums.get(OUTPUTS)).map_err(|_| self.view.broken("an impossible row of pubkeys"))?;
                found.push(FoundKey { key, outputs });
            }
        }
        Ok(found)
    }
}
