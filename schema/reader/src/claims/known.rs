//! Claims as an earlier state of the ledger had them.

use bitcoin::hashes::{Hash, sha256};
use cairn_model::ScriptId;
use cairn_tables::{
    Table,
    claims::{Claims, ListKey, ListVersion},
};

use super::{ClaimWalk, ListClaims, MAX_LISTS, MAX_OF_A_LIST, ScriptClaims};
use crate::{
    ReadError,
    contests::{newest_of, of_script},
    subjects::ClaimView,
};

/// Most scripts with claims whose hashes begin with the same prefix that are compared with a script.
const MAX_SAME_PREFIX: usize = 16;

impl ClaimWalk<'_> {
    /// Claims about a script as they stood while only some documents were known, by the SHA-256 of the script. `knows`
    /// decides which: of each list, the newest document of these counts. A claim ends if a known complete document of
    /// its list no longer has it. Reads every row about the script, at most 65 536.
    pub fn known<E: From<ReadError>>(
        &mut self,
        script: &[u8; 32],
        mut knows: impl FnMut(&ListVersion) -> Result<bool, E>,
    ) -> Result<ScriptClaims, E> {
        let mut found = ScriptClaims::default();
        let mut newest: Option<ListClaims> = None;
        for (key, claim) in self.rows(script)? {
            if !knows(&key.version)? {
                continue;
            }
            if newest.as_ref().is_none_or(|of| of.list != key.list) {
                found.lists.extend(newest.take());
            }
            let of = newest.get_or_insert_with(|| ListClaims {
                list: key.list.clone(),
                version: key.version,
                claims: Vec::new(),
                first_at: key.version.retrieved_at,
                ended_at: None,
                contests: Vec::new(),
            });
            if of.version != key.version {
                of.version = key.version;
                of.claims.clear();
            }
            if of.claims.len() < MAX_OF_A_LIST { of.claims.push(claim) } else { found.is_cut = true }
        }
        found.lists.extend(newest);
        if found.lists.len() > MAX_LISTS {
            found.lists.truncate(MAX_LISTS);
            found.is_cut = true;
        }
        if found.lists.is_empty() {
            return Ok(found);
        }
        let (contests, is_cut) = of_script(self.view, &mut self.contests, script, None)?;
        found.is_cut |= is_cut;
        let mut known = Vec::with_capacity(contests.len());
        for contest in contests {
            if knows(&contest.0.version)? {
                known.push(contest);
            }
        }
        for of in &mut found.lists {
            of.contests = newest_of(&known, &of.list);
            of.ended_at = self.ended(&of.list, of.version, &mut knows)?;
        }
        Ok(found)
    }

    /// When the first known complete document after this one was retrieved.
    fn ended<E: From<ReadError>>(
        &mut self,
        list: &ListKey,
        version: ListVersion,
        knows: &mut impl FnMut(&ListVersion) -> Result<bool, E>,
    ) -> Result<Option<u32>, E> {
        match self.complete_after(list, version)? {
            Some(next) if knows(&next)? => Ok(Some(next.retrieved_at)),
            _ => Ok(None),
        }
    }

    /// The SHA-256 of a script of the chain, if there are claims about it; `None` if there are none. Most scripts have
    /// none, which takes one row read; otherwise the whole script is compared.
    pub fn hash_of(&mut self, id: ScriptId) -> Result<Option<[u8; 32]>, ReadError> {
        let significant = self.view.facts().script_prefix.min(8);
        let prefix = &id.prefix.0[..significant];
        let (mut from, mut own) = (prefix.to_vec(), None);
        for _ in 0..MAX_SAME_PREFIX {
            self.rows.seek(&from);
            self.view.count(Claims::NAME)?;
            let Some(key) = self.rows.row()?.map(|(key, _)| key).filter(|key| key.starts_with(prefix)) else { break };
            let hash = Claims::decode_key(key)?.script;
            let own = match own {
                Some(own) => own,
                None => {
                    let bytes = self.view.scripts().bytes_of(id)?;
                    let bytes = bytes.ok_or_else(|| self.view.broken("a script of an input is missing"))?;
                    *own.insert(sha256::Hash::hash(&bytes).to_byte_array())
                }
            };
            if own == hash {
                return Ok(Some(hash));
            }
            from = hash.to_vec();
            from.push(u8::MAX);
        }
        Ok(None)
    }
}

impl ClaimView<'_> {
    /// The sequence number of a document in the ledger; `None` if the ledger does not have it. One row read.
    pub fn seq_of(self, version: &ListVersion) -> Result<Option<u64>, ReadError> {
        Ok(self.document_beginning(&version.document)?.map(|(_, state)| state.seq))
    }
}
