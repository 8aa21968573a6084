//! Scripts by the SHA-256 of their bytes.

use bitcoin::hashes::{Hash, sha256};
use cairn_model::{ScriptId, ScriptPrefix};
use cairn_tables::{stages::SCRIPTS, totals::TotalsTable};

use crate::{FoundScript, ReadError, subjects::ScriptView};

impl ScriptView<'_> {
    /// Finds a script by SHA-256(scriptPubKey), first byte first, and gives its bytes too: the hash's prefix leads to
    /// candidates, the hash of the whole script decides. Two row reads, and two more for each other script with its
    /// prefix.
    pub fn find_hash(self, digest: &[u8; 32]) -> Result<Option<(FoundScript, Vec<u8>)>, ReadError> {
        self.view.require(&SCRIPTS)?;
        let mut prefix = [0u8; 8];
        let significant = self.view.facts().script_prefix.min(8);
        prefix[..significant].copy_from_slice(&digest[..significant]);
        for ordinal in 0..=u8::MAX {
            let id = ScriptId { prefix: ScriptPrefix(prefix), ordinal };
            let Some(totals) = self.view.get::<TotalsTable>(&id)? else { return Ok(None) };
            let script = self.view.transactions().script_at(totals.first)?;
            if sha256::Hash::hash(&script).as_byte_array() == digest {
                return Ok(Some((FoundScript { id, totals }, script)));
            }
        }
        Ok(None)
    }
}
