//! Signatures that are right but for one rule.

use bitcoin::{
    Amount, OutPoint, Script, ScriptBuf, Sequence, Transaction, TxIn, Txid, Witness,
    absolute::LockTime,
    hashes::Hash,
    opcodes::all::{OP_NOP, OP_PUSHNUM_1},
    script::Builder,
    secp256k1::ecdsa::Signature,
    transaction::Version,
};
use cairn_domain::signed::{InconclusiveReason, InvalidReason, SignedBy, Verdict, verify_signed};

use super::signer::{Kind, Signer, full, pushes, simple, unsigned};

const MESSAGE: &str = "message";

/// The verdict if the transaction is changed before it is signed, and after.
fn with(kind: Kind, before: impl Fn(&mut Transaction), after: impl Fn(&mut Transaction)) -> Verdict {
    let signer = Signer::new(kind, 2);
    let mut tx = signer.unsigned(MESSAGE);
    before(&mut tx);
    signer.sign(&mut tx);
    after(&mut tx);
    verify_signed(&signer.script(), MESSAGE, &full(&tx))
}

fn before(kind: Kind, change: impl Fn(&mut Transaction)) -> Verdict {
    with(kind, change, |_| ())
}

/// The verdict if the stack is changed after it is signed.
fn stack(kind: Kind, change: impl Fn(&mut Vec<Vec<u8>>)) -> Verdict {
    with(
        kind,
        |_| (),
        |tx| {
            let input = &mut tx.input[0];
            if input.witness.is_empty() {
                let data = |part: Result<bitcoin::script::Instruction<'_>, _>| {
                    part.unwrap().push_bytes().unwrap().as_bytes().to_vec()
                };
                let mut stack: Vec<Vec<u8>> = input.script_sig.instructions().map(data).collect();
                change(&mut stack);
                input.script_sig = pushes(&stack);
            } else {
                let mut stack = input.witness.to_vec();
                change(&mut stack);
                input.witness = Witness::from_slice(&stack);
            }
        },
    )
}

const fn invalid(reason: InvalidReason) -> Verdict {
    Verdict::Invalid(reason)
}

const fn inconclusive(reason: InconclusiveReason) -> Verdict {
    Verdict::Inconclusive(reason)
}

#[test]
fn fields_of_the_transaction() {
    for kind in Kind::ALL {
        assert_eq!(before(kind, |_| ()), Verdict::Valid(SignedBy::Bip322Full), "{kind:?}");
        assert_eq!(before(kind, |tx| tx.version = Version(2)), Verdict::Valid(SignedBy::Bip322Full), "{kind:?}");
        for version in [1, 3, -1] {
            let found = before(kind, |tx| tx.version = Version(version));
            assert_eq!(found, inconclusive(InconclusiveReason::Version), "{kind:?}");
        }
        let locked = before(kind, |tx| tx.lock_time = LockTime::from_consensus(1));
        assert_eq!(locked, inconclusive(InconclusiveReason::TimeLock), "{kind:?}");
        let aged = before(kind, |tx| tx.input[0].sequence = Sequence::MAX);
        assert_eq!(aged, inconclusive(InconclusiveReason::TimeLock), "{kind:?}");
        let late = with(kind, |_| (), |tx| tx.lock_time = LockTime::from_consensus(1));
        assert_eq!(late, invalid(InvalidReason::Signature), "{kind:?}");
        let other = before(kind, |tx| tx.input[0].previous_output.vout = 1);
        assert_eq!(other, invalid(InvalidReason::Outpoint), "{kind:?}");
        let value = before(kind, |tx| tx.output[0].value = Amount::from_sat(1));
        assert_eq!(value, invalid(InvalidReason::Outputs), "{kind:?}");
        let more = before(kind, |tx| tx.output.push(tx.output[0].clone()));
        assert_eq!(more, invalid(InvalidReason::Outputs), "{kind:?}");
        let script = before(kind, |tx| tx.output[0].script_pubkey = ScriptBuf::from(vec![0x6a, 0]));
        assert_eq!(script, invalid(InvalidReason::Outputs), "{kind:?}");
        let none = with(kind, |_| (), |tx| tx.input.clear());
        assert_eq!(none, invalid(InvalidReason::Outpoint), "{kind:?}");
        let funds = with(
            kind,
            |_| (),
            |tx| {
                let previous_output = OutPoint::new(Txid::all_zeros(), 0);
                tx.input.push(TxIn { previous_output, ..TxIn::default() });
            },
        );
        assert_eq!(funds, inconclusive(InconclusiveReason::ProofOfFunds), "{kind:?}");
    }
}

/// The element of the stack that is the first signature.
fn signature_at(kind: Kind) -> usize {
    let is_multisig = matches!(
        kind,
        Kind::P2wshMultisig | Kind::P2shMultisig | Kind::P2shMultisigUncompressed | Kind::P2shP2wshMultisig
    );
    usize::from(is_multisig)
}

#[test]
fn encodings_of_signatures() {
    for kind in Kind::ALL {
        let at = signature_at(kind);
        let is_schnorr = matches!(kind, Kind::P2tr | Kind::P2trAll);
        let none = stack(kind, |stack| stack[at].truncate(64 * usize::from(is_schnorr)));
        let of_none =
            if kind == Kind::P2tr { Verdict::Valid(SignedBy::Bip322Full) } else { invalid(InvalidReason::Signature) };
        assert_eq!(none, of_none, "{kind:?}");
        let hash_type = stack(kind, |stack| match kind {
            Kind::P2tr => stack[at].push(0),
            _ => *stack[at].last_mut().unwrap() = 0x81,
        });
        assert_eq!(hash_type, invalid(InvalidReason::HashType), "{kind:?}");
        let longer = stack(kind, |stack| stack[at].splice(1..1, [0, 0]).for_each(drop));
        assert_eq!(longer, invalid(InvalidReason::Encoding), "{kind:?}");
        if is_schnorr {
            continue;
        }
        let high = stack(kind, |stack| {
            let low = Signature::from_der(&stack[at][..stack[at].len() - 1]).unwrap().serialize_compact();
            let negated = bitcoin::secp256k1::SecretKey::from_slice(&low[32..]).unwrap().negate();
            let high = Signature::from_compact(&[&low[..32], &negated[..]].concat()).unwrap();
            stack[at] = [&high.serialize_der()[..], &[1]].concat();
        });
        assert_eq!(high, invalid(InvalidReason::Encoding), "{kind:?}");
    }
}

#[test]
fn stacks_with_more_or_less() {
    for kind in Kind::ALL {
        let is_taproot = matches!(kind, Kind::P2tr | Kind::P2trAll);
        let more = stack(kind, |stack| stack.insert(0, Vec::new()));
        let expected =
            if is_taproot { inconclusive(InconclusiveReason::ScriptPath) } else { invalid(InvalidReason::Stack) };
        assert_eq!(more, expected, "{kind:?}");
        let less = stack(kind, |stack| drop(stack.remove(0)));
        assert_eq!(less, invalid(InvalidReason::Stack), "{kind:?}");
        if signature_at(kind) == 1 {
            let fewer = stack(kind, |stack| drop(stack.remove(1)));
            assert_eq!(fewer, invalid(InvalidReason::Stack), "{kind:?}");
            let twice = stack(kind, |stack| stack[2] = stack[1].clone());
            assert_eq!(twice, invalid(InvalidReason::Signature), "{kind:?}");
            let dummy = stack(kind, |stack| stack[0] = vec![2]);
            assert!(matches!(dummy, Verdict::Invalid(_)), "{kind:?}");
            let reversed = stack(kind, |stack| stack[1..4].reverse());
            assert_eq!(reversed, invalid(InvalidReason::Signature), "{kind:?}");
        }
    }
    let annex = stack(Kind::P2tr, |stack| stack.push(vec![0x50]));
    assert_eq!(annex, inconclusive(InconclusiveReason::Annex));
}

#[test]
fn witnesses_and_script_sigs_that_do_not_belong() {
    for kind in Kind::ALL {
        let signer = Signer::new(kind, 2);
        let (has_witness, has_script_sig) = {
            let tx = signer.signed(MESSAGE);
            (!tx.input[0].witness.is_empty(), !tx.input[0].script_sig.is_empty())
        };
        let added = with(
            kind,
            |_| (),
            |tx| {
                let input = &mut tx.input[0];
                if has_witness {
                    let script_sig = [&[0][..], input.script_sig.as_bytes()].concat();
                    input.script_sig = script_sig.into();
                } else {
                    input.witness = Witness::from_slice(&[[1]]);
                }
            },
        );
        let expected = if has_witness { InvalidReason::ScriptSig } else { InvalidReason::Stack };
        assert_eq!(added, invalid(expected), "{kind:?}");
        if !has_script_sig {
            continue;
        }
        let first_push = |prefix: &'static [u8]| {
            move |tx: &mut Transaction| {
                let old = tx.input[0].script_sig.to_bytes();
                tx.input[0].script_sig = [prefix, &old].concat().into();
            }
        };
        // OP_PUSHDATA1 of one byte, and a push that is cut short.
        for push in [&[0x4c, 1, 9][..], &[1, 1], &[0x4d, 0xff, 0xff]] {
            assert_eq!(with(kind, |_| (), first_push(push)), invalid(InvalidReason::ScriptSig), "{kind:?}");
        }
        let one = with(kind, |_| (), |tx| tx.input[0].script_sig.push_opcode(OP_PUSHNUM_1));
        assert!(matches!(one, Verdict::Invalid(_)), "{kind:?} {one:?}");
        let nop = with(kind, |_| (), |tx| tx.input[0].script_sig.push_opcode(OP_NOP));
        let is_p2sh = signer.script().is_p2sh();
        let expected =
            if is_p2sh { invalid(InvalidReason::ScriptSig) } else { inconclusive(InconclusiveReason::ScriptSig) };
        assert_eq!(nop, expected, "{kind:?}");
    }
}

#[test]
fn scripts_that_are_not_checked() {
    let key = [&[0x21, 2][..], &[0x11; 32]].concat();
    let bare_multisig = [&[0x51][..], &key, &[0x51, 0xae]].concat();
    let unknown = [
        bare_multisig,
        vec![],
        vec![0x51],
        vec![0x6a],
        vec![0x51, 2, 0x4e, 0x73],
        [&[0x52, 0x20][..], &[7; 32]].concat(),
        [&[0x00, 0x15][..], &[7; 21]].concat(),
    ];
    for script in unknown {
        let found = verify_signed(Script::from_bytes(&script), MESSAGE, "smpAQA=");
        assert_eq!(found, inconclusive(InconclusiveReason::Script), "{}", hex::encode(script));
        let found = verify_signed(Script::from_bytes(&script), MESSAGE, "smpAQ==");
        assert_eq!(found, invalid(InvalidReason::Format), "what cannot be read is invalid anyway");
    }
}

/// A signature that is right for the script and the message, but of a key that is not in the script.
#[test]
fn keys_of_others() {
    for kind in Kind::ALL {
        let forger = Signer::forger(kind, 2);
        let shows_key = matches!(
            kind,
            Kind::P2pkh | Kind::P2pkhUncompressed | Kind::P2wpkh | Kind::P2shP2wpkh | Kind::P2wshKeyHash
        );
        let expected = if shows_key { InvalidReason::NotOfAddress } else { InvalidReason::Signature };
        let found = verify_signed(&forger.script(), MESSAGE, &full(&forger.signed(MESSAGE)));
        assert_eq!(found, invalid(expected), "{kind:?}");
        let found = verify_signed(&forger.script(), MESSAGE, &simple(&forger.signed(MESSAGE)));
        assert!(matches!(found, Verdict::Invalid(_)), "{kind:?} {found:?}");
    }
}

/// The verdict about a scriptSig for the hash of a script.
fn behind_p2sh(redeem: &ScriptBuf, stack: &[Vec<u8>]) -> Verdict {
    let script = redeem.to_p2sh();
    let mut tx = unsigned(script.clone(), MESSAGE);
    tx.input[0].script_sig = pushes(&[stack, &[redeem.to_bytes()]].concat());
    verify_signed(&script, MESSAGE, &full(&tx))
}

#[test]
fn scripts_behind_p2sh() {
    let key = [&[0x21, 2][..], &[0x11; 32]].concat();
    let of_keys = |n: u8| ScriptBuf::from([&[0x51][..], &key.repeat(usize::from(n)), &[0x50 + n, 0xae]].concat());
    let stack = [vec![], vec![0x30, 1]];
    // The longest script that a scriptSig can push has 520 bytes: 15 keys.
    assert_eq!(behind_p2sh(&of_keys(15), &stack), invalid(InvalidReason::Encoding));
    assert_eq!(behind_p2sh(&of_keys(16), &stack), invalid(InvalidReason::ScriptSig));
    let taproot = ScriptBuf::from([&[0x51, 0x20][..], &[7; 32]].concat());
    assert_eq!(behind_p2sh(&taproot, &[]), inconclusive(InconclusiveReason::Script));
    assert_eq!(behind_p2sh(&taproot, &[vec![1, 1]]), invalid(InvalidReason::ScriptSig));
    let lock = ScriptBuf::from([&[0x51, 0xb2, 0x75][..], &key, &[0xac]].concat());
    assert_eq!(behind_p2sh(&lock, &stack), inconclusive(InconclusiveReason::Script));
    // OP_16 and OP_1NEGATE are pushes: of a script without known rules they may be what it takes.
    let numbers = |redeem: &ScriptBuf| {
        let script = redeem.to_p2sh();
        let mut tx = unsigned(script.clone(), MESSAGE);
        let numbers = Builder::new().push_int(16).push_int(-1).into_script();
        let script_sig = [numbers.as_bytes(), pushes(&[redeem.to_bytes()]).as_bytes()].concat();
        tx.input[0].script_sig = script_sig.into();
        verify_signed(&script, MESSAGE, &full(&tx))
    };
    assert_eq!(numbers(&lock), inconclusive(InconclusiveReason::Script));
    assert_eq!(numbers(&of_keys(1)), invalid(InvalidReason::Stack));
}

/// The library knows hybrid keys, STRICTENC forbids them.
#[test]
fn hybrid_keys() {
    for seed in 0..4 {
        let signer = Signer::new(Kind::P2pkhHybrid, seed);
        let found = verify_signed(&signer.script(), MESSAGE, &full(&signer.signed(MESSAGE)));
        assert_eq!(found, invalid(InvalidReason::PublicKey));
    }
}

#[test]
fn uncompressed_keys_in_segwit() {
    let signer = Signer::new(Kind::P2wshUncompressed, 2);
    let tx = signer.signed(MESSAGE);
    let found = verify_signed(&signer.script(), MESSAGE, &simple(&tx));
    assert_eq!(found, inconclusive(InconclusiveReason::UncompressedKey));
    let found = verify_signed(&signer.script(), "other", &simple(&tx));
    assert_eq!(found, invalid(InvalidReason::Signature));
}
