//! Headers as real clients read and write them.
//!
//! Recorded with Node.js 20.20.2 against a server of `node:http` that answered 402 with the first line of
//! tests/headers.txt as `WWW-Authenticate`, and again with both lines. `fetch402` and `fetchWithL402` of npm
//! `@getalby/lightning-tools` 9.0.1, and `setupL402Interceptor` of npm `l402` 0.5.1 with axios 1.21.1, paid the invoice
//! (a wallet that returned the preimage), repeated method, target and body unchanged, and sent the third line as
//! `Authorization`, each of them in both cases. Of aperture (7ee3ed7), the client's regular expression
//! `(LSAT|L402) macaroon="(.*?)", invoice="(.*?)"` matches only the second line, and its `SetHeader` sends two headers
//! of equal credentials, `LSAT` before `L402`. The invoice is the first example of BOLT 11.
#![allow(clippy::unwrap_used, missing_docs)]

use cairn_l402::{
    Binding, CredentialError, Credentials, Identifier, MAX_AUTHORIZATION_BYTES, Macaroon, MacaroonError, Preimage,
    Refusal, RootKey, body_hash, challenge_header, is_l402, legacy_challenge_header, mint, verify,
};

const PREIMAGE: Preimage = Preimage::new([7; 32]);

fn recorded() -> [&'static str; 3] {
    let lines = include_str!("headers.txt").lines().filter(|line| !line.starts_with('#'));
    lines.collect::<Vec<_>>().try_into().unwrap()
}

/// The key of the recorded macaroon.
fn key() -> RootKey {
    RootKey::new(&std::array::from_fn(|at| at as u8))
}

fn request() -> Binding<'static> {
    Binding::new("GET", "/v1/address/x/summary", Some(b"currency=usd"), body_hash(b"")).unwrap()
}

fn minted(token_id: [u8; 32]) -> Macaroon {
    let identifier = Identifier { payment_hash: PREIMAGE.payment_hash(), token_id };
    mint(&key(), &identifier, &request(), 2_000_000_000).unwrap()
}

fn parsed(text: &str) -> Result<Credentials, CredentialError> {
    Credentials::parse(text.as_bytes())
}

/// The credential without its scheme.
fn token() -> (&'static str, &'static str) {
    recorded()[2].strip_prefix("L402 ").unwrap().split_once(':').unwrap()
}

#[test]
fn challenges_are_those_that_the_clients_paid() {
    let [first, second, _] = recorded();
    let invoice = second.split('"').nth(3).unwrap();
    assert!(invoice.starts_with("lnbc1pvjluez"));
    assert_eq!(challenge_header(&minted([9; 32]), invoice).unwrap(), first);
    assert_eq!(legacy_challenge_header(&minted([9; 32]), invoice).unwrap(), second);
    for invoice in ["", "lnbc1\"", "lnbc1\r\nSet-Cookie: a", "lnbc1, b", &"l".repeat(4_097)] {
        assert!(challenge_header(&minted([9; 32]), invoice).is_err());
        assert!(legacy_challenge_header(&minted([9; 32]), invoice).is_err());
    }
}

#[test]
fn credentials_of_the_clients_open_the_request() {
    let Credentials { macaroon, preimage } = parsed(recorded()[2]).unwrap();
    let verified = verify(&macaroon, &key(), &preimage, &request(), 1_999_999_999).unwrap();
    assert_eq!((verified.token_id, verified.expires), ([9; 32], 2_000_000_000));
}

/// `parseL402` of `@getalby/lightning-tools` 9.0.1 reads the token `AAAALSATBBBB` as `AAAABBBB`.
#[test]
fn no_challenge_has_the_word_that_a_client_removes() {
    // In base64, the three bytes are `LSAT` where they begin at a multiple of three; 37 bytes are before the token id.
    let mut token_id = [9; 32];
    token_id[2..5].copy_from_slice(&[0x2d, 0x20, 0x13]);
    let identifier = Identifier { payment_hash: PREIMAGE.payment_hash(), token_id };
    let plain = Macaroon::new(&key(), None, &identifier.to_bytes()).unwrap();
    assert!(plain.to_base64().contains("LSAT"));
    let macaroon = minted(token_id);
    assert!(!macaroon.to_base64().contains("LSAT"));
    // Also where the first other location is not enough.
    token_id[13..16].copy_from_slice(&[0x2d, 0x20, 0x13]);
    for id in [macaroon, minted(token_id)] {
        assert!(!id.to_base64().contains("LSAT"));
        assert!(verify(&id, &key(), &PREIMAGE, &request(), 0).is_ok());
    }
}

#[test]
fn every_spelling_of_a_credential_is_read() {
    // Bytes that are `+` and `/` in each alignment, and as many that two signs of padding are needed.
    let padded =
        |length| minted([9; 32]).with_caveat(&[&[0xfb, 0xef, 0xbe, 0xff, 0xff][..], &vec![0xff; length]].concat());
    let macaroon = (0..3).map(|length| padded(length).unwrap().to_base64()).find(|text| text.ends_with("==")).unwrap();
    let (macaroon, preimage) = (macaroon.as_str(), token().1);
    assert!(macaroon.contains('+') && macaroon.contains('/'));
    let url = macaroon.replace('+', "-").replace('/', "_");
    let texts =
        [macaroon, macaroon.trim_end_matches('='), &url, url.trim_end_matches('='), &macaroon[..macaroon.len() - 1]];
    for (text, scheme) in texts.into_iter().zip(["l402", "LSAT", "Lsat", "L402 ", "L402"]) {
        for preimage in [preimage.to_owned(), preimage.to_uppercase()] {
            let read = parsed(&format!("{scheme} {text}:{preimage}")).unwrap();
            assert_eq!(read.macaroon.to_base64(), macaroon);
            assert_eq!(read.preimage.payment_hash(), PREIMAGE.payment_hash());
        }
    }
}

#[test]
fn one_of_several_macaroons_is_taken() {
    let (ours, preimage) = token();
    let other = Identifier { payment_hash: [1; 32], token_id: [2; 32] };
    let other = mint(&key(), &other, &request(), 1).unwrap().to_base64();
    for list in [format!("{ours},{other}"), format!("{other},{other},{other},{ours}")] {
        assert_eq!(parsed(&format!("L402 {list}:{preimage}")).unwrap().macaroon.to_base64(), ours);
    }
    for list in [format!("{other},{other}"), format!("{ours},{ours}")] {
        assert_eq!(parsed(&format!("L402 {list}:{preimage}")).unwrap_err(), CredentialError::Choice);
    }
    let alone = parsed(&format!("L402 {other}:{preimage}")).unwrap();
    assert_eq!(verify(&alone.macaroon, &key(), &alone.preimage, &request(), 0), Err(Refusal::Preimage));
    let five = [ours; 5].join(",");
    assert_eq!(parsed(&format!("L402 {five}:{preimage}")).unwrap_err(), CredentialError::Macaroons);
}

#[test]
fn malformed_credentials_have_a_reason() {
    let (macaroon, preimage) = token();
    let mixed = macaroon.replace('+', "-") + "/_+-";
    let none = |at: &str| format!("L402 {at}:{preimage}");
    for (value, error) in [
        (String::new(), CredentialError::Scheme),
        (format!("Bearer {macaroon}:{preimage}"), CredentialError::Scheme),
        (format!("L402,{macaroon}:{preimage}"), CredentialError::Scheme),
        ("L402".to_owned(), CredentialError::Colon),
        (format!("L402 {macaroon}"), CredentialError::Colon),
        (none(""), MacaroonError::End.into()),
        (none(&format!("{macaroon},")), MacaroonError::End.into()),
        (none("AQ=="), MacaroonError::Version.into()),
        (none(&mixed), CredentialError::Base64),
        (none(&format!("{macaroon}=")), CredentialError::Base64),
        (none("AgR="), CredentialError::Base64),
        (none("Ag__"), MacaroonError::Field.into()),
        (none("Ag--"), MacaroonError::Field.into()),
        (none("Ag\u{e9}=="), CredentialError::Base64),
        (none(&format!("{macaroon} ,{macaroon}")), CredentialError::Base64),
        (none(&"A".repeat(5_468)), MacaroonError::Size.into()),
        (format!("L402 {}", "A".repeat(MAX_AUTHORIZATION_BYTES)), CredentialError::Length),
        (format!("L402 {macaroon}:{}", &preimage[1..]), cairn_l402::PreimageError.into()),
        (format!("L402 {macaroon}:{preimage}0"), cairn_l402::PreimageError.into()),
        (format!("L402 {macaroon}:{}g", &preimage[1..]), cairn_l402::PreimageError.into()),
        (format!("L402 {macaroon}:{preimage}:"), cairn_l402::PreimageError.into()),
    ] {
        assert_eq!(parsed(&value).unwrap_err(), error, "{value}");
    }
}

#[test]
fn only_two_schemes_are_of_l402() {
    for value in ["L402", "l402 ", "LSAT x", "lsat x:y", "L402 :"] {
        assert!(is_l402(value.as_bytes()), "{value}");
    }
    for value in ["", " L402 x", "L4022 x", "L40 x", "L402:x", "Bearer L402", "Basic x", "Payment x"] {
        assert!(!is_l402(value.as_bytes()), "{value}");
    }
}

#[test]
fn secrets_are_not_shown() {
    let credentials = parsed(recorded()[2]).unwrap();
    let shown = format!("{credentials:?} {:?}", key());
    assert_eq!(shown, "Credentials { macaroon: Macaroon { caveats: 5, .. }, preimage: Preimage(…) } RootKey(…)");
}
