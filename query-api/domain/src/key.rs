//! Keys and hashes of scripts.

use bitcoin::hashes::{Hash, hash160, sha256};

use crate::script::pay_to_key;

/// SHA-256 of a scriptPubKey: what `scripthash:<hex>` names, first byte first.
#[must_use]
pub fn script_sha256(script: &[u8]) -> [u8; 32] {
    sha256::Hash::hash(script).to_byte_array()
}

/// The public key of a P2PK script.
#[must_use]
pub fn public_key(script: &[u8]) -> Option<&[u8]> {
    pay_to_key(script)
}

/// The P2PKH script that pays to the hash of a public key, as serialized.
#[must_use]
pub fn p2pkh_of(key: &[u8]) -> Vec<u8> {
    let hash = hash160::Hash::hash(key).to_byte_array();
    [&[0x76, 0xa9, 0x14], &hash[..], &[0x88, 0xac]].concat()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use cairn_model::Network;

    use super::*;
    use crate::address_of;

    #[test]
    fn the_key_of_genesis_has_the_famous_address() {
        let key = concat!(
            "04678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb6",
            "49f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5f"
        );
        let script = hex::decode(format!("41{key}ac")).unwrap();
        let pkh = p2pkh_of(public_key(&script).unwrap());
        assert_eq!(address_of(&pkh, Network::Main).unwrap(), "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa");
        assert_eq!(public_key(&pkh), None);
        // The Electrum protocol shows the same hashes with their bytes reversed: 8b01df4e… and 740485f3…
        let hash = |script: &[u8]| hex::encode(script_sha256(script));
        assert_eq!(hash(&pkh), "6191c3b590bfcfa0475e877c302da1e323497acf3b42c08d8fa28e364edf018b");
        assert_eq!(hash(&script), "3318537dfb3135df9f3d950dbdf8a7ae68dd7c7dfef61ed17963ff80f3850474");
    }
}
