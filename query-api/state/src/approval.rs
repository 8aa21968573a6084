//! An approval of a row of a list of sanctions.
//!
//! An approval is for a script and a party of a list, as the approver has seen them in one document. It holds until it
//! is withdrawn. Whether the list still has the row is for the reader to look up.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;

use crate::{MAX_APPROVER_CHARS, StateError};

/// Name of an approver: in small letters, so that nobody is two persons.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Approver(String);

impl Approver {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for Approver {
    type Err = StateError;

    fn from_str(text: &str) -> Result<Self, StateError> {
        // One space between words, so that names that look the same are the same.
        let name = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        let allowed = |c: char| c.is_ascii_alphanumeric() || " .-_@+".contains(c);
        if name.is_empty() || name.chars().count() > MAX_APPROVER_CHARS || !name.chars().all(allowed) {
            return Err(StateError::Approver);
        }
        Ok(Approver(name))
    }
}

/// A row of a list, as an approver has seen it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SeenRow {
    /// SHA-256 of the script.
    pub script: [u8; 32],
    /// The address.
    pub address: String,
    /// The publisher's number of the party; empty if the list has none.
    pub party_uid: String,
    /// The party's name; empty if the list has none.
    pub party_name: String,
}

/// An approval that is not withdrawn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Approval {
    /// Who gave it.
    pub approver: String,
    /// When, in seconds since 1970.
    pub at: u64,
    /// SHA-256 of the document that the approver has seen, in hex.
    pub feed_sha256: String,
}

/// A row of a list with its approvals, each by another approver.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ApprovedRow {
    /// The row.
    pub row: SeenRow,
    /// At least one, the oldest first.
    pub approvals: Vec<Approval>,
}

/// The approvals that are not withdrawn.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Approvals(BTreeMap<String, BTreeMap<[u8; 32], Vec<ApprovedRow>>>);

impl Approvals {
    /// The rows of a list, by script.
    pub fn rows(&self, list: &str) -> impl Iterator<Item = &ApprovedRow> {
        self.0.get(list).into_iter().flat_map(BTreeMap::values).flatten()
    }

    /// The rows of a list with this script: one for each party under which it was approved.
    #[must_use]
    pub fn of_script(&self, list: &str, script: &[u8; 32]) -> &[ApprovedRow] {
        self.0.get(list).and_then(|scripts| scripts.get(script)).map_or(&[], Vec::as_slice)
    }

    /// The approvals of a script under a party; empty if there are none.
    #[must_use]
    pub fn of_party(&self, list: &str, script: &[u8; 32], party_uid: &str, party_name: &str) -> &[Approval] {
        let is_it =
            |of: &&ApprovedRow| (of.row.party_uid.as_str(), of.row.party_name.as_str()) == (party_uid, party_name);
        self.of_script(list, script).iter().find(is_it).map_or(&[], |of| of.approvals.as_slice())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.values().flat_map(BTreeMap::values).flatten().map(|of| of.approvals.len()).sum()
    }

    pub(crate) fn add(&mut self, stored: StoredApproval) -> Result<(), StateError> {
        let (list, script, party_uid, party_name, address, feed_sha256, approver, at) = stored;
        let bad = |what: &str| StateError::Row(format!("the approval of {address:?} has {what}"));
        let mut hash = [0; 32];
        hex::decode_to_slice(&script, &mut hash).map_err(|_| bad("a script hash that is not 64 hexadecimal digits"))?;
        let at = u64::try_from(at).map_err(|_| bad("an invalid time"))?;
        let rows = self.0.entry(list).or_default().entry(hash).or_default();
        let approval = Approval { approver, at, feed_sha256 };
        match rows.iter_mut().find(|of| of.row.party_uid == party_uid && of.row.party_name == party_name) {
            Some(of) => of.approvals.push(approval),
            None => {
                let row = SeenRow { script: hash, address, party_uid, party_name };
                rows.push(ApprovedRow { row, approvals: vec![approval] });
            }
        }
        Ok(())
    }
}

/// Result of an import, and its time.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FeedCheck {
    /// When the publisher's list was last known to be this document, in seconds since 1970.
    pub checked_at: u64,
    /// The date that the document bears; `None` if unknown.
    pub issued_at: Option<u64>,
    /// Rows that no address could be read of; `None` if unknown.
    pub invalid: Option<u64>,
    /// Rows that have an address of another asset than they say; `None` if unknown.
    pub listed_under_other_asset: Option<u64>,
}

/// The approvals as they were last read, with how many there were and how many of them were withdrawn. Either number
/// grows with every change.
#[derive(Default)]
pub(crate) struct CachedApprovals(pub(crate) Mutex<Option<((i64, i64), Arc<Approvals>)>>);

/// A stored row: list, SHA-256 of the script, party, its name, address, document, approver, time.
pub(crate) type StoredApproval = (String, String, String, String, String, String, String, i64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_two_persons() {
        let name = |text: &str| text.parse::<Approver>().map(|name| name.0).unwrap_or_default();
        assert_eq!(name("  Ann \t LEE "), "ann lee");
        assert_eq!(name("ann.lee+1@Example.org"), "ann.lee+1@example.org");
        // Letters that only look like others are refused.
        for text in ["", " ", "\u{430}nn", "a\u{200b}nn", "a\u{1b}[31m", &"x".repeat(65)] {
            assert_eq!(name(text), "", "{text:?}");
        }
    }
}
