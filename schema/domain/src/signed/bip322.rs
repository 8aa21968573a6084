//! The two virtual transactions of BIP 322, and its rules for them.

use bitcoin::{
    Amount, OutPoint, PubkeyHash, Script, ScriptBuf, Sequence, Transaction, TxIn, TxOut, WPubkeyHash, WScriptHash,
    Witness,
    absolute::LockTime,
    consensus::Decodable,
    hashes::{Hash, HashEngine, sha256},
    opcodes::all::OP_RETURN,
    script::{Builder, PushBytesBuf},
    transaction::Version,
};

use super::{
    spend,
    verdict::{Failure, InconclusiveReason, InvalidReason, SignedBy},
};

const TAG: &[u8] = b"BIP0322-signed-message";
/// The version of both transactions, if `to_sign` says nothing else.
const VERSION: Version = Version(0);

/// Whether the simple format may stand for an address of P2SH with a witness program behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Nested {
    /// As in the drafts of BIP 322, whose signatures have no prefix.
    Allowed,
    /// As in BIP 322 since its version 1.0.0.
    Refused,
}

/// The witness stack in these bytes.
pub(super) fn witness(bytes: &[u8]) -> Option<Witness> {
    let mut rest = bytes;
    let witness = read_witness(&mut rest)?;
    rest.is_empty().then_some(witness)
}

/// Reads a witness stack. `Witness::consensus_decode` would reserve memory for as many elements as the bytes announce,
/// before it reads them.
fn read_witness(rest: &mut &[u8]) -> Option<Witness> {
    Vec::<Vec<u8>>::consensus_decode(rest).ok().map(|stack| Witness::from_slice(&stack))
}

/// The transaction in these bytes, with the witnesses read as above.
pub(super) fn transaction(bytes: &[u8]) -> Option<Transaction> {
    let mut rest = bytes;
    let version = Version::consensus_decode(&mut rest).ok()?;
    // BIP 144: marker and flag.
    let after_flag = rest.strip_prefix(&[0, 1]);
    rest = after_flag.unwrap_or(rest);
    let mut input = Vec::<TxIn>::consensus_decode(&mut rest).ok()?;
    let output = Vec::<TxOut>::consensus_decode(&mut rest).ok()?;
    if after_flag.is_some() {
        for input in &mut input {
            input.witness = read_witness(&mut rest)?;
        }
        // The flag without any witness is another encoding of the same transaction, which consensus refuses.
        if !input.is_empty() && input.iter().all(|input| input.witness.is_empty()) {
            return None;
        }
    }
    let lock_time = LockTime::consensus_decode(&mut rest).ok()?;
    rest.is_empty().then_some(Transaction { version, lock_time, input, output })
}

/// The hash of a message: a tagged hash as in BIP 340.
fn message_hash(message: &str) -> sha256::Hash {
    let tag = sha256::Hash::hash(TAG);
    let mut engine = sha256::Hash::engine();
    for part in [tag.as_byte_array(), tag.as_byte_array(), message.as_bytes()] {
        engine.input(part);
    }
    sha256::Hash::from_engine(engine)
}

/// The transaction whose output has the script, and which commits to the message.
fn to_spend(script: &Script, message: &str) -> Transaction {
    let script_sig = Builder::new().push_int(0).push_slice(message_hash(message).to_byte_array()).into_script();
    let input =
        TxIn { previous_output: OutPoint::null(), script_sig, sequence: Sequence::ZERO, witness: Witness::new() };
    let output = TxOut { value: Amount::ZERO, script_pubkey: ScriptBuf::from(script) };
    Transaction { version: VERSION, lock_time: LockTime::ZERO, input: vec![input], output: vec![output] }
}

/// The transaction that spends it, with default values.
fn to_sign(to_spend: &Transaction, script_sig: ScriptBuf, witness: Witness) -> Transaction {
    let previous_output = OutPoint::new(to_spend.compute_txid(), 0);
    let input = TxIn { previous_output, script_sig, sequence: Sequence::ZERO, witness };
    Transaction { version: VERSION, lock_time: LockTime::ZERO, input: vec![input], output: vec![only_output()] }
}

fn only_output() -> TxOut {
    TxOut { value: Amount::ZERO, script_pubkey: Builder::new().push_opcode(OP_RETURN).into_script() }
}

pub(super) fn simple(script: &Script, message: &str, witness: Witness, nested: Nested) -> Result<SignedBy, Failure> {
    let script_sig = match nested {
        Nested::Allowed if script.is_p2sh() => script_sig_of(script, &witness).ok_or(InvalidReason::NotOfAddress)?,
        _ => ScriptBuf::new(),
    };
    spend::check(&to_sign(&to_spend(script, message), script_sig, witness), script)?;
    Ok(SignedBy::Bip322Simple)
}

/// The scriptSig for a P2SH whose script is the witness program of the last element of a witness: of a key for P2WPKH,
/// of a script for P2WSH. Signatures of segwit do not commit to it, so it can be added (BIP 143).
fn script_sig_of(script: &Script, witness: &Witness) -> Option<ScriptBuf> {
    let last = witness.last()?;
    let of_key = ScriptBuf::new_p2wpkh(&WPubkeyHash::from(PubkeyHash::hash(last).to_raw_hash()));
    let of_script = ScriptBuf::new_p2wsh(&WScriptHash::hash(last));
    let program = [of_key, of_script].into_iter().find(|program| *program.to_p2sh() == *script)?;
    let push = PushBytesBuf::try_from(program.into_bytes()).ok()?;
    Some(Builder::new().push_slice(push).into_script())
}

pub(super) fn full(script: &Script, message: &str, to_sign: &Transaction) -> Result<SignedBy, Failure> {
    let expected = OutPoint::new(to_spend(script, message).compute_txid(), 0);
    let Some(first) = to_sign.input.first().filter(|input| input.previous_output == expected) else {
        return Err(InvalidReason::Outpoint.into());
    };
    if to_sign.output != [only_output()] {
        return Err(InvalidReason::Outputs.into());
    }
    if to_sign.input.len() > 1 {
        return Err(InconclusiveReason::ProofOfFunds.into());
    }
    spend::check(to_sign, script)?;
    // Checks of fields that may have a meaning later or elsewhere come last: a signature that fails the checks above is
    // invalid anyway.
    if !matches!(to_sign.version, Version(0 | 2)) {
        return Err(InconclusiveReason::Version.into());
    }
    // BIP 322 answers "valid at time T and age S" with these two fields, whatever the script makes of them.
    if to_sign.lock_time != LockTime::ZERO || first.sequence != Sequence::ZERO {
        return Err(InconclusiveReason::TimeLock.into());
    }
    Ok(SignedBy::Bip322Full)
}

#[cfg(test)]
mod tests {
    use bitcoin::consensus::encode::{deserialize, serialize};
    use proptest::prelude::*;

    use super::*;
    use crate::{Subject, parse_address};

    /// `tx_hashes` of `bip-0322/basic-test-vectors.json` in the repository of the BIPs: message, its hash, the txids.
    const HASHES: [[&str; 4]; 3] = [
        [
            "",
            "c90c269c4f8fcbe6880f72a721ddfbf1914268a794cbb21cfafee13770ae19f1",
            "c5680aa69bb8d860bf82d4e9cd3504b55dde018de765a91bb566283c545a99a7",
            "1e9654e951a5ba44c8604c4de6c67fd78a27e81dcadcfe1edf638ba3aaebaed6",
        ],
        [
            "Hello World",
            "f0eb03b1a75ac6d9847f55c624a99169b5dccba2a31f5b23bea77ba270de0a7a",
            "b79d196740ad5217771c1098fc4a4b51e0535c32236c71f1ea4d61a2d603352b",
            "88737ae86f2077145f93cc4b153ae9a1cb8d56afa511988c149c5c8c9d93bddf",
        ],
        [
            "UTF-8 support: öäüéàè 测试文本 \u{1f604}",
            "43936b237ea38c7794eb5d755e0d220b6db92ebfc5c8f482759d22b1286376d7",
            "c8f4f525fe8afb1bc09b44175bd2096f079c98425e8a1be676b712add1fb62f0",
            "8f488e06b89eafd019ec528109eafaf7f1d1811fd617aa1eeb9658f1c1be6586",
        ],
    ];

    #[test]
    fn hashes_of_the_bip() {
        let address = parse_address("bc1q9vza2e8x573nczrlzms0wvx3gsqjx7vavgkx0l", None).unwrap();
        let Subject::Script(script) = address else { unreachable!("an address") };
        for [message, hash, spend, sign] in HASHES {
            assert_eq!(hex::encode(message_hash(message).as_byte_array()), hash, "{message}");
            let spent = to_spend(Script::from_bytes(&script), message);
            assert_eq!(spent.compute_txid().to_string(), spend, "{message}");
            let spending = to_sign(&spent, ScriptBuf::new(), Witness::new());
            assert_eq!(spending.compute_txid().to_string(), sign, "{message}");
        }
    }

    #[test]
    fn announced_elements_need_bytes() {
        assert_eq!(witness(&[0xfe, 0, 0, 0x30, 0]), None);
        assert_eq!(witness(&[]), None);
        assert_eq!(witness(&[0]), Some(Witness::new()));
        assert_eq!(witness(&[0, 0]), None);
        assert_eq!(witness(&[2, 0, 1, 7]), Some(Witness::from_slice(&[&[][..], &[7]])));
    }

    #[test]
    fn a_flag_needs_a_witness() {
        let tx = to_sign(&to_spend(Script::new(), ""), ScriptBuf::new(), Witness::new());
        let mut bytes = serialize(&tx);
        assert_eq!(transaction(&bytes), Some(tx));
        // The flag after the version, and an empty witness before the lock time.
        bytes.splice(4..4, [0, 1]);
        bytes.insert(bytes.len() - 4, 0);
        assert_eq!(transaction(&bytes), None);
    }

    fn stack() -> impl Strategy<Value = Vec<Vec<u8>>> {
        prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9), 0..4)
    }

    proptest! {
        #[test]
        fn transactions_are_read_as_the_library_reads_them(
            version in any::<i32>(),
            inputs in prop::collection::vec((any::<[u8; 32]>(), stack()), 0..4),
            outputs in prop::collection::vec(any::<u32>(), 0..3),
            cut in 0..40usize,
        ) {
            let tx = Transaction {
                version: Version(version),
                lock_time: LockTime::from_consensus(cut as u32),
                input: inputs.iter().map(|(txid, stack)| TxIn {
                    previous_output: OutPoint::new(bitcoin::Txid::from_byte_array(*txid), 1),
                    script_sig: ScriptBuf::from(stack.concat()),
                    sequence: Sequence::MAX,
                    witness: Witness::from_slice(stack),
                }).collect(),
                output: outputs.iter().map(|value| TxOut {
                    value: Amount::from_sat(u64::from(*value)),
                    script_pubkey: ScriptBuf::new(),
                }).collect(),
            };
            let mut bytes = serialize(&tx);
            prop_assert_eq!(transaction(&bytes), deserialize(&bytes).ok());
            bytes.truncate(bytes.len().saturating_sub(cut));
            prop_assert_eq!(transaction(&bytes), deserialize(&bytes).ok());
        }

        #[test]
        fn any_bytes_are_read_as_the_library_reads_them(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            prop_assert_eq!(transaction(&bytes), deserialize(&bytes).ok());
            prop_assert_eq!(witness(&bytes), deserialize(&bytes).ok());
        }
    }
}
