//! Signs messages. It shares no code with the verifier.

use base64::{Engine, engine::general_purpose::STANDARD};
use bitcoin::{
    Amount, OutPoint, PubkeyHash, PublicKey, ScriptBuf, Sequence, TapSighashType, Transaction, TxIn, TxOut, Witness,
    absolute::LockTime,
    consensus::encode::serialize,
    hashes::{Hash, sha256, sha256d},
    key::TapTweak,
    opcodes::all::OP_CHECKSIG,
    script::{Builder, PushBytesBuf},
    secp256k1::{All, Keypair, Message, Secp256k1, SecretKey},
    sighash::{EcdsaSighashType, Prevouts, SighashCache},
    transaction::Version,
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The kinds of scripts that a signer has keys of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    P2pk,
    P2pkh,
    P2pkhUncompressed,
    P2wpkh,
    P2shP2wpkh,
    P2tr,
    P2trAll,
    P2wshKey,
    P2wshKeyHash,
    P2wshMultisig,
    P2shMultisig,
    P2shMultisigUncompressed,
    P2shP2wshMultisig,
    /// Against the rules of nodes, and so not in [`Kind::ALL`], like the next.
    P2wshUncompressed,
    /// Of a key whose first byte says the parity of its second number, though that number follows.
    P2pkhHybrid,
}

impl Kind {
    pub(crate) const ALL: [Kind; 13] = [
        Kind::P2pk,
        Kind::P2pkh,
        Kind::P2pkhUncompressed,
        Kind::P2wpkh,
        Kind::P2shP2wpkh,
        Kind::P2tr,
        Kind::P2trAll,
        Kind::P2wshKey,
        Kind::P2wshKeyHash,
        Kind::P2wshMultisig,
        Kind::P2shMultisig,
        Kind::P2shMultisigUncompressed,
        Kind::P2shP2wshMultisig,
    ];

    /// True if it has the simple format: with a prefix or not.
    pub(crate) fn has_simple(self, prefix: bool) -> bool {
        match self {
            Kind::P2pk | Kind::P2pkh | Kind::P2pkhUncompressed => false,
            Kind::P2shMultisig | Kind::P2shMultisigUncompressed => false,
            Kind::P2shP2wpkh | Kind::P2shP2wshMultisig => !prefix,
            _ => true,
        }
    }

    fn is_uncompressed(self) -> bool {
        matches!(
            self,
            Kind::P2pkhUncompressed | Kind::P2pkhHybrid | Kind::P2shMultisigUncompressed | Kind::P2wshUncompressed
        )
    }
}

/// Someone with three keys.
pub(crate) struct Signer {
    secp: Secp256k1<All>,
    pub(crate) kind: Kind,
    /// Of the keys in the script.
    secrets: Vec<SecretKey>,
    /// Those that sign: the same, unless it is a forger.
    signing: Vec<SecretKey>,
    /// Of how many keys a multisig takes a signature.
    required: usize,
}

impl Signer {
    pub(crate) fn new(kind: Kind, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let draw = |_| SecretKey::from_slice(&rng.random::<[u8; 32]>()).unwrap();
        let secrets: Vec<_> = (0..3).map(draw).collect();
        let signing = secrets.clone();
        Self { secp: Secp256k1::new(), kind, secrets, signing, required: 1 + (seed % 3) as usize }
    }

    /// Someone who signs for the script of others with keys of their own.
    pub(crate) fn forger(kind: Kind, seed: u64) -> Self {
        Self { signing: Self::new(kind, seed + 1).secrets, ..Self::new(kind, seed) }
    }

    fn key(&self, n: usize) -> PublicKey {
        self.public(&self.secrets[n])
    }

    fn public(&self, secret: &SecretKey) -> PublicKey {
        PublicKey { compressed: !self.kind.is_uncompressed(), inner: secret.public_key(&self.secp) }
    }

    /// The script that a hash stands for, or that is signed.
    fn inner(&self) -> ScriptBuf {
        let key = self.key(0);
        match self.kind {
            Kind::P2pk | Kind::P2wshKey | Kind::P2wshUncompressed => {
                Builder::new().push_key(&key).push_opcode(OP_CHECKSIG).into_script()
            }
            Kind::P2pkh | Kind::P2pkhUncompressed | Kind::P2wshKeyHash => ScriptBuf::new_p2pkh(&key.pubkey_hash()),
            Kind::P2pkhHybrid => ScriptBuf::new_p2pkh(&PubkeyHash::hash(&hybrid(&key))),
            Kind::P2wpkh | Kind::P2shP2wpkh => ScriptBuf::new_p2wpkh(&key.wpubkey_hash().unwrap()),
            Kind::P2tr | Kind::P2trAll => {
                ScriptBuf::new_p2tr(&self.secp, self.secrets[0].x_only_public_key(&self.secp).0, None)
            }
            Kind::P2wshMultisig | Kind::P2shMultisig | Kind::P2shMultisigUncompressed | Kind::P2shP2wshMultisig => {
                let start = Builder::new().push_int(self.required as i64);
                let keys = (0..3).fold(start, |script, n| script.push_key(&self.key(n)));
                keys.push_int(3).push_opcode(bitcoin::opcodes::all::OP_CHECKMULTISIG).into_script()
            }
        }
    }

    /// The scriptPubKey.
    pub(crate) fn script(&self) -> ScriptBuf {
        let inner = self.inner();
        match self.kind {
            Kind::P2wshKey | Kind::P2wshKeyHash | Kind::P2wshMultisig | Kind::P2wshUncompressed => inner.to_p2wsh(),
            Kind::P2shP2wpkh | Kind::P2shMultisig | Kind::P2shMultisigUncompressed => inner.to_p2sh(),
            Kind::P2shP2wshMultisig => inner.to_p2wsh().to_p2sh(),
            _ => inner,
        }
    }

    /// The transaction that has nothing but its signature left to add.
    pub(crate) fn unsigned(&self, message: &str) -> Transaction {
        unsigned(self.script(), message)
    }

    /// Adds what satisfies the script.
    pub(crate) fn sign(&self, tx: &mut Transaction) {
        let inner = self.inner();
        let mut cache = SighashCache::new(&*tx);
        let all = EcdsaSighashType::All;
        let hash = match self.kind {
            Kind::P2tr | Kind::P2trAll => [0; 32],
            Kind::P2wpkh | Kind::P2shP2wpkh => {
                cache.p2wpkh_signature_hash(0, &inner, Amount::ZERO, all).unwrap().to_byte_array()
            }
            Kind::P2wshKey
            | Kind::P2wshKeyHash
            | Kind::P2wshMultisig
            | Kind::P2wshUncompressed
            | Kind::P2shP2wshMultisig => {
                cache.p2wsh_signature_hash(0, &inner, Amount::ZERO, all).unwrap().to_byte_array()
            }
            _ => cache.legacy_signature_hash(0, &inner, 1).unwrap().to_byte_array(),
        };
        let sign = |n: usize| {
            let signature = self.secp.sign_ecdsa(&Message::from_digest(hash), &self.signing[n]);
            [&signature.serialize_der()[..], &[1]].concat()
        };
        // Signatures of the last keys, so that those before them are skipped.
        let several = || (3 - self.required..3).map(sign);
        let stack: Vec<Vec<u8>> = match self.kind {
            Kind::P2tr | Kind::P2trAll => vec![self.schnorr(tx)],
            Kind::P2pk | Kind::P2wshKey | Kind::P2wshUncompressed => vec![sign(0)],
            Kind::P2wshMultisig | Kind::P2shMultisig | Kind::P2shMultisigUncompressed | Kind::P2shP2wshMultisig => {
                [Vec::new()].into_iter().chain(several()).collect()
            }
            Kind::P2pkhHybrid => vec![sign(0), hybrid(&self.key(0))],
            _ => vec![sign(0), self.public(&self.signing[0]).to_bytes()],
        };
        let input = &mut tx.input[0];
        match self.kind {
            Kind::P2pk | Kind::P2pkh | Kind::P2pkhUncompressed | Kind::P2pkhHybrid => input.script_sig = pushes(&stack),
            Kind::P2shMultisig | Kind::P2shMultisigUncompressed => {
                input.script_sig = pushes(&[stack, vec![inner.into_bytes()]].concat());
            }
            Kind::P2shP2wpkh => {
                input.script_sig = pushes(&[inner.into_bytes()]);
                input.witness = Witness::from_slice(&stack);
            }
            Kind::P2shP2wshMultisig => {
                input.script_sig = pushes(&[inner.to_p2wsh().into_bytes()]);
                input.witness = Witness::from_slice(&[stack, vec![inner.into_bytes()]].concat());
            }
            Kind::P2wshKey | Kind::P2wshKeyHash | Kind::P2wshMultisig | Kind::P2wshUncompressed => {
                input.witness = Witness::from_slice(&[stack, vec![inner.into_bytes()]].concat());
            }
            Kind::P2wpkh | Kind::P2tr | Kind::P2trAll => input.witness = Witness::from_slice(&stack),
        }
    }

    fn schnorr(&self, tx: &Transaction) -> Vec<u8> {
        let spent = [TxOut { value: Amount::ZERO, script_pubkey: self.script() }];
        let hash_type = if self.kind == Kind::P2tr { TapSighashType::Default } else { TapSighashType::All };
        let hash = SighashCache::new(tx).taproot_key_spend_signature_hash(0, &Prevouts::All(&spent), hash_type);
        let pair = Keypair::from_secret_key(&self.secp, &self.signing[0]).tap_tweak(&self.secp, None).to_keypair();
        let message = Message::from_digest(hash.unwrap().to_byte_array());
        let signature = self.secp.sign_schnorr_no_aux_rand(&message, &pair);
        bitcoin::taproot::Signature { signature, sighash_type: hash_type }.to_vec()
    }

    /// The signed transaction.
    pub(crate) fn signed(&self, message: &str) -> Transaction {
        let mut tx = self.unsigned(message);
        self.sign(&mut tx);
        tx
    }

    /// A compact signature with a header that names the recovery of the key and nothing else.
    pub(crate) fn compact(&self, message: &str) -> Vec<u8> {
        let length = bitcoin::VarInt::from(message.len());
        let text = [&b"\x18Bitcoin Signed Message:\n"[..], &serialize(&length), message.as_bytes()].concat();
        let digest = sha256d::Hash::hash(&text).to_byte_array();
        let signature = self.secp.sign_ecdsa_recoverable(&Message::from_digest(digest), &self.signing[0]);
        let (id, numbers) = signature.serialize_compact();
        [&[id.to_i32() as u8][..], &numbers].concat()
    }
}

/// The transaction that has nothing but a signature for the script left to add.
pub(crate) fn unsigned(script: ScriptBuf, message: &str) -> Transaction {
    let tag = sha256::Hash::hash(b"BIP0322-signed-message").to_byte_array();
    let hash = sha256::Hash::hash(&[&tag[..], &tag, message.as_bytes()].concat()).to_byte_array();
    let to_spend = transaction(
        TxIn {
            previous_output: OutPoint::null(),
            script_sig: ScriptBuf::from([&[0, 32][..], &hash].concat()),
            sequence: Sequence(0),
            witness: Witness::new(),
        },
        script,
    );
    let previous_output = OutPoint::new(to_spend.compute_txid(), 0);
    let input = TxIn { previous_output, script_sig: ScriptBuf::new(), sequence: Sequence(0), witness: Witness::new() };
    transaction(input, ScriptBuf::from(vec![0x6a]))
}

fn transaction(input: TxIn, script_pubkey: ScriptBuf) -> Transaction {
    let output = vec![TxOut { value: Amount::ZERO, script_pubkey }];
    Transaction { version: Version(0), lock_time: LockTime::ZERO, input: vec![input], output }
}

fn hybrid(key: &PublicKey) -> Vec<u8> {
    let mut bytes = key.inner.serialize_uncompressed().to_vec();
    bytes[0] = 6 + bytes[64] % 2;
    bytes
}

/// A scriptSig that pushes data.
pub(crate) fn pushes(stack: &[Vec<u8>]) -> ScriptBuf {
    let push = |script: Builder, data: &Vec<u8>| script.push_slice(PushBytesBuf::try_from(data.clone()).unwrap());
    stack.iter().fold(Builder::new(), push).into_script()
}

/// The text of a full signature.
pub(crate) fn full(tx: &Transaction) -> String {
    format!("ful{}", STANDARD.encode(serialize(tx)))
}

/// The text of the simple signature with the same witness, without a prefix.
pub(crate) fn simple(tx: &Transaction) -> String {
    STANDARD.encode(serialize(&tx.input[0].witness))
}
