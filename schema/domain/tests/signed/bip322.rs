//! The vectors of BIP 322, and signatures that other programs made.
//!
//! `data/bip322_basic.json` and `data/bip322_generated.json` are `bip-0322/basic-test-vectors.json` and
//! `bip-0322/generated-test-vectors.json` of the repository of the BIPs at d77863fb9e9b (CC0), unchanged.

use cairn_domain::signed::{InconclusiveReason, InvalidReason, SignedBy, Verdict};
use serde_json::Value;

use super::verdict;

const BASIC: &str = include_str!("../data/bip322_basic.json");
const GENERATED: &str = include_str!("../data/bip322_generated.json");

/// The vectors of one kind in one file.
fn vectors(file: &str, kind: &str) -> Vec<Value> {
    let file: Value = serde_json::from_str(file).unwrap();
    let found = file[kind].as_array().unwrap().clone();
    assert!(!found.is_empty());
    found
}

fn text<'a>(vector: &'a Value, key: &str) -> &'a str {
    vector[key].as_str().unwrap()
}

/// The verdicts about the signatures of a vector.
fn verdicts(vector: &Value) -> Vec<Verdict> {
    let signatures = vector["bip322_signatures"].as_array().unwrap();
    let signatures = signatures.iter().map(|signature| signature.as_str().unwrap());
    signatures.map(|signature| verdict(text(vector, "address"), text(vector, "message"), signature)).collect()
}

#[test]
fn simple_signatures() {
    let all = [vectors(BASIC, "simple"), vectors(GENERATED, "simple")].concat();
    assert_eq!(all.len(), 8);
    for vector in all {
        for found in verdicts(&vector) {
            assert_eq!(found, Verdict::Valid(SignedBy::Bip322Simple), "{vector}");
        }
    }
}

/// Every full signature of the vectors has a lock time and a sequence.
#[test]
fn full_signatures() {
    let all = vectors(GENERATED, "full");
    assert_eq!(all.len(), 10);
    for vector in all {
        let expected = match text(&vector, "type") {
            "p2tr-time-lock" => InconclusiveReason::ScriptPath,
            "p2wsh-time-lock" => InconclusiveReason::Script,
            _ => InconclusiveReason::TimeLock,
        };
        assert_eq!(verdicts(&vector), [Verdict::Inconclusive(expected)], "{vector}");
    }
}

#[test]
fn proofs_of_funds() {
    for vector in vectors(GENERATED, "proof_of_funds") {
        for found in verdicts(&vector) {
            let expected = [InconclusiveReason::ProofOfFunds, InconclusiveReason::SignatureTooLong];
            assert!(expected.map(Verdict::Inconclusive).contains(&found), "{found:?} {vector}");
        }
    }
}

#[test]
fn errors() {
    for vector in [vectors(BASIC, "error"), vectors(GENERATED, "error")].concat() {
        let found = verdict(text(&vector, "address"), text(&vector, "message"), text(&vector, "signature"));
        let is_proof_of_funds = text(&vector, "signature").starts_with("pof");
        assert!(matches!(found, Verdict::Invalid(_)) != is_proof_of_funds, "{found:?} {vector}");
    }
}

/// Signatures without a prefix, from the tests of btcd, bip322-js and Sparrow: taproot with SIGHASH_ALL, and the simple
/// format for P2SH-P2WPKH, as the drafts of BIP 322 had it.
const DRAFT: [[&str; 3]; 6] = [
    [
        "bc1ppv609nr0vr25u07u95waq5lucwfm6tde4nydujnu8npg4q75mr5sxq8lt3",
        "",
        "AUENaEN08MvLbhHu5+JxE0z2cwjClb3Mt3Nv9IT4/4CLdMYMpIhLQlTTAkYK6WO/Ew4yC05Z9WHCipKnl2SfoengAQ==",
    ],
    [
        "bc1ppv609nr0vr25u07u95waq5lucwfm6tde4nydujnu8npg4q75mr5sxq8lt3",
        "Hello World",
        "AUFylEJD/8Arqu9J/uTde49VdZDCP/Bv9J9XDdmJc9Tdy/83yvVggexMchQJ+9teYj5bo+gdW8l98PO+JZ1mS1WLAQ==",
    ],
    [
        "bc1ppv609nr0vr25u07u95waq5lucwfm6tde4nydujnu8npg4q75mr5sxq8lt3",
        "Hello World",
        "AUHd69PrJQEv+oKTfZ8l+WROBHuy9HKrbFCJu7U1iK2iiEy1vMU5EfMtjc+VSHM7aU0SDbak5IUZRVno2P5mjSafAQ==",
    ],
    [
        "37qyp7jQAzqb2rCBpMvVtLDuuzKAUCVnJb",
        "",
        "AkgwRQIhAJFXl+/g7w+UDxvGex2KulmFJshHi02gQZXGRpZ+9bapAiB5Q/ikazTS7FMewqVFil3RLkEErUZ25k6f/xYThoQXogEhAsfxIAMZ\
         ZEKUPYWI4BruhAQjzFT8FSFSajuFwrDL1Yhy",
    ],
    [
        "37qyp7jQAzqb2rCBpMvVtLDuuzKAUCVnJb",
        "Hello World",
        "AkcwRAIgRfq2Gfv9guFcXAf2vQEJSHX8FP5OuiHs1DSK1I0wk/0CIGPzqm6QNPTDJuki148OQ2DbJtXyrr71s4xYPwogQUupASECx/EgAxlk\
         QpQ9hYjgGu6EBCPMVPwVIVJqO4XCsMvViHI=",
    ],
    [
        "3HSVzEhCFuH9Z3wvoWTexy7BMVVp3PjS6f",
        "Hello World",
        "AkgwRQIhAMd2wZSY3x0V9Kr/NClochoTXcgDaGl3OObOR17yx3QQAiBVWxqNSS+CKen7bmJTG6YfJjsggQ4Fa2RHKgBKrdQQ+gEhAxa5UDdQ\
         CHSQHfKQv14ybcYm1C9y6b12xAuukWzSnS+w",
    ],
];

#[test]
fn signatures_of_drafts() {
    for [address, message, signature] in DRAFT {
        assert_eq!(verdict(address, message, signature), Verdict::Valid(SignedBy::Bip322Simple), "{address} {message}");
        assert!(
            matches!(verdict(address, "Hello", signature), Verdict::Invalid(InvalidReason::Signature)),
            "{address}"
        );
        // With the prefix it is a signature of version 1.0.0, where P2SH has the full format only.
        let found = verdict(address, message, &format!("smp{signature}"));
        assert_eq!(matches!(found, Verdict::Valid(_)), address.starts_with("bc1p"), "{address}");
    }
}
