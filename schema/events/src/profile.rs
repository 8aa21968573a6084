//! Profiles of entities: statements of a source about an entity itself, independent of its addresses.
//!
//! ```text
//! rows after the one before │ entity │ name │ category (1; 0: none) │ homepage │ legal name │ asserted at + 1 (0: none)
//!   │ count │ aliases │ count │ jurisdictions (2 letters each)
//! ```

use std::{fmt, str::FromStr, sync::Arc};

use crate::{
    Category, EntityName,
    claim::{MAX_NAME, MAX_NOTE, is_plain},
    codec::{Bytes, Malformed, put_text, put_varint},
    listed::{Listed, row_after},
};

/// Most aliases of a profile.
pub const MAX_ALIASES: usize = 16;
/// Most jurisdictions of a profile.
pub const MAX_JURISDICTIONS: usize = 32;

/// A country or territory: two capital letters, as ISO 3166-1 has them. Whether the code is assigned is not checked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Jurisdiction([u8; 2]);

/// Not the code of a jurisdiction.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not the code of a country; write its two letters, as ISO 3166-1 has them")]
pub struct JurisdictionError;

impl FromStr for Jurisdiction {
    type Err = JurisdictionError;

    fn from_str(text: &str) -> Result<Self, JurisdictionError> {
        let letters: [u8; 2] = text.as_bytes().try_into().map_err(|_| JurisdictionError)?;
        let letters = letters.map(|letter| letter.to_ascii_uppercase());
        if letters.iter().all(u8::is_ascii_uppercase) { Ok(Jurisdiction(letters)) } else { Err(JurisdictionError) }
    }
}

impl fmt::Display for Jurisdiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|letter| write!(f, "{}", char::from(*letter)))
    }
}

/// Profile of an entity by a source. Texts are untrusted, and without control characters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Profile {
    /// Entry of the document, from 1. With the document it identifies the profile.
    pub row: u32,
    /// The entity.
    pub entity: EntityName,
    /// Its name as people write it, 1 to 200 bytes.
    pub name: Arc<str>,
    /// Other names, 1 to 200 bytes each; [`MAX_ALIASES`] at most.
    pub aliases: Vec<Arc<str>>,
    /// Kind of entity; `None` if the source does not say it in a word of ours.
    pub category: Option<Category>,
    /// Its page, as the source writes it: it may lack the scheme. May be empty. At most 1,000 bytes.
    pub homepage: Arc<str>,
    /// Where it is registered or licensed; [`MAX_JURISDICTIONS`] at most.
    pub jurisdictions: Vec<Jurisdiction>,
    /// The name of the company; may be empty. At most 200 bytes.
    pub legal_name: Arc<str>,
    /// When the source wrote or changed it, in seconds since 1970.
    pub asserted_at: Option<u32>,
}

impl Listed for Profile {
    const NOUN: &'static str = "profile";
    const MAX: usize = 20_000;
    const PER_ROW: usize = 32;

    fn row(&self) -> u32 {
        self.row
    }

    fn at_row(&self, row: u32) -> Self {
        Profile { row, ..self.clone() }
    }

    fn check(&self) -> Result<(), &'static str> {
        let is_name = |text: &str| (1..=MAX_NAME).contains(&text.len()) && is_plain(text);
        match self {
            Profile { name, .. } if !is_name(name) => Err("a name that is empty, too long or has control characters"),
            Profile { aliases, .. } if !aliases.iter().all(|alias| is_name(alias)) => {
                Err("an alias that is empty, too long or has control characters")
            }
            Profile { aliases, .. } if aliases.len() > MAX_ALIASES => Err("too many aliases"),
            Profile { homepage, .. } if homepage.len() > MAX_NOTE || !is_plain(homepage) => {
                Err("a page that is too long or has control characters")
            }
            Profile { jurisdictions, .. } if jurisdictions.len() > MAX_JURISDICTIONS => Err("too many jurisdictions"),
            Profile { legal_name, .. } if legal_name.len() > MAX_NAME || !is_plain(legal_name) => {
                Err("a name of the company that is too long or has control characters")
            }
            _ => Ok(()),
        }
    }

    fn put(&self, out: &mut Vec<u8>, before: u32) {
        put_varint(out, u128::from(self.row.wrapping_sub(before)));
        put_text(out, self.entity.as_str());
        put_text(out, &self.name);
        out.push(self.category.map_or(0, Category::code));
        put_text(out, &self.homepage);
        put_text(out, &self.legal_name);
        put_varint(out, self.asserted_at.map_or(0, |at| u128::from(at) + 1));
        put_varint(out, self.aliases.len() as u128);
        self.aliases.iter().for_each(|alias| put_text(out, alias));
        put_varint(out, self.jurisdictions.len() as u128);
        self.jurisdictions.iter().for_each(|code| out.extend_from_slice(&code.0));
    }

    fn read(bytes: &mut Bytes<'_>, before: u32) -> Result<Self, Malformed> {
        let row = row_after(before, bytes.number()?)?;
        let entity = bytes.text()?.parse().map_err(|_| Malformed("name of an entity"))?;
        let name = bytes.text()?.into();
        let category = match bytes.array()? {
            [0] => None,
            [code] => Some(Category::of_code(code).ok_or(Malformed("category of a profile"))?),
        };
        let (homepage, legal_name) = (bytes.text()?.into(), bytes.text()?.into());
        let asserted_at = match bytes.number::<u64>()?.checked_sub(1) {
            None => None,
            Some(at) => Some(u32::try_from(at).map_err(|_| Malformed("time of a profile"))?),
        };
        let few =
            |count: usize, most| Some(count).filter(|count| *count <= most).ok_or(Malformed("texts of a profile"));
        let count = few(bytes.number()?, MAX_ALIASES)?;
        let aliases = (0..count).map(|_| Ok(bytes.text()?.into())).collect::<Result<_, Malformed>>()?;
        let count = few(bytes.number()?, MAX_JURISDICTIONS)?;
        let mut jurisdictions = Vec::with_capacity(count);
        for _ in 0..count {
            let code: [u8; 2] = bytes.array()?;
            if !code.iter().all(u8::is_ascii_uppercase) {
                return Err(Malformed("jurisdiction of a profile"));
            }
            jurisdictions.push(Jurisdiction(code));
        }
        let profile =
            Profile { row, entity, name, aliases, category, homepage, jurisdictions, legal_name, asserted_at };
        profile.check().map_err(Malformed)?;
        Ok(profile)
    }
}
