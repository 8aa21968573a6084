//! Contests: an entitled party says that a statement is wrong, or the operator says that it holds after all.
//!
//! A contest is of a statement, not of a row: where a source repeats the same statement in its next document, it stays
//! contested; where it says something else, it does not.

use std::{fmt, str::FromStr};

use sha2::{Digest, Sha256};

use crate::{
    Claim, DocumentHash, EntityName, Slug,
    claim::{ContestAct, ContestParty, is_plain},
    codec::{Bytes, MAX_TEXT, Malformed, put_text, put_varint},
};

/// Content of a claim, independent of source, time and evidence: SHA-256 over the script and the words.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StatementHash(pub [u8; 32]);

impl fmt::Display for StatementHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        DocumentHash(self.0).fmt(f)
    }
}

impl Claim {
    /// Hash of its content: the script, and its claimed owner or kind. Level, evidence, times, links and notes are left
    /// out: they do not change what is said.
    #[must_use]
    pub fn statement(&self) -> StatementHash {
        let words = [
            self.claim_type.as_str(),
            self.entity.as_ref().map_or("", EntityName::as_str),
            self.category.map_or("", |of| of.as_str()),
            self.behaviour.map_or("", |of| of.as_str()),
            &*self.label,
        ];
        let parts = std::iter::once(&*self.script).chain(words.map(str::as_bytes));
        let mut hash = Sha256::new();
        hash.update(b"cairn statement");
        // Each with its length: otherwise two statements could have the same bytes.
        for part in parts {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        StatementHash(hash.finalize().into())
    }
}

/// One claim of one document.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ClaimId {
    /// The document.
    pub document: DocumentHash,
    /// Its row.
    pub row: u32,
}

/// Not the id of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the id of a claim: write the SHA-256 of the document, a colon and the row")]
pub struct ClaimIdError;

impl fmt::Display for ClaimId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.document, self.row)
    }
}

impl FromStr for ClaimId {
    type Err = ClaimIdError;

    fn from_str(text: &str) -> Result<Self, ClaimIdError> {
        let (document, row) = text.split_once(':').ok_or(ClaimIdError)?;
        let digits = row.bytes().all(|byte| byte.is_ascii_digit()) && !row.starts_with('0');
        let row = row.parse().ok().filter(|_| digits).ok_or(ClaimIdError)?;
        Ok(ClaimId { document: document.parse().map_err(|_| ClaimIdError)?, row })
    }
}

/// An act on a statement: a party contests it, or the operator ends a contest or blanks the statement. It has a hash of
/// the statement, not its words, so nothing of it needs to be blanked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Contest {
    /// SHA-256 of the scriptPubKey that the statement is about.
    pub script: [u8; 32],
    /// The source of the statement.
    pub source: Slug,
    /// The list of the statement.
    pub list: Slug,
    /// The statement.
    pub statement: StatementHash,
    /// A claim that says it.
    pub claim: ClaimId,
    /// The action.
    pub act: ContestAct,
    /// The party that acts.
    pub by: ContestParty,
    /// Why; a holder's words are untrusted. At most 2,000 bytes.
    pub reason: String,
    /// Message and signature of a holder; `None` for the operator.
    pub signed: Option<SignedText>,
}

/// A message and its signature, as they were sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SignedText {
    /// The message. At most 2,000 bytes.
    pub message: String,
    /// The signature in base64. At most 2,000 bytes.
    pub signature: String,
}

impl Contest {
    /// Checks the rules that the type does not enforce.
    pub fn check(&self) -> Result<(), &'static str> {
        let is_text = |text: &str| text.len() <= MAX_TEXT && text.lines().all(is_plain);
        if !is_text(&self.reason) {
            return Err("a reason that is too long or has control characters");
        }
        match (self.by, self.act, &self.signed) {
            (ContestParty::Operator, _, None) => Ok(()),
            (ContestParty::Operator, _, Some(_)) => Err("a signature of the operator"),
            (ContestParty::Holder, ContestAct::Contests, Some(signed)) => {
                if is_text(&signed.message) && is_text(&signed.signature) {
                    Ok(())
                } else {
                    Err("a message or signature that is too long or has control characters")
                }
            }
            (ContestParty::Holder, ContestAct::Contests, None) => Err("a holder's contest without a signature"),
            (ContestParty::Holder, ContestAct::Settles | ContestAct::Redacts, _) => {
                Err("an act that only the operator has")
            }
        }
    }
}

/// Appends a contest.
pub fn put_contest(out: &mut Vec<u8>, contest: &Contest) {
    out.extend_from_slice(&contest.script);
    put_text(out, contest.source.as_str());
    put_text(out, contest.list.as_str());
    out.extend_from_slice(&contest.statement.0);
    out.extend_from_slice(&contest.claim.document.0);
    put_varint(out, contest.claim.row.into());
    out.extend([contest.act.code(), contest.by.code()]);
    put_text(out, &contest.reason);
    if let Some(signed) = &contest.signed {
        put_text(out, &signed.message);
        put_text(out, &signed.signature);
    }
}

impl Bytes<'_> {
    /// A contest.
    pub fn contest(&mut self) -> Result<Contest, Malformed> {
        let script = self.array()?;
        let (source, list) = (self.slug()?, self.slug()?);
        let statement = StatementHash(self.array()?);
        let claim = ClaimId { document: DocumentHash(self.array()?), row: self.number()? };
        let [act, by] = self.array()?;
        let act = ContestAct::of_code(act).ok_or(Malformed("act of a contest"))?;
        let by = ContestParty::of_code(by).ok_or(Malformed("party of a contest"))?;
        let reason = self.text()?.to_owned();
        let signed = match by {
            ContestParty::Operator => None,
            ContestParty::Holder => {
                Some(SignedText { message: self.text()?.to_owned(), signature: self.text()?.to_owned() })
            }
        };
        let contest = Contest { script, source, list, statement, claim, act, by, reason, signed };
        contest.check().map_err(Malformed)?;
        Ok(contest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClaimType, EvidenceTier};

    fn claim() -> Claim {
        let entity = Some("htx".parse().unwrap());
        Claim { entity, ..Claim::bare(7, [0x51].into(), ClaimType::ControlledBy, EvidenceTier::ThirdParty) }
    }

    #[test]
    fn a_statement_is_what_is_said_and_nothing_else() {
        let said = claim().statement();
        let later =
            Claim { row: 8, level: 1, asserted_at: Some(3), note: "n".into(), source_url: "u".into(), ..claim() };
        assert_eq!(later.statement(), said);
        let others = [
            Claim { script: [0x52].into(), ..claim() },
            Claim { entity: Some("htx2".parse().unwrap()), ..claim() },
            Claim { claim_type: ClaimType::MentionedIn, ..claim() },
            Claim { label: "htx".into(), entity: None, ..claim() },
        ];
        assert!(others.iter().all(|other| other.statement() != said));
    }

    #[test]
    fn ids_of_claims_have_one_form() {
        let id = ClaimId { document: DocumentHash([0xab; 32]), row: 12 };
        assert_eq!(id.to_string().parse(), Ok(id));
        let hash = DocumentHash([0xab; 32]).to_string();
        for wrong in [
            "",
            &hash,
            &format!("{hash}:"),
            &format!("{hash}:012"),
            &format!("{hash}:+1"),
            &format!("{hash}:0"),
            "ab:1",
        ] {
            assert_eq!(wrong.parse::<ClaimId>(), Err(ClaimIdError), "{wrong}");
        }
    }

    #[test]
    fn only_a_signature_or_the_operator_contests() {
        let signed = SignedText { message: "m\nn".to_owned(), signature: "AA==".to_owned() };
        let whole = Contest {
            script: [0xc1; 32],
            source: "a".parse().unwrap(),
            list: "b".parse().unwrap(),
            statement: claim().statement(),
            claim: ClaimId { document: DocumentHash([1; 32]), row: 7 },
            act: ContestAct::Contests,
            by: ContestParty::Holder,
            reason: "not ours".to_owned(),
            signed: Some(signed),
        };
        let operator = Contest { by: ContestParty::Operator, signed: None, act: ContestAct::Settles, ..whole.clone() };
        for contest in [&whole, &operator] {
            let mut bytes = Vec::new();
            put_contest(&mut bytes, contest);
            assert_eq!(Bytes::new(&bytes).contest().as_ref(), Ok(contest));
            for cut in 0..bytes.len() {
                assert!(Bytes::new(&bytes[..cut]).contest().is_err(), "{cut}");
            }
        }
        let wrong = [
            Contest { signed: None, ..whole.clone() },
            Contest { act: ContestAct::Settles, ..whole.clone() },
            Contest { by: ContestParty::Operator, ..whole.clone() },
            Contest { reason: "\u{202e}".to_owned(), ..whole.clone() },
            Contest { reason: "x".repeat(MAX_TEXT + 1), ..whole },
        ];
        assert!(wrong.iter().all(|contest| contest.check().is_err()));
    }
}
