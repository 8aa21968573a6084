//! Types of scriptPubKeys, with the names and the rules of Bitcoin Core's `Solver`.

use cairn_model::ScriptTemplate;

use crate::asm::ops;

cairn_model::words! {
    /// The type of a scriptPubKey.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub enum ScriptType {
        /// Pay to public key (P2PK).
        PubKey = "pubkey",
        /// Pay to public key hash (P2PKH).
        PubKeyHash = "pubkeyhash",
        /// Pay to script hash (P2SH).
        ScriptHash = "scripthash",
        /// Bare multisig.
        Multisig = "multisig",
        /// Pay to witness public key hash (P2WPKH).
        WitnessV0KeyHash = "witness_v0_keyhash",
        /// Pay to witness script hash (P2WSH).
        WitnessV0ScriptHash = "witness_v0_scripthash",
        /// Pay to taproot (P2TR).
        WitnessV1Taproot = "witness_v1_taproot",
        /// Pay to anchor (P2A).
        Anchor = "anchor",
        /// OP_RETURN followed by nothing but pushes.
        NullData = "nulldata",
        /// A witness program of a version or length that has no rules yet.
        WitnessUnknown = "witness_unknown",
        /// None of the above.
        NonStandard = "nonstandard",
    }
    /// Bitcoin Core's name of the type.
    pub fn name;
}

impl ScriptType {
    /// The type of the scripts of a template. Scripts of none may also be [`ScriptType::NullData`].
    #[must_use]
    pub fn of_template(template: ScriptTemplate) -> Self {
        match template {
            ScriptTemplate::PubKeyHash => ScriptType::PubKeyHash,
            ScriptTemplate::ScriptHash => ScriptType::ScriptHash,
            ScriptTemplate::WitnessV0KeyHash => ScriptType::WitnessV0KeyHash,
            ScriptTemplate::WitnessV0ScriptHash => ScriptType::WitnessV0ScriptHash,
            ScriptTemplate::WitnessV1Taproot => ScriptType::WitnessV1Taproot,
            ScriptTemplate::CompressedPubKey | ScriptTemplate::UncompressedPubKey => ScriptType::PubKey,
            ScriptTemplate::Multisig => ScriptType::Multisig,
            ScriptTemplate::Anchor => ScriptType::Anchor,
            ScriptTemplate::WitnessUnknown => ScriptType::WitnessUnknown,
            ScriptTemplate::NonStandard => ScriptType::NonStandard,
        }
    }
}

/// The type of a scriptPubKey, as Bitcoin Core determines it.
#[must_use]
pub fn script_type(script: &[u8]) -> ScriptType {
    match (ScriptType::of_template(ScriptTemplate::of(script)), script) {
        (ScriptType::NonStandard, [0x6a, rest @ ..]) if is_push_only(rest) => ScriptType::NullData,
        (found, _) => found,
    }
}

fn is_push_only(script: &[u8]) -> bool {
    ops(script).all(|op| op.is_ok_and(|op| op.code <= 0x60))
}

#[cfg(test)]
mod tests {
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
