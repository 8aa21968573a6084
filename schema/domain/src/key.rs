//! Keys and hashes of scripts.

use bitcoin::hashes::{Hash, hash160, sha256};
use cairn_model::{is_key, pay_to_key};

use crate::asm::ops;

/// SHA-256 of a scriptPubKey in natural byte order, as in `scripthash:<hex>`.
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

/// The P2PK script that pays to a public key, as serialized; `None` if the bytes do not look like a key.
#[must_use]
pub fn p2pk_of(key: &[u8]) -> Option<Vec<u8>> {
    let length = u8::try_from(key.len()).ok().filter(|_| is_key(key))?;
    Some([&[length], key, &[0xac]].concat())
}

/// The hash of the key that a P2PKH or P2WPKH script pays to.
#[must_use]
pub fn key_hash(script: &[u8]) -> Option<[u8; 20]> {
    match script {
        [0x76, 0xa9, 0x14, hash @ .., 0x88, 0xac] | [0x00, 0x14, hash @ ..] => hash.try_into().ok(),
        _ => None,
    }
}

/// The public key with that hash, if the input reveals it like spends of P2PKH and P2WPKH: as the last push of the
/// scriptSig, or the last element of the witness.
#[must_use]
pub fn revealed_key(hash: &[u8; 20], script_sig: &[u8], witness_last: Option<&[u8]>) -> Option<Vec<u8>> {
    let pushed = ops(script_sig).map_while(Result::ok).last().and_then(|op| op.data);
    let fits = |key: &&[u8]| is_key(key) && hash160::Hash::hash(key).as_byte_array() == hash;
    [pushed, witness_last].into_iter().flatten().find(fits).map(<[u8]>::to_vec)
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

    #[test]
    fn spends_reveal_keys() {
        let key = [&[2][..], &[0x11; 32]].concat();
        let pkh = p2pkh_of(&key);
        let hash = key_hash(&pkh).unwrap();
        assert_eq!(key_hash(&[&[0x00, 0x14][..], &hash].concat()), Some(hash));
        assert_eq!(key_hash(&[&[0x00, 0x20][..], &[0; 32]].concat()), None);
        let script_sig = [&[2, 0x30, 0x01, 33][..], &key].concat();
        assert_eq!(revealed_key(&hash, &script_sig, None).as_deref(), Some(&key[..]));
        assert_eq!(revealed_key(&hash, &[], Some(&key)).as_deref(), Some(&key[..]));
        assert_eq!(revealed_key(&hash, &[], Some(&[3; 33])), None);
        assert_eq!(revealed_key(&hash, &[0x4e], None), None);
        assert_eq!(public_key(&p2pk_of(&key).unwrap()), Some(&key[..]));
        assert_eq!(p2pk_of(&[5; 33]), None);
    }
}
