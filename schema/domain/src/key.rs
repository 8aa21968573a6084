//! Keys and hashes of scripts.

use bitcoin::{
    hashes::{Hash, hash160, sha256},
    secp256k1::PublicKey,
};
use cairn_model::{is_key, pay_to_key};

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
    [&[0x76, 0xa9, 0x14], &hash160(key)[..], &[0x88, 0xac]].concat()
}

/// The P2PK script that pays to a public key, as serialized; `None` if the bytes do not look like a key.
#[must_use]
pub fn p2pk_of(key: &[u8]) -> Option<Vec<u8>> {
    let length = u8::try_from(key.len()).ok().filter(|_| is_key(key))?;
    Some([&[length], key, &[0xac]].concat())
}

/// HASH160 of bytes: RIPEMD-160 of SHA-256.
#[must_use]
pub fn hash160(bytes: &[u8]) -> [u8; 20] {
    hash160::Hash::hash(bytes).to_byte_array()
}

/// The hash of the key that a P2PKH or P2WPKH script pays to.
#[must_use]
pub fn key_hash(script: &[u8]) -> Option<[u8; 20]> {
    match script {
        [0x76, 0xa9, 0x14, hash @ .., 0x88, 0xac] | [0x00, 0x14, hash @ ..] => hash.try_into().ok(),
        _ => None,
    }
}

/// HASH160 of the forms of a public key: as serialized, compressed, uncompressed. Bytes that are not a point of the
/// curve have only their own; no hash comes twice.
#[must_use]
pub fn key_hashes(key: &[u8]) -> Vec<[u8; 20]> {
    let mut hashes = vec![hash160(key)];
    if let Ok(point) = PublicKey::from_slice(key) {
        let (compressed, uncompressed) = (point.serialize(), point.serialize_uncompressed());
        let forms = [&compressed[..], &uncompressed[..]];
        hashes.extend(forms.into_iter().filter(|form| *form != key).map(hash160));
    }
    hashes
}

#[cfg(test)]
mod tests {
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
    fn keys_have_hashes_and_scripts() {
        let key = [&[2][..], &[0x11; 32]].concat();
        let pkh = p2pkh_of(&key);
        let hash = key_hash(&pkh).unwrap();
        assert_eq!(hash, hash160(&key));
        assert_eq!(key_hash(&[&[0x00, 0x14][..], &hash].concat()), Some(hash));
        assert_eq!(key_hash(&[&[0x00, 0x20][..], &[0; 32]].concat()), None);
        assert_eq!(public_key(&p2pk_of(&key).unwrap()), Some(&key[..]));
        assert_eq!(p2pk_of(&[5; 33]), None);
    }

    /// The key of the number 1: its addresses are known (1BgGZ9… compressed, 1EHNa6… uncompressed).
    #[test]
    fn a_key_has_a_hash_for_each_form() {
        let x = "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";
        let y = "483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8";
        let hashes = |key: String| key_hashes(&hex::decode(key).unwrap());
        let address =
            |hash: &[u8; 20]| address_of(&[&[0x76, 0xa9, 0x14], &hash[..], &[0x88, 0xac]].concat(), Network::Main);
        let (small, large) = (hashes(format!("02{x}")), hashes(format!("04{x}{y}")));
        assert_eq!(address(&small[0]).unwrap(), "1BgGZ9tcN4rm9KBzDn7KprQz87SZ26SAMH");
        assert_eq!(address(&large[0]).unwrap(), "1EHNa6Q4Jz2uvNExL497mE43ikXhwF6kZm");
        assert_eq!((small.len(), large.len()), (2, 2));
        assert_eq!([small[1], small[0]], large[..]);
        // A hybrid form is a third one; bytes off the curve have one.
        let hybrid = hashes(format!("06{x}{y}"));
        assert_eq!(hybrid[1..], small[..]);
        assert_eq!(hashes(format!("04{x}{x}")).len(), 1);
    }
}
