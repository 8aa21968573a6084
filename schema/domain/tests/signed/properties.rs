//! Properties: signatures by random keys are valid, nothing else is, and no input makes the verifier fail.

use base64::{Engine, engine::general_purpose::STANDARD};
use bitcoin::{Script, consensus::encode::serialize};
use cairn_domain::signed::{SignedBy, Verdict, verify_signed};
use proptest::prelude::*;

use super::signer::{Kind, Signer, full, simple};

fn kind() -> impl Strategy<Value = Kind> {
    prop::sample::select(Kind::ALL.to_vec())
}

fn is_valid(script: &Script, message: &str, signature: &str) -> bool {
    matches!(verify_signed(script, message, signature), Verdict::Valid(_))
}

/// The same bytes with one bit of one of them changed.
fn with_other_bit(bytes: &[u8], at: prop::sample::Index, bit: u8) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let at = at.index(bytes.len());
    bytes[at] ^= 1 << bit;
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_is_signed_is_valid(
        kind in kind(),
        seed: u64,
        message in ".{0,80}",
        other in ".{0,80}",
        at: prop::sample::Index,
        bit in 0..8u8,
    ) {
        let signer = Signer::new(kind, seed);
        let script = signer.script();
        let tx = signer.signed(&message);
        prop_assert_eq!(verify_signed(&script, &message, &full(&tx)), Verdict::Valid(SignedBy::Bip322Full));
        prop_assert_eq!(verify_signed(&script, &message, &full(&tx)[3..]), Verdict::Valid(SignedBy::Bip322Full));
        let expected = kind.has_simple(false).then_some(SignedBy::Bip322Simple);
        let found = verify_signed(&script, &message, &simple(&tx));
        prop_assert_eq!(found == Verdict::Valid(SignedBy::Bip322Simple), expected.is_some(), "{:?}", found);
        prop_assert_eq!(is_valid(&script, &message, &format!("smp{}", simple(&tx))), kind.has_simple(true));

        // Another message, another address, another bit.
        if other != message {
            prop_assert!(!is_valid(&script, &other, &full(&tx)));
            prop_assert!(!is_valid(&script, &other, &simple(&tx)));
        }
        let stranger = Signer::new(kind, seed.wrapping_add(3)).script();
        prop_assert!(!is_valid(&stranger, &message, &full(&tx)));
        prop_assert!(!is_valid(&stranger, &message, &simple(&tx)));
        let changed = with_other_bit(script.as_bytes(), at, bit);
        prop_assert!(!is_valid(Script::from_bytes(&changed), &message, &full(&tx)));
        prop_assert!(!is_valid(Script::from_bytes(&changed), &message, &simple(&tx)));
        let changed = with_other_bit(&serialize(&tx.input[0].witness), at, bit);
        prop_assert!(!is_valid(&script, &message, &STANDARD.encode(changed)));
        let changed = with_other_bit(&serialize(&tx), at, bit);
        let changed = format!("ful{}", STANDARD.encode(changed));
        prop_assert!(!is_valid(&script, &message, &changed));
    }

    #[test]
    fn compact_signatures(
        seed: u64,
        message in ".{0,300}",
        other in ".{0,300}",
        at: prop::sample::Index,
        bit in 0..8u8,
    ) {
        let headers = [
            (Kind::P2pkhUncompressed, 27..=30u8, 27..=30u8),
            (Kind::P2pkh, 31..=34, 31..=34),
            (Kind::P2shP2wpkh, 27..=34, 35..=38),
            (Kind::P2wpkh, 27..=34, 39..=42),
        ];
        for (kind, one, two) in headers {
            let signer = Signer::new(kind, seed);
            let script = signer.script();
            let compact = signer.compact(&message);
            for header in 0..=255u8 {
                let fits = one.contains(&header) || two.contains(&header);
                let expected = fits && header.wrapping_sub(27) & 3 == compact[0];
                let signature = STANDARD.encode([&[header][..], &compact[1..]].concat());
                let found = verify_signed(&script, &message, &signature);
                let is_valid_here = found == Verdict::Valid(SignedBy::Bip137);
                prop_assert_eq!(is_valid_here, expected, "{:?} {} {:?}", kind, header, found);
                if expected {
                    prop_assert!(other == message || !is_valid(&script, &other, &signature));
                    let changed = [&[header][..], &with_other_bit(&compact[1..], at, bit)].concat();
                    prop_assert!(!is_valid(&script, &message, &STANDARD.encode(changed)));
                    let changed = with_other_bit(script.as_bytes(), at, bit);
                    prop_assert!(!is_valid(Script::from_bytes(&changed), &message, &signature));
                }
            }
        }
    }
}

/// A script of any kind, or any bytes.
fn script() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        (kind(), any::<u64>()).prop_map(|(kind, seed)| Signer::new(kind, seed % 50).script().into_bytes()),
        prop::collection::vec(any::<u8>(), 0..60),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_bytes_make_it_fail(
        script in script(),
        message in ".{0,30}",
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        prefix in "(smp|ful|pof)?",
    ) {
        let signature = format!("{prefix}{}", STANDARD.encode(bytes));
        prop_assert!(!is_valid(Script::from_bytes(&script), &message, &signature));
    }

    #[test]
    fn no_text_makes_it_fail(script in script(), message in ".{0,30}", signature in ".{0,100}") {
        prop_assert!(!is_valid(Script::from_bytes(&script), &message, &signature));
    }

    /// Scripts and witnesses of the right form with any content.
    #[test]
    fn no_stack_makes_it_fail(
        kind in kind(),
        seed in 0..50u64,
        stack in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..6),
        script_sig in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let signer = Signer::new(kind, seed);
        let mut tx = signer.unsigned("message");
        tx.input[0].witness = bitcoin::Witness::from_slice(&stack);
        prop_assert!(!is_valid(&signer.script(), "message", &full(&tx)));
        prop_assert!(!is_valid(&signer.script(), "message", &simple(&tx)));
        tx.input[0].script_sig = super::signer::pushes(&stack);
        prop_assert!(!is_valid(&signer.script(), "message", &full(&tx)));
        tx.input[0].script_sig = script_sig.into();
        prop_assert!(!is_valid(&signer.script(), "message", &full(&tx)));
    }
}
