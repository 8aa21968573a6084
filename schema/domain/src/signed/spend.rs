//! Whether the input of a transaction satisfies the script of the output that it spends, by the rules of consensus and
//! the required rules of BIP 322.

use bitcoin::{
    Amount, Opcode, Script, ScriptBuf, TapSighashType, Transaction, TxOut, Witness, XOnlyPublicKey,
    hashes::{Hash, hash160, sha256},
    opcodes::all::{OP_PUSHNUM_1, OP_PUSHNUM_16, OP_PUSHNUM_NEG1, OP_RESERVED},
    script::Instruction,
    secp256k1::{Message, schnorr},
    sighash::{EcdsaSighashType, Prevouts, SighashCache},
};

use super::{
    ecdsa::{SECP, SIGHASH_ALL},
    template::Template,
    verdict::{Failure, InconclusiveReason, InvalidReason},
};

/// Longest element that a script can push; it limits the script behind a P2SH.
const MAX_ELEMENT: usize = 520;
/// The bytes that OP_1 to OP_16 push, then the byte that OP_1NEGATE pushes.
const NUMBERS: [u8; 17] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 0x81];
/// First byte of an annex (BIP 341).
const ANNEX: u8 = 0x50;

/// The way in which signatures hash the transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rules {
    Legacy,
    /// BIP 143.
    SegwitV0,
}

/// Checks the only input of `tx`, which spends an output of 0 satoshis with this script.
pub(super) fn check(tx: &Transaction, script: &Script) -> Result<(), Failure> {
    let input = tx.input.first().ok_or(InvalidReason::Outpoint)?;
    if script.is_witness_program() {
        if !input.script_sig.is_empty() {
            return Err(InvalidReason::ScriptSig.into());
        }
        return witness_program(tx, script, &input.witness);
    }
    let bare = match Template::of(script.as_bytes()) {
        _ if script.is_p2sh() => None,
        Some(template @ (Template::Key(_) | Template::KeyHash(_))) => Some(template),
        _ => return Err(InconclusiveReason::Script.into()),
    };
    let stack = pushes(&input.script_sig, script.is_p2sh())?;
    let Some(template) = bare else { return script_hash(tx, script, &stack) };
    legacy(tx, script, &template, &stack)
}

/// The data that a scriptSig pushes (MINIMALDATA).
fn pushes(script_sig: &Script, is_p2sh: bool) -> Result<Vec<&[u8]>, Failure> {
    let mut stack = Vec::new();
    for instruction in script_sig.instructions_minimal() {
        match instruction.map_err(|_| InvalidReason::ScriptSig)? {
            Instruction::PushBytes(data) => stack.push(data.as_bytes()),
            Instruction::Op(op) => match number(op) {
                Some(number) => stack.push(number),
                // BIP 16: the scriptSig of a P2SH only pushes. OP_RESERVED fails everywhere.
                None if is_p2sh || op == OP_RESERVED => return Err(InvalidReason::ScriptSig.into()),
                None => return Err(InconclusiveReason::ScriptSig.into()),
            },
        }
    }
    Ok(stack)
}

/// The byte that an opcode pushes, if it pushes a number other than zero.
fn number(op: Opcode) -> Option<&'static [u8]> {
    let at = match op {
        OP_PUSHNUM_NEG1 => 16,
        _ if op.to_u8() <= OP_PUSHNUM_16.to_u8() => op.to_u8().checked_sub(OP_PUSHNUM_1.to_u8())?,
        _ => return None,
    };
    NUMBERS.get(usize::from(at)..)?.get(..1)
}

fn legacy(tx: &Transaction, script: &Script, template: &Template<'_>, stack: &[&[u8]]) -> Result<(), Failure> {
    if tx.input.iter().any(|input| !input.witness.is_empty()) {
        return Err(InvalidReason::Stack.into());
    }
    template.check(stack, &message(tx, script, Rules::Legacy)?)
}

/// P2SH (BIP 16), with a witness program as its script or without (BIP 141).
fn script_hash(tx: &Transaction, script: &Script, stack: &[&[u8]]) -> Result<(), Failure> {
    let (redeem, stack) = stack.split_last().ok_or(InvalidReason::Stack)?;
    if redeem.len() > MAX_ELEMENT {
        return Err(InvalidReason::ScriptSig.into());
    }
    // In a P2SH the hash stands between OP_HASH160 with its push and OP_EQUAL.
    let expected = script.as_bytes().get(2..22);
    if expected != Some(&hash160::Hash::hash(redeem).as_byte_array()[..]) {
        return Err(InvalidReason::NotOfAddress.into());
    }
    let redeem = Script::from_bytes(redeem);
    if !redeem.is_witness_program() {
        let template = Template::of(redeem.as_bytes()).ok_or(InconclusiveReason::Script)?;
        return legacy(tx, redeem, &template, stack);
    }
    if !stack.is_empty() {
        return Err(InvalidReason::ScriptSig.into());
    }
    if redeem.is_p2tr() {
        // Taproot has rules as a native program only.
        return Err(InconclusiveReason::Script.into());
    }
    let input = tx.input.first().ok_or(InvalidReason::Outpoint)?;
    witness_program(tx, redeem, &input.witness)
}

fn witness_program(tx: &Transaction, program: &Script, witness: &Witness) -> Result<(), Failure> {
    let stack: Vec<&[u8]> = witness.iter().collect();
    // The program stands after the version and the length.
    let hash = program.as_bytes().get(2..).unwrap_or_default();
    if program.is_p2wpkh() {
        // BIP 143: it is signed and satisfied like a P2PKH.
        let script = program.p2wpkh_script_code().ok_or(InconclusiveReason::Script)?;
        segwit(tx, &script, &Template::KeyHash(hash), &stack)
    } else if program.is_p2wsh() {
        let (script, stack) = stack.split_last().ok_or(InvalidReason::Stack)?;
        if sha256::Hash::hash(script).as_byte_array()[..] != *hash {
            return Err(InvalidReason::NotOfAddress.into());
        }
        let template = Template::of(script).ok_or(InconclusiveReason::Script)?;
        segwit(tx, Script::from_bytes(script), &template, stack)
    } else if program.is_p2tr() {
        taproot(tx, program, hash, &stack)
    } else {
        Err(InconclusiveReason::Script.into())
    }
}

fn segwit(tx: &Transaction, script: &Script, template: &Template<'_>, stack: &[&[u8]]) -> Result<(), Failure> {
    template.check(stack, &message(tx, script, Rules::SegwitV0)?)?;
    template.check_compressed(stack)
}

/// The hash that an ECDSA signature with SIGHASH_ALL signs.
fn message(tx: &Transaction, script: &Script, rules: Rules) -> Result<Message, Failure> {
    let mut cache = SighashCache::new(tx);
    let all = EcdsaSighashType::All;
    // The only error is that there is no such input.
    let digest = match rules {
        Rules::Legacy => cache.legacy_signature_hash(0, script, all.to_u32()).map(|hash| hash.to_byte_array()),
        Rules::SegwitV0 => cache.p2wsh_signature_hash(0, script, Amount::ZERO, all).map(|hash| hash.to_byte_array()),
    };
    digest.map(Message::from_digest).map_err(|_| InvalidReason::Outpoint.into())
}

/// The key path of taproot (BIP 341).
fn taproot(tx: &Transaction, program: &Script, key: &[u8], stack: &[&[u8]]) -> Result<(), Failure> {
    let signature = match stack {
        [] => return Err(InvalidReason::Stack.into()),
        [signature] => *signature,
        [.., last] if last.first() == Some(&ANNEX) => return Err(InconclusiveReason::Annex.into()),
        _ => return Err(InconclusiveReason::ScriptPath.into()),
    };
    let (signature, hash_type) = match (signature, signature.len()) {
        // Without a byte for it the hash type is the default, which signs all.
        (signature, 64) => (signature, TapSighashType::Default),
        ([signature @ .., SIGHASH_ALL], 65) => (signature, TapSighashType::All),
        (_, 65) => return Err(InvalidReason::HashType.into()),
        _ => return Err(InvalidReason::Encoding.into()),
    };
    let signature = schnorr::Signature::from_slice(signature).map_err(|_| InvalidReason::Encoding)?;
    let key = XOnlyPublicKey::from_slice(key).map_err(|_| InvalidReason::PublicKey)?;
    let spent = [TxOut { value: Amount::ZERO, script_pubkey: ScriptBuf::from(program) }];
    let digest = SighashCache::new(tx).taproot_key_spend_signature_hash(0, &Prevouts::All(&spent), hash_type);
    let message = Message::from_digest(digest.map_err(|_| InvalidReason::Outpoint)?.to_byte_array());
    SECP.verify_schnorr(&signature, &message, &key).map_err(|_| InvalidReason::Signature.into())
}
