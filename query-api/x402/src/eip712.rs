//! EIP-712 hashes of EIP-3009 transfers. Every part is a word of 32 bytes.

use crate::{
    address::Address,
    keccak::{Word, keccak256},
    payload::Authorization,
};

const DOMAIN: &str = "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)";
const TRANSFER: &str = "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 \
                        validBefore,bytes32 nonce)";

/// Returns a word that ends in these bytes.
fn word(bytes: &[u8]) -> Word {
    let mut word = [0; 32];
    for (to, from) in word.iter_mut().rev().zip(bytes.iter().rev()) {
        *to = *from;
    }
    word
}

fn domain_separator(name: &str, version: &str, chain_id: u64, contract: &Address) -> Word {
    keccak256(&[
        &keccak256(&[DOMAIN.as_bytes()]),
        &keccak256(&[name.as_bytes()]),
        &keccak256(&[version.as_bytes()]),
        &word(&chain_id.to_be_bytes()),
        &word(contract.as_bytes()),
    ])
}

fn authorization_hash(transfer: &Authorization) -> Word {
    keccak256(&[
        &keccak256(&[TRANSFER.as_bytes()]),
        &word(transfer.from.as_bytes()),
        &word(transfer.to.as_bytes()),
        &word(&transfer.value.units().to_be_bytes()),
        &word(&transfer.valid_after.units().to_be_bytes()),
        &word(&transfer.valid_before.units().to_be_bytes()),
        transfer.nonce.as_bytes(),
    ])
}

fn signed_hash(domain: &Word, structure: &Word) -> Word {
    keccak256(&[b"\x19\x01", domain, structure])
}

/// Returns the hash that the payer signs for a transfer of a token.
pub(crate) fn transfer_digest(
    name: &str,
    version: &str,
    chain_id: u64,
    contract: &Address,
    transfer: &Authorization,
) -> Word {
    signed_hash(&domain_separator(name, version, chain_id, contract), &authorization_hash(transfer))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn separator(name: &str, version: &str, chain_id: u64, contract: &str) -> String {
        hex::encode(domain_separator(name, version, chain_id, &contract.parse().unwrap()))
    }

    /// The example of EIP-712 (github.com/ethereum/EIPs, assets/eip-712/Example.js): its domain, the hash of its mail,
    /// and the hash that is signed.
    #[test]
    fn example_of_eip712() {
        let domain = separator("Ether Mail", "1", 1, "0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC");
        assert_eq!(domain, "f2cee375fa42b42143804025fc449deafd50cc031ca257e0b194a650a912090f");
        let word = |text| <Word>::try_from(hex::decode(text).unwrap()).unwrap();
        let mail = word("c52c0ee5d84264471806290a3f2c4cecfc5490626bf912d01f240d7a274b371e");
        let signed = word("be609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2");
        assert_eq!(signed_hash(&word(&domain), &mail), signed);
    }

    /// `TRANSFER_WITH_AUTHORIZATION_TYPEHASH` as EIP-3009 publishes it, and `DOMAIN_SEPARATOR` of USDC's contracts on
    /// Ethereum and Base (computed again by eth-account 0.14.0: `encode_typed_data(…).header`).
    #[test]
    fn type_hash_of_eip3009_and_domains_of_usdc() {
        let hash = hex::encode(keccak256(&[TRANSFER.as_bytes()]));
        assert_eq!(hash, "7c7c6cdb67a18743f49ec6fa9b35f50d52ed05cbed4cc592e13b44501c1a2267");
        assert_eq!(
            separator("USD Coin", "2", 1, "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"),
            "06c37168a7db5138defc7866392bb87a741f9b3d104deb5094588ce041cae335"
        );
        assert_eq!(
            separator("USD Coin", "2", 8453, "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"),
            "02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f"
        );
    }
}
