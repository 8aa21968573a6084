//! Output descriptors and extended public keys as parameters. They are private: no error has any part of them.

use cairn_http::{BadText, ErrorCode, TextFormat, trimmed};
use cairn_keys::{Branch, Refusal};
use cairn_model::Network;
use serde::Deserialize;

use crate::parsed::schema;

/// Descriptors and extended public keys.
pub(crate) const DESCRIPTOR: TextFormat = TextFormat {
    name: "bitcoin-descriptor",
    codes: &[ErrorCode::InvalidDescriptor, ErrorCode::PrivateKeyRefused, ErrorCode::WrongNetwork],
    takes_numbers: false,
    canonical: trimmed,
    example: Some(|_| EXAMPLE.into()),
    look: |_, text, network| {
        let network = Network::ALL.into_iter().find(|known| Some(known.name()) == network);
        match cairn_keys::read(text, network.unwrap_or(Network::Main).to_bitcoin()) {
            Ok(_) => Ok(()),
            // Nothing is indexed yet, so the network is not known.
            Err(Refusal::Network) if network.is_none() => Ok(()),
            Err(refusal) => Err(BadText::with_code(code(refusal), refusal.to_string())),
        }
    },
};

/// A descriptor that is valid on each network: the key of the genesis block.
pub(crate) const EXAMPLE: &str = "pk(04678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb649f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5f)";

const fn code(refusal: Refusal) -> ErrorCode {
    match refusal {
        Refusal::PrivateKey => ErrorCode::PrivateKeyRefused,
        Refusal::Network => ErrorCode::WrongNetwork,
        _ => ErrorCode::InvalidDescriptor,
    }
}

/// A descriptor or an extended public key, as text.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(crate) struct DescriptorParam(String);

impl std::fmt::Debug for DescriptorParam {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DescriptorParam")
    }
}

impl DescriptorParam {
    /// Its branches. They have been checked with the other parameters, if the network was known then.
    pub(crate) fn branches(&self, network: Network) -> Result<Vec<Branch>, BadText> {
        cairn_keys::read(&self.0, network.to_bitcoin())
            .map_err(|refusal| BadText::with_code(code(refusal), refusal.to_string()))
    }

    /// The bytes, for fingerprints.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

schema!(inline DescriptorParam, "Descriptor", {
    "type": "string",
    "format": DESCRIPTOR.name,
    "minLength": 1,
    "maxLength": cairn_keys::MAX_BYTES,
    "description": "Output descriptor (BIP 380 to 387, 389, 390; addr, raw, rawtr and combo, too) with public keys, with its \
        checksum or without; or extended public key of an account (xpub, ypub, zpub, tpub, upub, vpub).",
    "examples": [EXAMPLE],
});
