//! Claims: statements about the owner or kind of a script, and their evidence.

mod codec;
mod words;

use std::{fmt, str::FromStr, sync::Arc};

pub use codec::{Shared, put_claim, put_list};
pub use words::{
    Behaviour, BehaviourError, Category, CategoryError, ClaimType, ClaimTypeError, ContestAct, ContestActError,
    ContestParty, ContestPartyError, EvidenceTier, EvidenceTierError,
};

use sha2::{Digest, Sha256};

use crate::Slug;

/// Longest script of a claim in bytes. Longer ones cannot be spent.
pub const MAX_SCRIPT: usize = 10_000;
/// Longest name or label in bytes.
pub const MAX_NAME: usize = 200;
/// Longest URL or note in bytes.
pub const MAX_NOTE: usize = 1_000;

/// Name of an entity for paths and look-ups: 1 to 64 small letters, digits, dots, hyphens and underscores.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EntityName(Arc<str>);

/// Not the name of an entity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not the name of an entity; write 1 to 64 small letters, digits, dots, hyphens and underscores")]
pub struct EntityNameError;

impl EntityName {
    /// Most bytes.
    pub const MAX: usize = 64;

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name that follows from a text: small letters, and hyphens for characters that are not allowed. `None` if
    /// nothing is left.
    #[must_use]
    pub fn from_words(text: &str) -> Option<Self> {
        let mut name = String::new();
        for letter in text.chars().flat_map(char::to_lowercase) {
            let allowed = letter.is_ascii_lowercase() || letter.is_ascii_digit() || "._".contains(letter);
            match allowed {
                true => name.push(letter),
                false if !name.is_empty() && !name.ends_with('-') => name.push('-'),
                false => {}
            }
            if name.len() == Self::MAX {
                break;
            }
        }
        name.trim_end_matches('-').parse().ok()
    }

    fn shared(text: &Arc<str>) -> Result<Self, EntityNameError> {
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-_".contains(&byte);
        let valid = (1..=Self::MAX).contains(&text.len()) && text.bytes().all(allowed);
        if valid { Ok(EntityName(Arc::clone(text))) } else { Err(EntityNameError) }
    }
}

impl FromStr for EntityName {
    type Err = EntityNameError;

    fn from_str(text: &str) -> Result<Self, EntityNameError> {
        EntityName::shared(&text.into())
    }
}

impl fmt::Display for EntityName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A statement of a document about one script. Texts are the source's own: they are untrusted, and without control
/// characters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Claim {
    /// Line or entry of the document, from 1. With the document it identifies the claim.
    pub row: u32,
    /// The scriptPubKey.
    pub script: Arc<[u8]>,
    /// Type of the statement.
    pub claim_type: ClaimType,
    /// Its evidence.
    pub tier: EvidenceTier,
    /// Confidence, 0 to 100.
    pub level: u8,
    /// The entity; `None` if the source names none, or has a placeholder.
    pub entity: Option<EntityName>,
    /// The entity's name as people write it; empty if there is none. At most 200 bytes.
    pub entity_name: Arc<str>,
    /// Kind of entity.
    pub category: Option<Category>,
    /// The behaviour that is claimed.
    pub behaviour: Option<Behaviour>,
    /// The source's own words; may be empty. At most 200 bytes.
    pub label: Arc<str>,
    /// Where the source says it; may be empty. At most 1,000 bytes.
    pub source_url: Arc<str>,
    /// Where the source has it from; may be empty. At most 1,000 bytes.
    pub origin_url: Arc<str>,
    /// Further text of the source; may be empty. At most 1,000 bytes.
    pub note: Arc<str>,
    /// When it was asserted, in seconds since 1970; `None` if the source does not say.
    pub asserted_at: Option<u32>,
    /// Since when it is said to hold.
    pub valid_from: Option<u32>,
    /// Until when it is said to have held.
    pub valid_to: Option<u32>,
    /// True if it may hold for the script's cluster.
    pub is_inherited: bool,
    /// True if it is about a natural person.
    pub is_person: bool,
    /// True if the operator has blanked it: it says nothing, and `script` is the SHA-256 of the original claim.
    pub is_redacted: bool,
}

/// A list: the claims of a source in one place. The newest complete document of a list ends the claims that it does not
/// repeat.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClaimList {
    /// Its name among the lists of the source.
    pub name: Slug,
    /// True if the document is the whole list as of its time of retrieval.
    pub is_complete: bool,
}

impl Claim {
    /// A claim with the level of its tier and nothing else. The caller sets at least one of entity, category, behaviour
    /// and label.
    #[must_use]
    pub fn bare(row: u32, script: Arc<[u8]>, claim_type: ClaimType, tier: EvidenceTier) -> Self {
        let none: Arc<str> = "".into();
        Claim {
            row,
            script,
            claim_type,
            tier,
            level: tier.level(),
            entity: None,
            entity_name: Arc::clone(&none),
            category: None,
            behaviour: None,
            label: Arc::clone(&none),
            source_url: Arc::clone(&none),
            origin_url: Arc::clone(&none),
            note: none,
            asserted_at: None,
            valid_from: None,
            valid_to: None,
            is_inherited: false,
            is_person: false,
            is_redacted: false,
        }
    }

    /// Its form once it is blanked: only its row, and the SHA-256 of its bytes.
    #[must_use]
    pub fn redacted(&self) -> Self {
        let mut bytes = Vec::new();
        put_claim(&mut bytes, &mut Shared::default(), self);
        let hash: [u8; 32] = Sha256::digest(&bytes).into();
        let blank = Claim::bare(self.row, hash.into(), ClaimType::MentionedIn, EvidenceTier::Community);
        Claim { level: 0, is_redacted: true, ..blank }
    }

    /// True if a contest has no effect on it: listings and facts of the chain cannot be contested.
    #[must_use]
    pub fn is_incontestable(&self) -> bool {
        self.claim_type == ClaimType::ListedBy || self.tier == EvidenceTier::OnchainVerified
    }

    /// True if the operator can blank it. That a list of an authority has a script cannot be blanked.
    #[must_use]
    pub fn is_redactable(&self) -> bool {
        !self.is_redacted && self.claim_type != ClaimType::ListedBy
    }

    /// When it acts: when it was asserted, else when its document was retrieved.
    #[must_use]
    pub fn then(&self, retrieved_at: u32) -> u32 {
        self.asserted_at.unwrap_or(retrieved_at)
    }

    /// Checks the rules that the type does not enforce.
    pub fn check(&self) -> Result<(), &'static str> {
        let texts = [
            (&self.entity_name, MAX_NAME, "a name that is too long or has control characters"),
            (&self.label, MAX_NAME, "a label that is too long or has control characters"),
            (&self.source_url, MAX_NOTE, "a source_url that is too long or has control characters"),
            (&self.origin_url, MAX_NOTE, "an origin_url that is too long or has control characters"),
            (&self.note, MAX_NOTE, "a note that is too long or has control characters"),
        ];
        if let Some((.., what)) = texts.into_iter().find(|(text, most, _)| text.len() > *most || !is_plain(text)) {
            return Err(what);
        }
        match self {
            Claim { is_redacted: true, script, .. } => {
                let blank = Claim {
                    script: Arc::clone(script),
                    ..Claim::bare(self.row, [].into(), ClaimType::MentionedIn, EvidenceTier::Community)
                };
                let is_blank = script.len() == 32 && *self == Claim { level: 0, is_redacted: true, ..blank };
                if is_blank { Ok(()) } else { Err("something beside the hash of what was blanked") }
            }
            Claim { script, .. } if script.is_empty() || script.len() > MAX_SCRIPT => {
                Err("a script that is empty or longer than 10,000 bytes")
            }
            Claim { level: 101.., .. } => Err("a level above 100"),
            Claim { tier: EvidenceTier::ClusterInherited, .. } => {
                Err("the tier cluster_inherited, which no source asserts")
            }
            Claim { entity: None, category: None, behaviour: None, label, .. } if label.is_empty() => {
                Err("neither entity nor category, behaviour or label")
            }
            Claim { valid_from: Some(from), valid_to: Some(to), .. } if from > to => Err("an end before its beginning"),
            _ => Ok(()),
        }
    }
}

/// True if no character of a text controls how it is shown: neither control characters nor marks of direction.
#[must_use]
pub fn is_plain(text: &str) -> bool {
    // Nearly all texts are ASCII, which takes no look at characters.
    text.bytes().all(|byte| matches!(byte, b' '..=b'~')) || text.chars().all(is_plain_char)
}

/// A text as a claim may have it: without characters that control how it is shown, white space in one form, cut at
/// `most` bytes.
#[must_use]
pub fn plain(text: &str, most: usize) -> Arc<str> {
    let trimmed = text.trim();
    // Most texts are so already.
    if trimmed.len() <= most
        && trimmed.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        && !trimmed.as_bytes().windows(2).any(|two| two == b"  ")
    {
        return trimmed.into();
    }
    let mut out = String::new();
    for letter in trimmed.chars() {
        let letter = if letter.is_whitespace() { ' ' } else { letter };
        if out.len() + letter.len_utf8() > most {
            break;
        }
        if is_plain_char(letter) && !(letter == ' ' && out.ends_with(' ')) {
            out.push(letter);
        }
    }
    out.trim_end().into()
}

fn is_plain_char(letter: char) -> bool {
    let hidden = matches!(letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}');
    !letter.is_control() && !hidden
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_from_words() {
        for (text, name) in [
            ("Huobi", Some("huobi")),
            (" HTX (Huobi) ", Some("htx-huobi")),
            ("crypto.com", Some("crypto.com")),
            ("--", None),
            ("", None),
            ("Ελλάδα 7", Some("7")),
        ] {
            assert_eq!(EntityName::from_words(text).as_ref().map(EntityName::as_str), name, "{text}");
        }
        assert_eq!(EntityName::from_words(&"ab ".repeat(50)).unwrap().as_str().len(), 64);
    }

    #[test]
    fn texts_come_out_inert() {
        assert_eq!(&*plain("  a\u{202e}b\u{0}\r\n\tc  d\u{200b} ", 100), "ab c d");
        assert_eq!(&*plain("ééé", 5), "éé");
        assert!(is_plain(&plain("\u{feff}<b>\u{e0041}", 10)));
    }
}
