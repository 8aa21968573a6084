//! Texts that are not taken, and why; none panics, and no private key goes through.
#![allow(clippy::unwrap_used, missing_docs)]

use bitcoin::Network;
use cairn_keys::{Branch, Flaw, MAX_BYTES, Refusal, read};
use proptest::prelude::*;

const XPUB: &str =
    "xpub6BgBgsespWvERF3LHQu6CnqdvfEvtMcQjYrcRzx53QJjSxarj2afYWcLteoGVky7D3UKDP9QyrLprQ3VCECoY49yfdDEHGCtMMj92pReUsQ";
const XPRV: &str =
    "xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHi";
/// Private keys: extended, in import format (long, short, of a test network), encrypted, a seed in shares; and a
/// phrase.
const SECRETS: [&str; 7] = [
    XPRV,
    "zprvAWgYBBk7JR8Gjrh4UJQ2uJdG1r3WNRRfURiABBE3RvMXYSrRJL62XuezvGdPvG6GFBZduosCc1YP5wixPox7zhZLfiUm8aunE96BBa4Kei5",
    "5KYZdUEo39z3FPrtuX2QbbwGnNP5zTd7yyr2SC1j299sBCnWjss",
    "L4rK1yDtCWekvXuE6oXD9jCYfFNV2cWRpVuPLBcCU2z8TrisoyY1",
    "cTpB4YiyKiBcPxnefsDpbnDxFDffjqJob8wGCEDXxgQ7zQoMXJdH",
    "6PRVWUbkzzsbcVac2qwfssoUJAN1Xhrg6bNk8J7Nzm5H7kxEbn2Nh2ZoGg",
    "ms10testsxxxxxxxxxxxxxxxxxxxxxxxxxx4nzvca9cmczlw",
];

fn refusal(text: &str) -> Refusal {
    let branches = read(text, Network::Bitcoin);
    match branches.and_then(|all| all.into_iter().map(Branch::prepared).collect::<Result<Vec<_>, _>>()) {
        Err(refusal) => refusal,
        Ok(_) => panic!("taken: {text}"),
    }
}

#[test]
fn private_keys_are_refused_wherever_they_are() {
    let phrase = "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about";
    assert_eq!(refusal(phrase), Refusal::PrivateKey);
    for secret in SECRETS {
        for form in [
            "K",
            "wpkh(K)",
            "wpkh(K/0/*)",
            "wsh(multi(2,KEY,K/0/*))",
            "[00000000/0h]K",
            " K ",
            "tr(KEY,pk(K))",
            "KEY,K",
        ] {
            let text = form.replace("KEY", XPUB).replace('K', secret);
            assert_eq!(refusal(&text), Refusal::PrivateKey, "{form} of {secret}");
        }
        // A mistyped one is a private key still.
        let typo = format!("wpkh({}{}/0/*)", &secret[..secret.len() - 1], "1");
        assert!(read(&typo, Network::Bitcoin).is_err());
    }
    assert_eq!(refusal(&format!("{}x", &XPRV[..110])), Refusal::PrivateKey);
}

#[test]
fn each_refusal_says_what_is_wrong() {
    let with = |text: &str| refusal(&text.replace("KEY", XPUB));
    for (text, wanted) in [
        ("", Refusal::Length),
        ("wpkh(KEY/0h/*)", Refusal::Hardened),
        ("wpkh(KEY/0/*h)", Refusal::Hardened),
        ("wpkh(KEY/<0;1h>/*)", Refusal::Hardened),
        ("rawtr(KEY/0/*')", Refusal::Hardened),
        ("combo(KEY/5'/*)", Refusal::Hardened),
        ("KEY/0/*", Refusal::Path),
        ("KEYx", Refusal::Extended),
        ("xpub6BgBgsespWvERF3LHQu6C", Refusal::Extended),
        (
            "wpkh(zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs/0/*)",
            Refusal::Prefix,
        ),
        (
            "Zpub75RhGMspAA6UonaPE4WjuGHtXKJzVMDCLFdMHPWxpumk1hoh4Ha35n2wNtbtkmqMS5ECUbvfiwTBnEVHAqSCJE3zRsbxZLzvPDWYRtTTUBz",
            Refusal::Extended,
        ),
        ("addr(mpXwg4jMtRhuSpVq4xS3HFHmCmWp9NyGKt)", Refusal::Network),
        (
            "wpkh(tpubDC5FSnBiZDMmhiuCmWAYsLwgLYrrT9rAqvTySfuCCrgsWz8wxMXUS9Tb9iVMvcRbvFcAHGkMD5Kx8koh4GquNGNTfohfk7pgjhaPCdXpoba/0/*)",
            Refusal::Network,
        ),
        ("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", Refusal::Unknown),
        ("addr(nothing)", Refusal::Address),
        ("raw()", Refusal::Raw),
        ("raw(d)", Refusal::Raw),
        ("wpkh()", Refusal::NoKey),
        ("wpkh(KEY/0/*", Refusal::Parentheses),
        ("wpkh(KEY/0/*))", Refusal::Parentheses),
        ("wpkh(KEY,KEY)", Refusal::Arguments),
        ("unused(KEY)", Refusal::Function),
        ("wsh(KEY)", Refusal::Function),
        ("wpkh(KEY/*/0)", Refusal::AfterWildcard),
        ("wpkh(KEY/*/*)", Refusal::AfterWildcard),
        ("wpkh(KEY/4294967296/*)", Refusal::Step),
        ("wpkh(KEY/+1/*)", Refusal::Step),
        ("[d34db33]KEY", Refusal::Origin),
        ("wpkh([d34db33]KEY/0/*)", Refusal::Origin),
        ("wpkh([d34db33g/84h]KEY/0/*)", Refusal::Origin),
        ("wpkh([d34db33f/84h/x]KEY/0/*)", Refusal::Origin),
        ("wpkh(03a34b99f22c790c4e36b2b3c2c35a36db06226e41c692fc82b8b56ac1c540c5bd/0)", Refusal::NoPath),
        ("wpkh(a34b99f22c790c4e36b2b3c2c35a36db06226e41c692fc82b8b56ac1c540c5bd)", Refusal::XOnly),
        ("wpkh(03a34b99f22c790c4e36b2b3c2c35a36db06226e41c692fc82b8b56ac1c540)", Refusal::Key),
        ("sh(sh(pkh(KEY)))", Refusal::Place),
        ("wsh(multi_a(1,KEY))", Refusal::Place),
        ("wpkh(musig(KEY,KEY))", Refusal::Place),
        ("tr(musig(musig(KEY,KEY),KEY))", Refusal::Place),
        ("tr(musig(KEY/*,KEY)/0/*)", Refusal::Musig),
        ("tr(musig(KEY,KEY)/0h/*)", Refusal::Musig),
        ("wsh(multi(0,KEY,KEY))", Refusal::Threshold),
        ("wsh(sortedmulti(3,KEY,KEY))", Refusal::Threshold),
        ("tr(KEY,sortedmulti_a(0,KEY,KEY))", Refusal::Threshold),
        ("wsh(thresh(0,pk(KEY),s:pk(KEY)))", Refusal::Threshold),
        ("multi(1,KEY,KEY,KEY,KEY)", Refusal::KeyCount),
        ("wsh(multi(2,KEY/<0;1>/*,KEY/<0;1;2>/*))", Refusal::Lengths),
        ("wsh(sortedmulti(1,KEY/<0;1;2>/*,KEY/<0;1>/*))", Refusal::Lengths),
        ("wpkh(KEY/<1;1>/*)", Refusal::Alternatives),
        ("wpkh(KEY/<0>/*)", Refusal::Alternatives),
        ("wpkh(KEY/<>/*)", Refusal::Alternatives),
        ("wpkh(KEY/<0;>/*)", Refusal::Alternatives),
        ("wpkh([d34db33f][d34db33f]KEY/0/*)", Refusal::Origin),
        ("wpkh(d34db33f]KEY/0/*)", Refusal::Origin),
        ("wpkh(KEY/**)", Refusal::AfterWildcard),
        ("wpkh(KEY/<0;1>/<0;1>)", Refusal::Alternatives),
        ("sh(and_v(v:pk(KEY),older(5)))", Refusal::OutsideWitness),
        ("wsh(and_v(v:pk(KEY),older(0)))", Refusal::Argument),
        ("wsh(and_v(pk(KEY),pk(KEY)))", Refusal::Miniscript),
        ("wsh(0)", Refusal::Unsafe(Flaw::Unsatisfiable)),
        ("tr(KEY,{pk(KEY),and_v(v:pk(KEY/0),0)})", Refusal::Unsafe(Flaw::Unsatisfiable)),
        ("wsh(older(5))", Refusal::Unsafe(Flaw::NoSignature)),
        ("wsh(and_v(v:pk(KEY),pk(KEY)))", Refusal::Unsafe(Flaw::RepeatedKey)),
        ("wpkh(KEY/<0;1;2;3;4;5;6;7;8;9;10;11;12;13;14;15;16>/*)", Refusal::Branches),
        ("combo(KEY/<0;1;2;3;4>/*)", Refusal::Branches),
    ] {
        assert_eq!(with(text), wanted, "{text}");
    }
    assert_eq!(refusal(&"a".repeat(MAX_BYTES + 1)), Refusal::Length);
    // As deep as fits.
    let deep = format!("{}pk({XPUB}){}", "or_i(0,".repeat(900), ")".repeat(900));
    assert_eq!(refusal(&format!("wsh({deep})")), Refusal::Miniscript);
    let tree = format!("tr({XPUB},{}pk({XPUB}){})", "{".repeat(3_000), "}".repeat(3_000));
    assert_eq!(refusal(&tree), Refusal::Miniscript);
    // A path deeper than a key can have.
    assert_eq!(refusal(&format!("wpkh({XPUB}{}/*)", "/0".repeat(253))), Refusal::Depth);
}

proptest! {
    #[test]
    fn no_text_panics(text in ".{0,200}") {
        let _ = read(&text, Network::Bitcoin);
    }

    #[test]
    fn no_nearly_right_text_panics(parts in proptest::collection::vec(prop::sample::select(vec![
        "wpkh(", "tr(", "sh(", "wsh(", "pk(", "combo(", "rawtr(", "addr(", "raw(", "multi(1,", "sortedmulti(2,", "sortedmulti_a(1,", "multi_a(2,", "musig(", ")", ",", "{", "}",
        "/0", "/*", "/<0;1>", "h", "'", "#", "[00000000/1h]", XPUB, "02", "and_v(v:", "older(1)", "sha256(",
        "a34b99f22c790c4e36b2b3c2c35a36db06226e41c692fc82b8b56ac1c540c5bd",
    ]), 0..14), index: u32) {
        if let Ok(branches) = read(&parts.concat(), Network::Bitcoin) {
            for branch in branches {
                let _ = branch.script(index);
                let _ = branch.prepared().map(|branch| branch.script(index));
            }
        }
    }

    #[test]
    fn a_key_with_a_changed_letter_is_refused(at in 0usize..111, letter in "[1-9A-HJ-NP-Za-km-z]") {
        let mut text = XPUB.to_owned();
        text.replace_range(at..=at, &letter);
        prop_assert!(text == XPUB || read(&text, Network::Bitcoin).is_err());
    }
}
