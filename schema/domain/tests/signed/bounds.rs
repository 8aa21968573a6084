//! The limits of input.

use cairn_domain::signed::{
    InconclusiveReason, InvalidReason, MAX_MESSAGE, MAX_SIGNATURE, SignedBy, Verdict, verify_signed,
};

use super::signer::{Kind, Signer, full, simple};

#[test]
fn long_texts_are_not_read() {
    let signer = Signer::new(Kind::P2wpkh, 1);
    let script = signer.script();
    let longest = "m".repeat(MAX_MESSAGE);
    let found = verify_signed(&script, &longest, &simple(&signer.signed(&longest)));
    assert_eq!(found, Verdict::Valid(SignedBy::Bip322Simple));
    let longer = "m".repeat(MAX_MESSAGE + 1);
    let found = verify_signed(&script, &longer, &simple(&signer.signed(&longer)));
    assert_eq!(found, Verdict::Inconclusive(InconclusiveReason::MessageTooLong));
    let found = verify_signed(&script, "", &"A".repeat(MAX_SIGNATURE));
    assert_eq!(found, Verdict::Invalid(InvalidReason::Format));
    let found = verify_signed(&script, "", &"A".repeat(MAX_SIGNATURE + 1));
    assert_eq!(found, Verdict::Inconclusive(InconclusiveReason::SignatureTooLong));
}

/// The text has no spaces, all of its padding, and no bits behind its last byte.
#[test]
fn base64_is_strict() {
    let signer = Signer::new(Kind::P2tr, 1);
    let script = signer.script();
    let text = simple(&signer.signed("message"));
    assert_eq!(verify_signed(&script, "message", &text), Verdict::Valid(SignedBy::Bip322Simple));
    let padded = full(&Signer::new(Kind::P2trAll, 1).signed("message"));
    assert!(padded.ends_with('='), "{padded}");
    let cut = padded.trim_end_matches('=').to_owned();
    for wrong in [format!(" {text}"), format!("{text}\n"), format!("{text}="), text.replace('A', "-"), cut] {
        let found = verify_signed(&script, "message", &wrong);
        assert_eq!(found, Verdict::Invalid(InvalidReason::Base64), "{wrong:?}");
    }
    for prefix in ["SMP", "sm", "smp ", "simple"] {
        let found = verify_signed(&script, "message", &format!("{prefix}{text}"));
        assert!(!matches!(found, Verdict::Valid(_)), "{prefix}");
    }
}
