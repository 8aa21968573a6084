//! The descriptor that addresses come from. It shows every address of the operator's wallet, so nothing prints it.

use std::{fmt, sync::OnceLock};

use cairn_domain::address_of;
use cairn_keys::{Branch, Refusal};
use cairn_model::Network;
use sha2::{Digest, Sha256};

/// Branches that a descriptor may have: one to receive with, one for change.
const MAX_BRANCHES: usize = 2;

/// Why a descriptor cannot be used for payments. No message has any part of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DescriptorError {
    /// It cannot be read.
    #[error("the payment descriptor {0}")]
    Refused(#[from] Refusal),
    /// It has one address only.
    #[error(
        "the payment descriptor has a single address; give one with a wildcard, for example wpkh(xpub…/0/*), so that each payment gets \
         an address of its own"
    )]
    NotRanged,
    /// It stands for several kinds of addresses.
    #[error(
        "the payment descriptor stands for several kinds of addresses; give a descriptor of one kind, for example wpkh(xpub…/0/*), in \
         place of an extended key alone or of combo"
    )]
    SeveralKinds,
    /// Its scripts have no addresses.
    #[error("the payment descriptor has scripts without addresses; give one of pkh, sh, wpkh, wsh or tr")]
    NoAddress,
}

/// A watch-only descriptor. `Debug` shows only the beginning of its id.
pub struct PaymentDescriptor {
    text: String,
    id: String,
    /// The branch to receive with, with its network.
    branch: OnceLock<(Network, Branch)>,
}

impl PaymentDescriptor {
    /// Reads a descriptor with public keys. While the network is not known, it may be of any.
    ///
    /// # Errors
    /// Fails if it has a private key, or if it does not give an address for each index.
    pub fn new(text: &str, network: Option<Network>) -> Result<Self, DescriptorError> {
        let text = text.trim();
        // The checksum (BIP 380) is not a part of what it means.
        let meaning = text.split('#').next().unwrap_or_default();
        let id = hex::encode(Sha256::digest(meaning));
        let descriptor = PaymentDescriptor { text: text.to_owned(), id, branch: OnceLock::new() };
        match network {
            Some(network) => descriptor.address(0, network).map(drop)?,
            None => match receiving(text, Network::Main) {
                Err(DescriptorError::Refused(Refusal::Network)) => drop(receiving(text, Network::Regtest)?),
                of_main => drop(of_main?),
            },
        }
        Ok(descriptor)
    }

    /// SHA-256 of the descriptor in hex: its name in the service state.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The script and the address of an index.
    ///
    /// # Errors
    /// Fails if the descriptor is of another network.
    pub fn address(&self, index: u32, network: Network) -> Result<(Vec<u8>, String), DescriptorError> {
        let known = self.branch.get().filter(|(of, _)| *of == network);
        let script = match known {
            Some((_, branch)) => branch.script(index)?,
            None => {
                let branch = receiving(&self.text, network)?;
                let script = branch.script(index)?;
                // Another thread may have been first, with the same branch.
                let _ = self.branch.set((network, branch));
                script
            }
        };
        let script = script.into_bytes();
        let address = address_of(&script, network).ok_or(DescriptorError::NoAddress)?;
        Ok((script, address))
    }
}

fn receiving(text: &str, network: Network) -> Result<Branch, DescriptorError> {
    let branches = cairn_keys::read(text, network.to_bitcoin())?;
    if branches.len() > MAX_BRANCHES {
        return Err(DescriptorError::SeveralKinds);
    }
    let branch = branches.into_iter().next().filter(Branch::has_wildcard).ok_or(DescriptorError::NotRanged)?;
    Ok(branch.prepared()?)
}

impl fmt::Debug for PaymentDescriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PaymentDescriptor({})", self.id.get(..8).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// The account of BIP 84's test vectors.
    const ZPUB: &str = "zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs";

    #[test]
    fn addresses_are_those_of_the_branch_to_receive_with() {
        let descriptor = PaymentDescriptor::new(ZPUB, None).unwrap();
        let address = |index| descriptor.address(index, Network::Main).unwrap().1;
        assert_eq!(address(0), "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu");
        assert_eq!(address(1), "bc1qnjg0jd8228aq7egyzacy8cys3knf9xvrerkf9g");
        let other = descriptor.address(0, Network::Regtest).unwrap_err();
        assert_eq!(other, DescriptorError::Refused(Refusal::Network));
        assert_eq!(PaymentDescriptor::new(ZPUB, Some(Network::Regtest)).unwrap_err(), other);
        let shown = format!("{descriptor:?}");
        assert!(shown.len() < 40 && !shown.contains("zpub"), "{shown}");
    }

    #[test]
    fn private_keys_and_single_addresses_are_refused_without_repeating_them() {
        const KEY: &str = "xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHi";
        let public = "02f9308a019258c31049344f85f89d5229b531c845836f99b08601f113bce036f9";
        for (text, expected) in [
            (format!("wpkh({KEY}/0/*)"), DescriptorError::Refused(Refusal::PrivateKey)),
            (format!("wpkh({public})"), DescriptorError::NotRanged),
            (format!("combo({public})"), DescriptorError::SeveralKinds),
            ("nonsense".to_owned(), DescriptorError::Refused(Refusal::Unknown)),
        ] {
            let error = PaymentDescriptor::new(&text, None).unwrap_err();
            assert_eq!(error, expected, "{text}");
            let words = error.to_string();
            assert!(words.starts_with("the payment descriptor ") && !words.contains(KEY) && !words.contains(public));
        }
    }

    #[test]
    fn the_checksum_is_not_a_part_of_the_id() {
        let plain = format!(
            "wpkh([00000000/84h/0h/0h]{}/0/*)",
            "xpub6CatWdiZiodmUeTDp8LT5or8nmbKNcuyvz7WyksVFkKB4RHwCD3XyuvPEbvqAQY3rAPshWcMLoP2fMFMKHPJ4ZeZXYVUhLv1VMrjPC7PW6V"
        );
        let id = |text: &str| PaymentDescriptor::new(text, None).map(|of| of.id().to_owned());
        assert_eq!(id(&plain).unwrap(), hex::encode(Sha256::digest(&plain)));
        assert_eq!(id(&format!("{plain}#00000000")).unwrap_err(), DescriptorError::Refused(Refusal::Checksum));
    }
}
