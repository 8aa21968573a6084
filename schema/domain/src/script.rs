//! Types of scriptPubKeys, with the names and the rules of Bitcoin Core's `Solver`.

use crate::asm::{Op, ops};

/// The type of a scriptPubKey.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ScriptType {
    /// Pay to public key (P2PK).
    PubKey,
    /// Pay to public key hash (P2PKH).
    PubKeyHash,
    /// Pay to script hash (P2SH).
    ScriptHash,
    /// Bare multisig.
    Multisig,
    /// Pay to witness public key hash (P2WPKH).
    WitnessV0KeyHash,
    /// Pay to witness script hash (P2WSH).
    WitnessV0ScriptHash,
    /// Pay to taproot (P2TR).
    WitnessV1Taproot,
    /// Pay to anchor (P2A).
    Anchor,
    /// OP_RETURN followed by nothing but pushes.
    NullData,
    /// A witness program of a version or length that has no rules yet.
    WitnessUnknown,
    /// None of the above.
    NonStandard,
}

impl ScriptType {
    /// All types.
    pub const ALL: [ScriptType; 11] = [
        ScriptType::PubKey,
        ScriptType::PubKeyHash,
        ScriptType::ScriptHash,
        ScriptType::Multisig,
        ScriptType::WitnessV0KeyHash,
        ScriptType::WitnessV0ScriptHash,
        ScriptType::WitnessV1Taproot,
        ScriptType::Anchor,
        ScriptType::NullData,
        ScriptType::WitnessUnknown,
        ScriptType::NonStandard,
    ];

    /// Bitcoin Core's name of the type.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ScriptType::PubKey => "pubkey",
            ScriptType::PubKeyHash => "pubkeyhash",
            ScriptType::ScriptHash => "scripthash",
            ScriptType::Multisig => "multisig",
            ScriptType::WitnessV0KeyHash => "witness_v0_keyhash",
            ScriptType::WitnessV0ScriptHash => "witness_v0_scripthash",
            ScriptType::WitnessV1Taproot => "witness_v1_taproot",
            ScriptType::Anchor => "anchor",
            ScriptType::NullData => "nulldata",
            ScriptType::WitnessUnknown => "witness_unknown",
            ScriptType::NonStandard => "nonstandard",
        }
    }
}

/// Maximum number of keys of a bare multisig (consensus limit of `OP_CHECKMULTISIG`).
const MAX_MULTISIG_KEYS: i64 = 20;

/// The type of a scriptPubKey, as Bitcoin Core determines it.
#[must_use]
pub fn script_type(script: &[u8]) -> ScriptType {
    if let [0xa9, 0x14, .., 0x87] = script
        && script.len() == 23
    {
        return ScriptType::ScriptHash;
    }
    if let Some((version, program)) = witness_program(script) {
        return match (version, program.len()) {
            (0, 20) => ScriptType::WitnessV0KeyHash,
            (0, 32) => ScriptType::WitnessV0ScriptHash,
            (0, _) => ScriptType::NonStandard,
            (1, 32) => ScriptType::WitnessV1Taproot,
            (1, 2) if program == [0x4e, 0x73] => ScriptType::Anchor,
            _ => ScriptType::WitnessUnknown,
        };
    }
    match script {
        [0x6a, rest @ ..] if is_push_only(rest) => ScriptType::NullData,
        [0x76, 0xa9, 0x14, .., 0x88, 0xac] if script.len() == 25 => ScriptType::PubKeyHash,
        _ if pay_to_key(script).is_some() => ScriptType::PubKey,
        _ if is_multisig(script) => ScriptType::Multisig,
        _ => ScriptType::NonStandard,
    }
}

/// Version and program of a witness program (BIP 141).
fn witness_program(script: &[u8]) -> Option<(u8, &[u8])> {
    let (&[opcode, length], program) = script.split_first_chunk::<2>()?;
    let version = match opcode {
        0 => 0,
        0x51..=0x60 => opcode - 0x50,
        _ => return None,
    };
    ((2..=40).contains(&program.len()) && usize::from(length) == program.len()).then_some((version, program))
}

/// The key of a P2PK script. Like Core, it checks length and first byte, not that the key is on the curve.
pub(crate) fn pay_to_key(script: &[u8]) -> Option<&[u8]> {
    let (&length, rest) = script.split_first()?;
    let (&last, key) = rest.split_last()?;
    (usize::from(length) == key.len() && last == 0xac && is_key(key)).then_some(key)
}

/// True if bytes look like a serialized public key by Core's rule: length and first byte.
pub(crate) fn is_key(bytes: &[u8]) -> bool {
    match bytes.first() {
        Some(2 | 3) => bytes.len() == 33,
        Some(4 | 6 | 7) => bytes.len() == 65,
        _ => false,
    }
}

fn is_push_only(script: &[u8]) -> bool {
    ops(script).all(|op| op.is_ok_and(|op| op.code <= 0x60))
}

fn is_multisig(script: &[u8]) -> bool {
    let Some((0xae, body)) = script.split_last() else { return false };
    let mut rest = ops(body);
    let Some(Ok(first)) = rest.next() else { return false };
    let Some(required) = count(&first, 1) else { return false };
    let mut keys = 0;
    for op in rest.by_ref() {
        let Ok(op) = op else { return false };
        if op.data.is_some_and(is_key) {
            keys += 1;
        } else {
            // What follows the keys is their number, and then nothing but the OP_CHECKMULTISIG that was cut off.
            return count(&op, required) == Some(keys) && rest.next().is_none();
        }
    }
    false
}

/// A number of keys: OP_1 to OP_16, or a minimal push of 17 to 20.
fn count(op: &Op<'_>, least: i64) -> Option<i64> {
    let n = match (op.code, op.data) {
        (0x51..=0x60, _) => i64::from(op.code - 0x50),
        (1, Some(&[n @ 17..=20])) => i64::from(n),
        _ => return None,
    };
    (least..=MAX_MULTISIG_KEYS).contains(&n).then_some(n)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn of(hex_text: &str) -> &'static str {
        script_type(&hex::decode(hex_text).unwrap()).name()
    }

    #[test]
    fn names_as_in_core() {
        let key = format!("02{}", "11".repeat(32));
        let long = format!("04{}", "22".repeat(64));
        assert_eq!(of(&format!("21{key}ac")), "pubkey");
        assert_eq!(of(&format!("41{long}ac")), "pubkey");
        assert_eq!(of(&format!("41{long}ad")), "nonstandard");
        assert_eq!(of(&format!("2105{}ac", "11".repeat(32))), "nonstandard");
        assert_eq!(of(&format!("76a914{}88ac", "33".repeat(20))), "pubkeyhash");
        assert_eq!(of(&format!("a914{}87", "33".repeat(20))), "scripthash");
        assert_eq!(of(&format!("0014{}", "33".repeat(20))), "witness_v0_keyhash");
        assert_eq!(of(&format!("0020{}", "33".repeat(32))), "witness_v0_scripthash");
        assert_eq!(of(&format!("0015{}", "33".repeat(21))), "nonstandard");
        assert_eq!(of(&format!("5120{}", "33".repeat(32))), "witness_v1_taproot");
        assert_eq!(of("51024e73"), "anchor");
        assert_eq!(of("51024e74"), "witness_unknown");
        assert_eq!(of(&format!("6028{}", "33".repeat(40))), "witness_unknown");
        assert_eq!(of(&format!("6029{}", "33".repeat(41))), "nonstandard");
        assert_eq!(of("6a"), "nulldata");
        assert_eq!(of("6a0568656c6c6f51"), "nulldata");
        assert_eq!(of("6a05686c6c6f"), "nonstandard");
        assert_eq!(of("6aac"), "nonstandard");
        assert_eq!(of(""), "nonstandard");
        assert_eq!(of("51"), "nonstandard");
    }

    #[test]
    fn multisig_counts_its_keys() {
        let key = format!("2102{}", "11".repeat(32));
        let keys = |n: usize| key.repeat(n);
        assert_eq!(of(&format!("51{}51ae", keys(1))), "multisig");
        assert_eq!(of(&format!("52{}53ae", keys(3))), "multisig");
        assert_eq!(of(&format!("60{}0114ae", keys(20))), "multisig");
        assert_eq!(of(&format!("60{}0115ae", keys(21))), "nonstandard");
        assert_eq!(of(&format!("53{}52ae", keys(2))), "nonstandard");
        assert_eq!(of(&format!("51{}52ae", keys(1))), "nonstandard");
        assert_eq!(of(&format!("00{}51ae", keys(1))), "nonstandard");
        assert_eq!(of(&format!("51{}51aeae", keys(1))), "nonstandard");
        assert_eq!(of(&format!("51{}0101ae", keys(1))), "nonstandard");
        assert_eq!(of("5151ae"), "nonstandard");
        assert_eq!(of("ae"), "nonstandard");
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_have_a_type(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..120)) {
            let found = script_type(&bytes);
            proptest::prop_assert!(ScriptType::ALL.contains(&found));
        }
    }
}
