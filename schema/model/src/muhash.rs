//! MuHash3072, the hash of a set that Bitcoin Core prints as `gettxoutsetinfo muhash`.
//!
//! Each element becomes a number of 3 072 bits: the ChaCha20 keystream (nonce 0, from block 0) under the key
//! SHA-256(element), read as little-endian. The set's hash is SHA-256 of the product of its elements modulo the prime
//! 2^3072 − 1 103 717. A product does not care about order, adding an element is one multiplication, and removing one
//! is a division, which is put off: removed elements gather in a denominator that is inverted once, at the end.

use std::fmt;

use chacha20::{
    ChaCha20,
    cipher::{KeyIvInit, StreamCipher},
};
use sha2::{Digest, Sha256};

use crate::Txid;

/// 64-bit limbs of a number.
const LIMBS: usize = 48;
const BYTES: usize = LIMBS * 8;
/// The modulus is 2^3072 − `GAP`, the largest safe prime of that length.
const GAP: u64 = 1_103_717;

/// A number modulo 2^3072 − `GAP`, least significant limb first. Any value below 2^3072 stands for its residue; it is
/// brought below the modulus only where bytes are read.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Num3072([u64; LIMBS]);

impl Num3072 {
    const ONE: Num3072 = {
        let mut limbs = [0; LIMBS];
        limbs[0] = 1;
        Num3072(limbs)
    };

    /// The number that stands for an element of the set.
    fn of_element(element: &[u8]) -> Num3072 {
        let key: [u8; 32] = Sha256::digest(element).into();
        let mut stream = [0u8; BYTES];
        ChaCha20::new(&key.into(), &[0u8; 12].into()).apply_keystream(&mut stream);
        Num3072::from_le_bytes(&stream)
    }

    fn from_le_bytes(bytes: &[u8; BYTES]) -> Num3072 {
        let (words, _) = bytes.as_chunks::<8>();
        let mut limbs = [0; LIMBS];
        for (limb, word) in limbs.iter_mut().zip(words) {
            *limb = u64::from_le_bytes(*word);
        }
        Num3072(limbs)
    }

    fn to_le_bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        for (word, limb) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(self.canonical().0) {
            *word = limb.to_le_bytes();
        }
        bytes
    }

    /// The same residue, below the modulus. x ≥ 2^3072 − GAP exactly where x + GAP overflows, and then the 3 072 bits
    /// that remain of x + GAP are x − modulus.
    fn canonical(self) -> Num3072 {
        let mut reduced = self;
        if add_small(&mut reduced.0, GAP) { reduced } else { self }
    }

    /// Schoolbook product of 6 144 bits, then two folds: 2^3072 ≡ GAP.
    fn multiply(&mut self, other: &Num3072) {
        let mut product = [0u64; 2 * LIMBS];
        for (i, &a) in self.0.iter().enumerate() {
            let (row, rest) = product[i..].split_at_mut(LIMBS);
            let mut carry = 0;
            for (place, &b) in row.iter_mut().zip(&other.0) {
                (*place, carry) = a.carrying_mul_add(b, *place, carry);
            }
            // Rows are added from low to high: this limb has not been touched yet.
            rest[0] = carry;
        }
        let (low, high) = product.split_at(LIMBS);
        let mut carry = 0;
        for ((place, &l), &h) in self.0.iter_mut().zip(low).zip(high) {
            (*place, carry) = h.carrying_mul_add(GAP, l, carry);
        }
        // The carry has at most 21 bits, so that its product with GAP fits a limb. If adding it overflows, the
        // remaining number is below 2^42, and one more GAP cannot overflow again.
        if add_small(&mut self.0, carry * GAP) {
            add_small(&mut self.0, GAP);
        }
    }

    /// 1 / self by Fermat: self^(modulus − 2), four bits of the exponent at a time. Zero has no inverse and gives zero;
    /// finding an element that maps to zero would be a break of ChaCha20.
    fn inverse(&self) -> Num3072 {
        // powers[n] = self^n
        let mut powers = [Num3072::ONE; 16];
        for n in 1..16 {
            powers[n] = powers[n - 1];
            powers[n].multiply(self);
        }
        // modulus − 2 = 2^3072 − (GAP + 2): all limbs are full but the lowest.
        let mut exponent = [u64::MAX; LIMBS];
        exponent[0] = 0u64.wrapping_sub(GAP + 2);
        let mut result = Num3072::ONE;
        for limb in exponent.iter().rev() {
            for shift in (0..64).step_by(4).rev() {
                for _ in 0..4 {
                    let square = result;
                    result.multiply(&square);
                }
                result.multiply(&powers[(limb >> shift & 15) as usize]);
            }
        }
        result
    }
}

/// Adds a small number; true if the sum overflowed 3 072 bits.
fn add_small(limbs: &mut [u64; LIMBS], small: u64) -> bool {
    let mut carry = small;
    for limb in limbs {
        if carry == 0 {
            return false;
        }
        let overflowed;
        (*limb, overflowed) = limb.overflowing_add(carry);
        carry = u64::from(overflowed);
    }
    carry != 0
}

/// The hash of a multiset of byte strings, in the making.
#[derive(Clone)]
pub struct MuHash {
    numerator: Num3072,
    denominator: Num3072,
}

impl MuHash {
    /// The empty set.
    #[must_use]
    pub fn new() -> Self {
        MuHash { numerator: Num3072::ONE, denominator: Num3072::ONE }
    }

    /// Adds an element.
    pub fn insert(&mut self, element: &[u8]) {
        self.numerator.multiply(&Num3072::of_element(element));
    }

    /// Removes an element. It need not have been added yet: order does not matter.
    pub fn remove(&mut self, element: &[u8]) {
        self.denominator.multiply(&Num3072::of_element(element));
    }

    /// The hash of the set. Costs about 4 000 multiplications (some milliseconds).
    #[must_use]
    pub fn finalize(&self) -> MuHashDigest {
        let mut quotient = self.denominator.inverse();
        quotient.multiply(&self.numerator);
        MuHashDigest(Sha256::digest(quotient.to_le_bytes()).into())
    }
}

impl Default for MuHash {
    fn default() -> Self {
        MuHash::new()
    }
}

impl fmt::Debug for MuHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MuHash({})", self.finalize())
    }
}

/// The hash of a set. Prints as Bitcoin Core prints it: 64 hexadecimal digits, last byte first.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct MuHashDigest(pub [u8; 32]);

impl fmt::Display for MuHashDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().rev().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for MuHashDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Appends a coin to `out` as Bitcoin Core serializes it for its hashes of the coin set (`TxOutSer`). First comes the
/// outpoint (txid, output index as 4 bytes), then height × 2 + coinbase as 4 bytes, value as 8 bytes, and the script
/// behind its length as CompactSize. Numbers are little-endian. Heights need 31 bits, as in Core.
pub fn coin_bytes(
    txid: &Txid,
    vout: u32,
    height: u32,
    coinbase: bool,
    value_sats: u64,
    script_pubkey: &[u8],
    out: &mut Vec<u8>,
) {
    out.reserve(57 + script_pubkey.len());
    out.extend_from_slice(&txid.0);
    out.extend_from_slice(&vout.to_le_bytes());
    out.extend_from_slice(&(height << 1 | u32::from(coinbase)).to_le_bytes());
    out.extend_from_slice(&value_sats.to_le_bytes());
    compact_size(script_pubkey.len() as u64, out);
    out.extend_from_slice(script_pubkey);
}

/// Appends a length as CompactSize.
fn compact_size(n: u64, out: &mut Vec<u8>) {
    if n < 0xfd {
        out.push(n as u8);
    } else if n <= 0xffff {
        out.push(0xfd);
        out.extend_from_slice(&(n as u16).to_le_bytes());
    } else if n <= 0xffff_ffff {
        out.push(0xfe);
        out.extend_from_slice(&(n as u32).to_le_bytes());
    } else {
        out.push(0xff);
        out.extend_from_slice(&n.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use bitcoin::consensus::Encodable;
    use num_bigint::BigUint;
    use proptest::prelude::*;

    use super::*;

    /// The 32-byte elements of Bitcoin Core's own tests.
    fn core_element(i: u8) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes[0] = i;
        bytes
    }

    fn set(elements: &[Vec<u8>]) -> MuHash {
        let mut hash = MuHash::new();
        elements.iter().for_each(|e| hash.insert(e));
        hash
    }

    fn modulus() -> BigUint {
        (BigUint::from(1u8) << 3072) - GAP
    }

    fn big(n: &Num3072) -> BigUint {
        BigUint::from_bytes_le(&n.to_le_bytes())
    }

    /// Slow and plain: the definition, with another big-number library.
    fn reference(inserted: &[Vec<u8>], removed: &[Vec<u8>]) -> MuHashDigest {
        let product = |elements: &[Vec<u8>]| {
            elements.iter().fold(BigUint::from(1u8), |acc, e| {
                let mut stream = [0u8; BYTES];
                let key: [u8; 32] = Sha256::digest(e).into();
                ChaCha20::new(&key.into(), &[0u8; 12].into()).apply_keystream(&mut stream);
                acc * BigUint::from_bytes_le(&stream) % modulus()
            })
        };
        let quotient = product(inserted) * product(removed).modinv(&modulus()).unwrap() % modulus();
        let mut bytes = quotient.to_bytes_le();
        bytes.resize(BYTES, 0);
        MuHashDigest(Sha256::digest(bytes).into())
    }

    #[test]
    fn bitcoin_core_vector() {
        let mut hash = MuHash::new();
        hash.insert(&core_element(0));
        hash.insert(&core_element(1));
        hash.remove(&core_element(2));
        assert_eq!(hash.finalize().to_string(), "10d312b100cbd32ada024a6646e40d3482fcff103668d2625f10002a607d5863");
    }

    /// Core's test of a number beyond the modulus, 2^3072 − 1 (it compares bytes, not the reversed display form).
    #[test]
    fn bitcoin_core_overflow_vector() {
        let hash = MuHash { numerator: Num3072([u64::MAX; LIMBS]), denominator: Num3072::ONE };
        let hex: String = hash.finalize().0.iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(hex, "3a31e6903aff0de9f62f9a9f7f8b861de76ce2cda09822b90014319ae5dc2271");
    }

    /// `gettxoutsetinfo muhash` of a node that has only the genesis block, whose coinbase is not a coin.
    #[test]
    fn bitcoin_core_empty_set() {
        let expected = "dd5ad2a105c2d29495f577245c357409002329b9f4d6182c0af3dc2f462555c8";
        assert_eq!(MuHash::new().finalize().to_string(), expected);
        assert_eq!(MuHash::default().finalize(), MuHash::new().finalize());
    }

    #[test]
    fn numbers_at_the_edges_multiply_as_big_numbers_do() {
        let limbs = |low: u64, others: u64| {
            let mut limbs = [others; LIMBS];
            limbs[0] = low;
            Num3072(limbs)
        };
        let top = 0u64.wrapping_sub(GAP);
        let edges = [
            limbs(0, 0),
            limbs(1, 0),
            limbs(GAP, 0),
            limbs(u64::MAX, 0),
            limbs(top - 1, u64::MAX),
            limbs(top, u64::MAX),
            limbs(top + 1, u64::MAX),
            limbs(u64::MAX, u64::MAX),
            limbs(0, u64::MAX),
            limbs(0, 1 << 63),
        ];
        for a in &edges {
            let raw = a.0.iter().rev().fold(BigUint::ZERO, |acc, &limb| (acc << 64) + limb);
            assert_eq!(big(a), raw % modulus());
            for b in &edges {
                let mut product = *a;
                product.multiply(b);
                assert_eq!(big(&product), big(a) * big(b) % modulus());
            }
            if big(a) != BigUint::ZERO {
                assert_eq!(big(&a.inverse()), big(a).modinv(&modulus()).unwrap());
            }
        }
    }

    #[test]
    fn coins_serialize_as_outpoint_code_and_txout() {
        for (len, height, coinbase) in
            [(0, 0, true), (25, 840_000, false), (252, 1, true), (253, 2, false), (10_000, 0x7fff_ffff, true)]
        {
            let script = vec![0x51u8; len];
            let txid = Txid([7; 32]);
            let mut ours = vec![0xaa];
            coin_bytes(&txid, 3, height, coinbase, 5_000_000_000, &script, &mut ours);

            let mut theirs = vec![0xaa];
            let outpoint = bitcoin::OutPoint { txid: bitcoin::consensus::deserialize(&txid.0).unwrap(), vout: 3 };
            outpoint.consensus_encode(&mut theirs).unwrap();
            (height * 2 + u32::from(coinbase)).consensus_encode(&mut theirs).unwrap();
            let txout = bitcoin::TxOut {
                value: bitcoin::Amount::from_sat(5_000_000_000),
                script_pubkey: bitcoin::ScriptBuf::from_bytes(script),
            };
            txout.consensus_encode(&mut theirs).unwrap();
            assert_eq!(ours, theirs);
        }
        let mut long = Vec::new();
        compact_size(70_000, &mut long);
        compact_size(u64::MAX, &mut long);
        assert_eq!(long, [0xfe, 0x70, 0x11, 1, 0, 0xff, 255, 255, 255, 255, 255, 255, 255, 255]);
    }

    fn elements(max: usize) -> impl Strategy<Value = Vec<Vec<u8>>> {
        prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..max)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn agrees_with_a_slow_reference(inserted in elements(6), removed in elements(4)) {
            let mut hash = set(&inserted);
            removed.iter().for_each(|e| hash.remove(e));
            prop_assert_eq!(hash.finalize(), reference(&inserted, &removed));
        }

        #[test]
        fn order_does_not_matter(
            (elements, shuffled) in elements(8).prop_flat_map(|e| (Just(e.clone()), Just(e).prop_shuffle()))
        ) {
            prop_assert_eq!(set(&elements).finalize(), set(&shuffled).finalize());
        }

        #[test]
        fn removal_cancels_insertion(kept in elements(4), passing in elements(4)) {
            let mut hash = MuHash::new();
            passing.iter().for_each(|e| hash.remove(e));
            kept.iter().for_each(|e| hash.insert(e));
            passing.iter().for_each(|e| hash.insert(e));
            prop_assert_eq!(hash.finalize(), set(&kept).finalize());
        }

        #[test]
        fn another_set_has_another_hash(elements in elements(4), extra in prop::collection::vec(any::<u8>(), 0..40)) {
            let before = set(&elements);
            let mut after = before.clone();
            after.insert(&extra);
            prop_assert_ne!(before.finalize(), after.finalize());
        }
    }
}
