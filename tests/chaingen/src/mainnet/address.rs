//! Scripts and unlocking data of the mainnet shape, computed from an address.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::keys::Keys;
use super::random::{mix, push_random, spread};
use super::{MainnetOptions, P2pkShare, Signatures};

/// Owners with a real key behind an uncompressed P2PK script, which compresses in undo files only if its key is on the
/// curve. Real keys are dear, so that such scripts are the first address of every sixth of the first owners, no other.
const KEYS: usize = 16;
const KEY_EVERY: u32 = 6;
/// With a share of P2PK, the first owners have none: one of their addresses alone gets enough outputs to decide the
/// share.
const BUSY_OWNERS: u32 = 1_000;

/// Kinds of script, with their share of all other addresses in thousandths.
const MIX: [(Kind, u32); 9] = [
    (Kind::P2pkh, 378),
    (Kind::P2shMultisig, 130),
    (Kind::P2shP2wpkh, 115),
    (Kind::P2wpkh, 230),
    (Kind::P2wsh, 72),
    (Kind::P2trKey, 44),
    (Kind::P2trScript, 22),
    (Kind::P2pk, 4),
    (Kind::BareMultisig, 5),
];

/// An address of an owner. No two have the same script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) owner: u32,
    /// Which of the owner's addresses, from 0.
    pub(super) n: u32,
}

impl Address {
    pub(super) fn first(owner: u32) -> Self {
        Self { owner, n: 0 }
    }

    fn number(self) -> u64 {
        u64::from(self.owner) << 32 | u64::from(self.n)
    }

    /// Which of the real keys it has.
    fn key(self) -> Option<usize> {
        let last = self.n == 0 && self.owner % KEY_EVERY == KEY_EVERY - 1;
        Some((self.owner / KEY_EVERY) as usize).filter(|&key| last && key < KEYS)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    P2pkh,
    P2shMultisig,
    P2shP2wpkh,
    P2wpkh,
    P2wsh,
    P2trKey,
    P2trScript,
    P2pk,
    P2pkUncompressed,
    BareMultisig,
}

impl Kind {
    pub(super) fn is_p2pk(self) -> bool {
        matches!(self, Kind::P2pk | Kind::P2pkUncompressed)
    }
}

/// Makes scripts of addresses. Nothing is stored per address: its kind and hashes are a mix of its numbers.
#[derive(Debug)]
pub(super) struct Addresses {
    signatures: Signatures,
    salt: u64,
    keys: Keys,
    kinds: Vec<Kind>,
    p2pk: Option<P2pkShare>,
}

impl Addresses {
    pub(super) fn new(options: &MainnetOptions) -> Result<Self, bitcoin::secp256k1::Error> {
        // With a share of P2PK, the mix has none.
        let kind = |kind: Kind| if kind.is_p2pk() && options.p2pk.is_some() { Kind::P2pkh } else { kind };
        let kinds = MIX.iter().flat_map(|&(of, share)| std::iter::repeat_n(kind(of), share as usize)).collect();
        let (signatures, keys) = (options.signatures, Keys::new(options.seed, KEYS)?);
        Ok(Self { signatures, salt: mix(options.seed), keys, kinds, p2pk: options.p2pk })
    }

    pub(super) fn kind(&self, address: Address) -> Kind {
        let drawn = match self.p2pk {
            Some(share) => self.p2pk_kind(address, share),
            None => address.key().map(|_| Kind::P2pkUncompressed),
        };
        drawn.unwrap_or_else(|| self.kinds[(mix(self.salt ^ address.number()) % self.kinds.len() as u64) as usize])
    }

    /// The kind of an address that is P2PK by the share.
    fn p2pk_kind(&self, address: Address, share: P2pkShare) -> Option<Kind> {
        let drawn = mix(!self.salt ^ address.number());
        let is_p2pk = address.owner >= BUSY_OWNERS && drawn % 1_000_000 < u64::from(share.addresses_ppm);
        let is_compressed = mix(drawn) % 100 < u64::from(share.compressed_percent);
        is_p2pk.then_some(if is_compressed { Kind::P2pk } else { Kind::P2pkUncompressed })
    }

    /// Appends the scriptPubKey and returns the cost of its signature operations.
    pub(super) fn write_script(&self, out: &mut Vec<u8>, address: Address) -> usize {
        let kind = self.kind(address);
        let hash = spread(self.salt, address.number());
        if self.signatures == Signatures::Open {
            write_open_script(out, kind, &hash);
            return 0;
        }
        match kind {
            Kind::P2pkh => {
                out.extend_from_slice(&[0x76, 0xa9, 20]);
                out.extend_from_slice(&hash[..20]);
                out.extend_from_slice(&[0x88, 0xac]);
                return 4;
            }
            Kind::P2shMultisig | Kind::P2shP2wpkh => {
                out.extend_from_slice(&[0xa9, 20]);
                out.extend_from_slice(&hash[..20]);
                out.push(0x87);
            }
            Kind::P2wpkh => {
                out.extend_from_slice(&[0, 20]);
                out.extend_from_slice(&hash[..20]);
            }
            Kind::P2wsh => {
                out.extend_from_slice(&[0, 32]);
                out.extend_from_slice(&hash);
            }
            Kind::P2trKey | Kind::P2trScript => {
                out.extend_from_slice(&[0x51, 32]);
                out.extend_from_slice(&hash);
            }
            Kind::P2pk | Kind::P2pkUncompressed => {
                self.push_shown_key(out, address, kind, &hash);
                out.push(0xac);
                return 4;
            }
            Kind::BareMultisig => {
                out.push(0x51);
                self.push_keys(out, address, 2);
                out.extend_from_slice(&[0x52, 0xae]);
                return 80;
            }
        }
        0
    }

    /// Appends what spends an output of this address: the scriptSig with its length, and the witness stack (a lone
    /// zero if there is none). Returns the cost of the signature operations and whether there is a witness.
    pub(super) fn write_unlock(
        &self,
        rng: &mut ChaCha8Rng,
        address: Address,
        script_sig: &mut Vec<u8>,
        witness: &mut Vec<u8>,
    ) -> (usize, bool) {
        let kind = self.kind(address);
        let open = self.signatures == Signatures::Open;
        match kind {
            Kind::P2pkh => {
                // A tenth of the keys is uncompressed.
                let long = mix(address.number()).is_multiple_of(10);
                let start = begin(script_sig);
                push_signature(rng, script_sig);
                self.push_key(script_sig, address, 0, long);
                end(script_sig, start);
            }
            Kind::P2pk | Kind::P2pkUncompressed => {
                let start = begin(script_sig);
                push_signature(rng, script_sig);
                end(script_sig, start);
            }
            Kind::BareMultisig => {
                let start = begin(script_sig);
                script_sig.push(0);
                push_signature(rng, script_sig);
                end(script_sig, start);
            }
            Kind::P2shMultisig => {
                let start = script_sig.len();
                script_sig.extend_from_slice(&[0xfd, 0, 0, 0]);
                push_signature(rng, script_sig);
                push_signature(rng, script_sig);
                script_sig.extend_from_slice(&[0x4c, 105, 0x52]);
                self.push_keys(script_sig, address, 3);
                script_sig.extend_from_slice(&[0x53, 0xae]);
                let length = script_sig.len() - start - 3;
                if length < 0xfd {
                    // Two short signatures: the length fits one byte, and then it must be one.
                    script_sig[start] = length as u8;
                    script_sig.drain(start + 1..start + 3);
                } else {
                    script_sig[start + 1..start + 3].copy_from_slice(&(length as u16).to_le_bytes());
                }
            }
            Kind::P2shP2wpkh if !open => {
                script_sig.extend_from_slice(&[23, 22, 0, 20]);
                script_sig.extend_from_slice(&spread(!self.salt, address.number())[..20]);
            }
            _ => script_sig.push(0),
        }
        match kind {
            Kind::P2shP2wpkh | Kind::P2wpkh => {
                witness.push(2);
                push_signature(rng, witness);
                self.push_key(witness, address, 0, false);
                (1, true)
            }
            Kind::P2wsh => {
                witness.extend_from_slice(&[4, 0]);
                push_signature(rng, witness);
                push_signature(rng, witness);
                witness.extend_from_slice(&[105, 0x52]);
                self.push_keys(witness, address, 3);
                witness.extend_from_slice(&[0x53, 0xae]);
                (3, true)
            }
            Kind::P2trKey => {
                witness.extend_from_slice(&[1, 64]);
                push_random(rng, witness, 64);
                (0, true)
            }
            Kind::P2trScript => {
                // Signature, a leaf with data in an envelope that is not executed, control block.
                let data: u8 = rng.random_range(40..=200);
                witness.extend_from_slice(&[3, 64]);
                push_random(rng, witness, 64);
                witness.extend_from_slice(&[data + 34 + 5, 32]);
                push_random(rng, witness, 32);
                witness.extend_from_slice(&[0xac, 0x00, 0x63, 0x4c, data]);
                push_random(rng, witness, usize::from(data));
                witness.extend_from_slice(&[0x68, 33, 0xc0]);
                push_random(rng, witness, 32);
                (0, true)
            }
            Kind::P2shMultisig if !open => {
                witness.push(0);
                (12, false)
            }
            _ => {
                witness.push(0);
                (0, false)
            }
        }
    }

    /// The key of a P2PK script with its length. Compressed keys of the usual shape are random bytes.
    fn push_shown_key(&self, out: &mut Vec<u8>, address: Address, kind: Kind, random: &[u8; 32]) {
        let key = match (self.p2pk, kind) {
            (None, Kind::P2pk) => None,
            (None, _) => address.key().and_then(|index| self.keys.known(index)),
            (Some(_), _) => self.keys.of(address.number()),
        };
        match key {
            Some(key) if kind == Kind::P2pkUncompressed => push(out, &key.serialize_uncompressed()),
            Some(key) => push(out, &key.serialize()),
            None => push(out, &[&[2 | (random[0] & 1)], &random[..]].concat()),
        }
    }

    /// A key of an address with its length; the same every time.
    fn push_key(&self, out: &mut Vec<u8>, address: Address, n: u64, long: bool) {
        let x = spread(self.salt.wrapping_add(n + 1), address.number());
        if long {
            out.extend_from_slice(&[65, 4]);
            out.extend_from_slice(&x);
            out.extend_from_slice(&spread(self.salt ^ n, address.number()));
        } else {
            out.extend_from_slice(&[33, 2 | (x[0] & 1)]);
            out.extend_from_slice(&x);
        }
    }

    fn push_keys(&self, out: &mut Vec<u8>, address: Address, count: u64) {
        for n in 0..count {
            self.push_key(out, address, n, false);
        }
    }
}

/// Scripts of nearly the same sizes that anyone can spend with the same unlocking data, so that a node without
/// -assumevalid can check the structure of the chain: data that is dropped, or witness versions without rules yet.
fn write_open_script(out: &mut Vec<u8>, kind: Kind, hash: &[u8; 32]) {
    let (head, length, tail): (&[u8], usize, &[u8]) = match kind {
        Kind::P2pkh => (&[20], 20, &[0x75, 0x51, 0x61, 0x61]),
        Kind::P2shMultisig => (&[20], 20, &[0x75, 0x51]),
        Kind::P2shP2wpkh => (&[0x53, 21], 21, &[]),
        Kind::P2wpkh => (&[0x52, 20], 20, &[]),
        Kind::P2wsh => (&[0x52, 32], 32, &[]),
        Kind::P2trKey | Kind::P2trScript => (&[0x54, 32], 32, &[]),
        Kind::P2pk | Kind::P2pkUncompressed | Kind::BareMultisig => (&[32], 32, &[0x75, 0x51]),
    };
    out.extend_from_slice(head);
    out.extend_from_slice(&hash[..length]);
    out.extend_from_slice(tail);
}

/// Appends bytes with their length.
fn push(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(bytes.len() as u8);
    out.extend_from_slice(bytes);
}

/// Leaves room for a one-byte length.
fn begin(out: &mut Vec<u8>) -> usize {
    out.push(0);
    out.len()
}

fn end(out: &mut [u8], start: usize) {
    out[start - 1] = (out.len() - start) as u8;
}

/// A signature in DER form with its length: the right size and look, not the right numbers.
fn push_signature(rng: &mut ChaCha8Rng, out: &mut Vec<u8>) {
    let mut bytes = [0u8; 64];
    rng.fill(&mut bytes[..]);
    let high = bytes[0] & 1;
    bytes[0] &= 0x7f;
    bytes[32] &= 0x7f;
    out.extend_from_slice(&[71 + high, 0x30, 68 + high, 0x02, 32 + high]);
    if high == 1 {
        bytes[0] |= 0x80;
        out.push(0);
    }
    out.extend_from_slice(&bytes[..32]);
    out.extend_from_slice(&[0x02, 32]);
    out.extend_from_slice(&bytes[32..]);
    out.push(1);
}
