//! Signatures of manifests, in minisign's form: `minisign -V -m checkpoint.json -P KEY` checks them, too.

use std::{fs, io::Cursor, path::Path};

use base64::{Engine, prelude::BASE64_STANDARD};
use minisign::{SecretKey, SecretKeyBox, SignatureBox};
use minisign_verify::{Error, PublicKey, Signature};

use crate::CheckpointError;

/// Name of the signature of a manifest, beside it.
pub const SIGNATURE: &str = "checkpoint.json.minisig";

/// Signs manifests.
pub struct Signer {
    secret: SecretKey,
    public: minisign::PublicKey,
}

impl Signer {
    /// The secret key in a file that `minisign -G` made; with its password, unless it has none (`-W`).
    pub fn read(path: &Path, password: Option<String>) -> Result<Self, CheckpointError> {
        let text = fs::read_to_string(path).map_err(CheckpointError::at(path))?;
        let wrong = |what: String| CheckpointError::Key(format!("{}: {what}", path.display()));
        let boxed =
            || SecretKeyBox::from_string(&text).map_err(|_| wrong("it is not a secret key of minisign".to_owned()));
        let secret = match password {
            Some(password) => boxed()?
                .into_secret_key(Some(password))
                .map_err(|_| wrong("the password is wrong, or it has none".to_owned()))?,
            None => match without_checksum(&text) {
                Some(secret) => secret,
                // minisign asks at the terminal if there is no password.
                None => boxed()?.into_unencrypted_secret_key().map_err(|_| {
                    let hint = "set CAIRN_SIGNING_PASSWORD, or make a key without one (minisign -G -W)";
                    wrong(format!("it is not a secret key of minisign, or it has a password: {hint}"))
                })?,
            },
        };
        let public = minisign::PublicKey::from_secret_key(&secret).map_err(|error| wrong(error.to_string()))?;
        Ok(Signer { secret, public })
    }

    /// The signature of a text; `line` says what it is, and is signed, too.
    pub(crate) fn sign(&self, text: &[u8], line: &str) -> Result<String, CheckpointError> {
        let signed = minisign::sign(
            Some(&self.public),
            &self.secret,
            Cursor::new(text),
            Some(line),
            Some("signature of a checkpoint's manifest"),
        );
        signed.map(SignatureBox::into_string).map_err(|error| CheckpointError::Key(error.to_string()))
    }
}

/// A key without a password whose checksum is all zeros: minisign 0.11 writes them so, and the library refuses them.
fn without_checksum(text: &str) -> Option<SecretKey> {
    let bytes = BASE64_STANDARD.decode(text.lines().nth(1)?.trim()).ok()?;
    let is_open = bytes.len() == KEY_BYTES && bytes.get(2..4)? == [0, 0];
    let has_no_checksum = bytes.get(KEY_BYTES - CHECKSUM_BYTES..)?.iter().all(|byte| *byte == 0);
    if is_open && has_no_checksum { SecretKey::from_bytes(&bytes).ok() } else { None }
}

/// Bytes of a secret key in minisign's form, and of the checksum at its end.
const KEY_BYTES: usize = 158;
const CHECKSUM_BYTES: usize = 32;

/// The manifests that are accepted.
pub enum Trust {
    /// All.
    Any,
    /// Manifests with a signature by this key.
    Key(Box<PublicKey>),
}

impl Trust {
    /// Trusts manifests with a signature by a key. `key` is the key itself, as minisign prints it, or the file that has
    /// it.
    pub fn of_key(key: &str) -> Result<Self, CheckpointError> {
        if let Ok(key) = PublicKey::from_base64(key.trim()) {
            return Ok(Trust::Key(Box::new(key)));
        }
        let wrong = |what: String| CheckpointError::Key(format!("{key}: {what}"));
        let text = fs::read_to_string(key)
            .map_err(|error| wrong(format!("neither a public key of minisign nor a file that can be read: {error}")))?;
        let found = PublicKey::decode(&text).map(|key| Trust::Key(Box::new(key)));
        found.map_err(|_| wrong("it has no public key of minisign".to_owned()))
    }

    /// Checks the signature of a manifest; `place` is where that is.
    pub(crate) fn check(&self, text: &[u8], signature: Option<&[u8]>, place: &str) -> Result<(), CheckpointError> {
        let Trust::Key(key) = self else { return Ok(()) };
        let untrusted = |what: &str| CheckpointError::Untrusted { place: place.to_owned(), what: what.to_owned() };
        let signature = signature.ok_or_else(|| untrusted("it has no signature"))?;
        let signature = std::str::from_utf8(signature).ok().and_then(|text| Signature::decode(text).ok());
        let signature = signature.ok_or_else(|| untrusted("its signature is not one of minisign's"))?;
        key.verify(text, &signature, false).map_err(|error| match error {
            Error::UnexpectedKeyId => untrusted("it is signed by another key"),
            _ => untrusted("its signature is wrong: the manifest was changed after it was signed"),
        })
    }
}
