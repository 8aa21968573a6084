//! Locks: how an output is locked and what unlocks it, for every output type of Bitcoin.

use bitcoin::opcodes::all::{OP_CHECKMULTISIG, OP_CHECKSIG, OP_DROP, OP_EQUAL, OP_SHA256};
use bitcoin::script::{Builder, PushBytesBuf, ScriptBuf};
use bitcoin::{Witness, opcodes};

use super::account::Bip84Key;

/// How a public key is written in a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyForm {
    /// 33 bytes, prefix 02 or 03.
    Compressed,
    /// 65 bytes, prefix 04.
    Uncompressed,
    /// 65 bytes, prefix 06 or 07: valid in consensus, and kept raw in undo files.
    Hybrid,
}

/// How an output is locked. Keys are given by their index in the [`Keyring`](crate::Keyring), or by their path in its
/// wallet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lock {
    /// Pay to public key.
    P2pk {
        /// Key index.
        key: u32,
        /// Form of the key in the script.
        form: KeyForm,
    },
    /// Pay to public key hash.
    P2pkh {
        /// Key index.
        key: u32,
        /// Form of the hashed key.
        form: KeyForm,
    },
    /// Bare multisig (OP_CHECKMULTISIG in the output itself).
    BareMultisig {
        /// Signatures needed.
        needed: u8,
        /// Key indexes, at most 16 here.
        keys: Vec<u32>,
        /// Form of the keys.
        form: KeyForm,
    },
    /// Multisig behind a script hash.
    P2shMultisig {
        /// Signatures needed.
        needed: u8,
        /// Key indexes, at most 15 with compressed keys (520-byte limit).
        keys: Vec<u32>,
        /// Form of the keys.
        form: KeyForm,
    },
    /// P2WPKH wrapped in P2SH.
    P2shP2wpkh {
        /// Key index.
        key: u32,
    },
    /// Multisig P2WSH wrapped in P2SH.
    P2shP2wsh {
        /// Signatures needed.
        needed: u8,
        /// Key indexes.
        keys: Vec<u32>,
    },
    /// Pay to witness public key hash.
    P2wpkh {
        /// Key index.
        key: u32,
    },
    /// Pay to the witness public key hash of a key of a wallet: `m/84'/1'/account'/branch/index` (BIP 84).
    Bip84(Bip84Key),
    /// Multisig behind a witness script hash.
    P2wsh {
        /// Signatures needed.
        needed: u8,
        /// Key indexes.
        keys: Vec<u32>,
    },
    /// Taproot without script tree, spent by the key path (BIP 86).
    P2trKey {
        /// Key index of the internal key.
        key: u32,
    },
    /// Taproot with two leaves, spent by the script path through the first one.
    P2trScript {
        /// Key index of the internal key.
        internal: u32,
        /// Key indexes that the two leaves check.
        leaves: [u32; 2],
    },
    /// Any script that needs no signature; the unlocking data is given.
    Open {
        /// The scriptPubKey.
        script: ScriptBuf,
        /// The scriptSig that unlocks it.
        script_sig: ScriptBuf,
        /// The witness that unlocks it.
        witness: Witness,
    },
}

impl Lock {
    /// An output that anyone can spend: OP_TRUE.
    pub fn anyone() -> Self {
        Self::open(Builder::new().push_opcode(opcodes::OP_TRUE).into_script())
    }

    /// Pay to anchor: `OP_1 <4e73>`, spent with nothing.
    pub fn p2a() -> Self {
        Self::open(ScriptBuf::from_bytes(vec![0x51, 0x02, 0x4e, 0x73]))
    }

    /// A witness program of a version without rules yet (2 to 16), or version 1 with a length other than 32:
    /// in consensus anyone can spend it. `version` is clamped to 1..=16, `program` to 2..=40 bytes.
    pub fn future_witness(version: u8, mut program: Vec<u8>) -> Self {
        program.resize(program.len().clamp(2, 40), 0);
        let mut bytes = vec![0x50 + version.clamp(1, 16), program.len() as u8];
        bytes.extend_from_slice(&program);
        Self::open(ScriptBuf::from_bytes(bytes))
    }

    /// A non-standard hash puzzle: `OP_SHA256 <hash> OP_EQUAL`, unlocked by the preimage.
    /// A preimage above 520 bytes is cut to that size, the limit of one push.
    pub fn hash_puzzle(preimage: &[u8]) -> Self {
        let preimage = push_bytes(preimage);
        let hash = bitcoin::hashes::sha256::Hash::const_hash(preimage.as_bytes());
        let script = Builder::new()
            .push_opcode(OP_SHA256)
            .push_slice(<bitcoin::hashes::sha256::Hash as AsRef<[u8; 32]>>::as_ref(&hash))
            .push_opcode(OP_EQUAL)
            .into_script();
        let script_sig = Builder::new().push_slice(preimage).into_script();
        Self::Open { script, script_sig, witness: Witness::new() }
    }

    /// A spendable script of exactly 10,000 bytes, the largest that enters the coin set:
    /// pushes that are dropped again, then OP_TRUE. `fill` makes it unique.
    pub fn largest(fill: u8) -> Self {
        // One round is a 520-byte push (3 bytes of push opcode) and OP_DROP: 524 bytes.
        let mut builder = Builder::new();
        for _ in 0..19 {
            builder = builder.push_slice(push_bytes(&[fill; 520])).push_opcode(OP_DROP);
        }
        // 19 * 524 = 9,956; the rest is a push of 41 bytes (1 + 41), OP_DROP and OP_TRUE.
        let script = builder
            .push_slice(push_bytes(&[fill; 41]))
            .push_opcode(OP_DROP)
            .push_opcode(opcodes::OP_TRUE)
            .into_script();
        Self::open(script)
    }

    fn open(script: ScriptBuf) -> Self {
        Self::Open { script, script_sig: ScriptBuf::new(), witness: Witness::new() }
    }
}

/// Makes pushable bytes, cut to 520.
pub(crate) fn push_bytes(bytes: &[u8]) -> PushBytesBuf {
    let mut buffer = PushBytesBuf::new();
    // 520 bytes always fit one push, so this cannot fail.
    let _ = buffer.extend_from_slice(&bytes[..bytes.len().min(520)]);
    buffer
}

/// `needed` of the given serialized keys.
pub(crate) fn multisig_script(needed: u8, keys: &[Vec<u8>]) -> ScriptBuf {
    let mut builder = Builder::new().push_int(i64::from(needed));
    for key in keys {
        builder = builder.push_slice(push_bytes(key));
    }
    builder.push_int(keys.len() as i64).push_opcode(OP_CHECKMULTISIG).into_script()
}

/// `<key> OP_CHECKSIG`.
pub(crate) fn checksig_script(key: &[u8]) -> ScriptBuf {
    Builder::new().push_slice(push_bytes(key)).push_opcode(OP_CHECKSIG).into_script()
}
