//! Macaroons in the binary format of libmacaroons, version 2 (doc/format.txt at ca0211d).
//!
//! ```text
//! macaroon: 2 (version) [location] identifier 0 caveat* 0 signature
//! caveat:   [location] identifier [verification id] 0
//! ```

use std::fmt;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use subtle::ConstantTimeEq;
use thiserror::Error;

use crate::{
    chain::{Hash, next_link},
    fields::{FieldError, Fields, Kind, append, end_section},
    secrets::RootKey,
};

/// Longest macaroon in bytes. Ours have some 400, and as many more as their path has.
pub const MAX_BYTES: usize = 4_096;
/// Most caveats of a macaroon. We add 5.
pub const MAX_CAVEATS: usize = 64;

const VERSION: u8 = 2;

/// Macaroon: an identifier and caveats, signed by a chain of hashes that anyone can extend but only the holder of the
/// root key can check. There is no `==`: signatures are compared in constant time only.
#[derive(Clone)]
pub struct Macaroon {
    location: Option<Vec<u8>>,
    identifier: Vec<u8>,
    caveats: Vec<Caveat>,
    signature: Hash,
}

/// Condition under which a macaroon is valid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Caveat {
    /// The condition, or the identifier of one that another service knows.
    pub id: Vec<u8>,
    /// The service that must confirm the condition; `None` if the issuer checks it.
    pub third_party: Option<ThirdParty>,
}

/// Service that must confirm a condition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThirdParty {
    /// Hint where to find the service.
    pub location: Option<Vec<u8>>,
    /// The key of the service's macaroon, encrypted.
    pub verification_id: Vec<u8>,
}

/// Why bytes are not a macaroon.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum MacaroonError {
    /// They are too long.
    #[error("the macaroon has more than {MAX_BYTES} bytes; add fewer or shorter caveats")]
    Size,
    /// They are of another format.
    #[error("the macaroon must be of the binary format of version 2; serialize it in that version")]
    Version,
    /// They end early.
    #[error("the macaroon ends early; send all of it")]
    End,
    /// A length is written in a longer form, or is too large.
    #[error("a length in the macaroon is not in its shortest form, or is too large; serialize it again")]
    Length,
    /// A field is unknown, repeated, missing, or out of order.
    #[error("a field of the macaroon is unknown, repeated, missing or out of order; serialize it again")]
    Field,
    /// It has too many caveats.
    #[error("the macaroon has more than {MAX_CAVEATS} caveats; add fewer")]
    Caveats,
    /// A caveat has a location without a verification id, or an empty verification id.
    #[error("a caveat of the macaroon must have a verification id if it has a location, and not an empty one")]
    Caveat,
    /// The signature has another length.
    #[error("the signature of the macaroon must have 32 bytes; send the macaroon unchanged")]
    Signature,
    /// More bytes follow.
    #[error("bytes follow the macaroon; send one macaroon and nothing behind it")]
    Rest,
}

impl From<FieldError> for MacaroonError {
    fn from(error: FieldError) -> Self {
        match error {
            FieldError::End => Self::End,
            FieldError::Length => Self::Length,
            FieldError::Kind => Self::Field,
        }
    }
}

/// The macaroon would become too long, or would get too many caveats.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("a macaroon has at most {MAX_BYTES} bytes and {MAX_CAVEATS} caveats; bind it to a shorter path")]
pub struct Full;

/// Why a signature does not hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SignatureError {
    ThirdParty,
    Mismatch,
}

impl Macaroon {
    /// Makes a macaroon without caveats. The signature does not cover the location.
    pub fn new(root_key: &RootKey, location: Option<&[u8]>, identifier: &[u8]) -> Result<Self, Full> {
        let signature = next_link(root_key.derived(), identifier);
        let location = location.map(<[u8]>::to_vec);
        let macaroon = Self { location, identifier: identifier.to_vec(), caveats: Vec::new(), signature };
        macaroon.within_limits()
    }

    /// Adds a caveat that the issuer checks. Needs no key: holders can add some.
    pub fn with_caveat(mut self, condition: &[u8]) -> Result<Self, Full> {
        self.signature = next_link(&self.signature, condition);
        self.caveats.push(Caveat { id: condition.to_vec(), third_party: None });
        self.within_limits()
    }

    /// Reads a macaroon. The bytes are exactly those that [`Macaroon::to_bytes`] writes.
    pub fn parse(bytes: &[u8]) -> Result<Self, MacaroonError> {
        if bytes.len() > MAX_BYTES {
            return Err(MacaroonError::Size);
        }
        let (version, rest) = bytes.split_first().ok_or(MacaroonError::End)?;
        if *version != VERSION {
            return Err(MacaroonError::Version);
        }
        let mut fields = Fields::new(rest);
        let location = fields.optional(Kind::Location)?.map(<[u8]>::to_vec);
        let identifier = fields.required(Kind::Identifier)?.to_vec();
        end_of_section(&mut fields)?;
        let mut caveats = Vec::new();
        while !fields.is_section_over()? {
            if caveats.len() == MAX_CAVEATS {
                return Err(MacaroonError::Caveats);
            }
            caveats.push(read_caveat(&mut fields)?);
        }
        let signature = fields.required(Kind::Signature)?.try_into().map_err(|_| MacaroonError::Signature)?;
        if !fields.is_at_end() {
            return Err(MacaroonError::Rest);
        }
        Ok(Self { location, identifier, caveats, signature })
    }

    /// Writes the macaroon.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        if let Some(location) = &self.location {
            append(&mut bytes, Kind::Location, location);
        }
        append(&mut bytes, Kind::Identifier, &self.identifier);
        end_section(&mut bytes);
        for caveat in &self.caveats {
            if let Some(location) = caveat.third_party.as_ref().and_then(|party| party.location.as_ref()) {
                append(&mut bytes, Kind::Location, location);
            }
            append(&mut bytes, Kind::Identifier, &caveat.id);
            if let Some(party) = &caveat.third_party {
                append(&mut bytes, Kind::VerificationId, &party.verification_id);
            }
            end_section(&mut bytes);
        }
        end_section(&mut bytes);
        append(&mut bytes, Kind::Signature, &self.signature);
        bytes
    }

    /// Writes the macaroon as headers have it: base64 with padding, the only form that aperture's clients read.
    #[must_use]
    pub fn to_base64(&self) -> String {
        STANDARD.encode(self.to_bytes())
    }

    /// Reads what [`Macaroon::to_base64`] writes.
    pub fn from_base64(text: &str) -> Result<Self, MacaroonError> {
        Self::parse(&STANDARD.decode(text).map_err(|_| MacaroonError::Version)?)
    }

    /// Returns the bytes that the first link of the chain signs.
    #[must_use]
    pub fn identifier(&self) -> &[u8] {
        &self.identifier
    }

    /// Returns the caveats in the order in which they were added.
    #[must_use]
    pub fn caveats(&self) -> &[Caveat] {
        &self.caveats
    }

    /// Checks the signature in time that does not depend on it.
    pub(crate) fn check_signature(&self, root_key: &RootKey) -> Result<(), SignatureError> {
        if self.caveats.iter().any(|caveat| caveat.third_party.is_some()) {
            return Err(SignatureError::ThirdParty);
        }
        let first = next_link(root_key.derived(), &self.identifier);
        let last = self.caveats.iter().fold(first, |link, caveat| next_link(&link, &caveat.id));
        let is_equal: bool = last.ct_eq(&self.signature).into();
        if is_equal { Ok(()) } else { Err(SignatureError::Mismatch) }
    }

    fn within_limits(self) -> Result<Self, Full> {
        let is_within = self.caveats.len() <= MAX_CAVEATS && self.to_bytes().len() <= MAX_BYTES;
        if is_within { Ok(self) } else { Err(Full) }
    }
}

impl fmt::Debug for Macaroon {
    /// Leaves out the signature, which is a part of the credential, and values of caveats.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Macaroon").field("caveats", &self.caveats.len()).finish_non_exhaustive()
    }
}

fn read_caveat(fields: &mut Fields<'_>) -> Result<Caveat, MacaroonError> {
    let location = fields.optional(Kind::Location)?.map(<[u8]>::to_vec);
    let id = fields.required(Kind::Identifier)?.to_vec();
    let verification_id = fields.optional(Kind::VerificationId)?;
    end_of_section(fields)?;
    let third_party = match verification_id {
        None if location.is_none() => None,
        // libmacaroons and go-macaroon disagree on both of these, so nobody writes them.
        None | Some([]) => return Err(MacaroonError::Caveat),
        Some(id) => Some(ThirdParty { location, verification_id: id.to_vec() }),
    };
    Ok(Caveat { id, third_party })
}

fn end_of_section(fields: &mut Fields<'_>) -> Result<(), MacaroonError> {
    if fields.is_section_over()? { Ok(()) } else { Err(MacaroonError::Field) }
}
