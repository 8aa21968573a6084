//! Signatures of packs: Ed25519 (RFC 8032) over the canonical bytes, with keys as OpenSSL writes them.

use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use bitcoin::hashes::{Hash, sha256};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};

/// Name of the algorithm in a pack.
pub const ALGORITHM: &str = "Ed25519";
/// SubjectPublicKeyInfo of a key, without its last 32 bytes.
const SPKI: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// Why a key cannot be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum KeyError {
    /// It is not a secret key in PEM.
    #[error("it is not a secret Ed25519 key in PKCS#8 PEM, as `openssl genpkey -algorithm ed25519` writes it")]
    NotSecret,
    /// It is not a public key in PEM.
    #[error("it is not a public Ed25519 key in PEM, as `openssl pkey -pubout` writes it")]
    NotPublic,
}

/// The bytes of the block of a PEM text with this label.
fn block(text: &str, label: &str) -> Option<Vec<u8>> {
    let (_, rest) = text.split_once(&format!("-----BEGIN {label}-----"))?;
    let (body, _) = rest.split_once(&format!("-----END {label}-----"))?;
    let body: String = body.split_ascii_whitespace().collect();
    BASE64.decode(body).ok()
}

/// A public key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// The key of these bytes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        PublicKey(bytes)
    }

    /// Reads a key from PEM.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        let bytes = block(text, "PUBLIC KEY").ok_or(KeyError::NotPublic)?;
        let key = bytes.strip_prefix(&SPKI[..]).and_then(|key| key.try_into().ok());
        key.map(PublicKey).ok_or(KeyError::NotPublic)
    }

    /// Writes the key as PEM.
    #[must_use]
    pub fn to_pem(&self) -> String {
        let body = BASE64.encode([&SPKI[..], &self.0].concat());
        format!("-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n")
    }

    /// The id of the key: the first 16 hexadecimal digits of the SHA-256 of its 32 bytes.
    #[must_use]
    pub fn id(&self) -> String {
        sha256::Hash::hash(&self.0).to_string().chars().take(16).collect()
    }

    /// True if the signature is one of these bytes by this key.
    #[must_use]
    pub fn verifies(&self, bytes: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, self.0).verify(bytes, signature).is_ok()
    }
}

/// A secret key. Its `Debug` shows the id only.
pub struct SecretKey(Ed25519KeyPair);

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey({})", self.public().id())
    }
}

impl SecretKey {
    /// Reads a key from PKCS#8 PEM.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        let bytes = block(text, "PRIVATE KEY").ok_or(KeyError::NotSecret)?;
        // OpenSSL does not write the public key along.
        Ed25519KeyPair::from_pkcs8_maybe_unchecked(&bytes).map(SecretKey).map_err(|_| KeyError::NotSecret)
    }

    /// The public key.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        let mut key = [0; 32];
        for (to, from) in key.iter_mut().zip(self.0.public_key().as_ref()) {
            *to = *from;
        }
        PublicKey(key)
    }

    /// Signs bytes. Returns the algorithm, the id of the key and the signature in hexadecimal.
    #[must_use]
    pub fn sign(&self, bytes: &[u8]) -> [String; 3] {
        let value: String = self.0.sign(bytes).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        [ALGORITHM.to_owned(), self.public().id(), value]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first key of section 7.1 of RFC 8032, as PKCS#8.
    const SECRET: &str = "-----BEGIN PRIVATE KEY-----\n\
        MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n\
        -----END PRIVATE KEY-----\n";

    #[test]
    fn the_first_vector_of_the_rfc_holds() {
        let key = SecretKey::from_pem(SECRET).unwrap();
        assert_eq!(hex::encode(key.public().0), "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
        let [algorithm, id, signature] = key.sign(b"");
        let expected = "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b";
        assert_eq!((algorithm.as_str(), signature.as_str()), ("Ed25519", expected));
        assert!(key.public().verifies(b"", &hex::decode(expected).unwrap()));
        assert!(!key.public().verifies(b"x", &hex::decode(expected).unwrap()));
        assert_eq!(format!("{key:?}"), format!("SecretKey({id})"));
    }

    #[test]
    fn keys_are_read_as_they_are_written() {
        let public = SecretKey::from_pem(SECRET).unwrap().public();
        assert_eq!(PublicKey::from_pem(&public.to_pem()), Ok(public));
        assert_eq!(PublicKey::from_pem(SECRET), Err(KeyError::NotPublic));
        assert_eq!(SecretKey::from_pem(&public.to_pem()).unwrap_err(), KeyError::NotSecret);
        for bad in ["", "-----BEGIN PUBLIC KEY-----", "-----BEGIN PUBLIC KEY-----\n!\n-----END PUBLIC KEY-----"] {
            assert_eq!(PublicKey::from_pem(bad), Err(KeyError::NotPublic));
        }
    }
}
