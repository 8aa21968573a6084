//! Random macaroons, headers, and bytes.
#![allow(clippy::unwrap_used, missing_docs)]

use base64::{Engine as _, engine::general_purpose::STANDARD};
use cairn_l402::{
    Binding, CredentialError, Credentials, Identifier, MAX_BYTES, Macaroon, Preimage, RootKey, challenge_header,
    is_l402, mint, verify,
};
use proptest::prelude::*;

/// A field: type, length, content.
fn field(kind: u8, content: &[u8]) -> Vec<u8> {
    let length = match content.len() {
        short @ 0..128 => vec![short as u8],
        long => vec![long as u8 | 0x80, (long >> 7) as u8],
    };
    [vec![kind], length, content.to_vec()].concat()
}

fn content() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..200)
}

/// The bytes of a macaroon in which each field is random.
fn macaroon() -> impl Strategy<Value = Vec<u8>> {
    let optional = |kind| prop_oneof![Just(Vec::new()), content().prop_map(move |bytes| field(kind, &bytes))];
    let party = (optional(1), content().prop_filter("not empty", |id| !id.is_empty()));
    let caveat = (content(), prop::option::of(party)).prop_map(|(id, party)| {
        let (location, verification) = party.map_or_else(Default::default, |(at, id)| (at, field(4, &id)));
        [location, field(2, &id), verification, vec![0]].concat()
    });
    let head = (optional(1), content()).prop_map(|(location, id)| [vec![2], location, field(2, &id), vec![0]].concat());
    (head, prop::collection::vec(caveat, 0..6), any::<[u8; 32]>())
        .prop_map(|(head, caveats, signature)| [head, caveats.concat(), vec![0], field(6, &signature)].concat())
}

fn request_parts() -> impl Strategy<Value = (String, String, Vec<u8>, [u8; 32])> {
    ("[A-Z]{1,16}", "/[ -~é]{0,300}", content(), any::<[u8; 32]>())
}

proptest! {
    #[test]
    fn macaroons_are_written_back(bytes in macaroon()) {
        prop_assume!(bytes.len() <= MAX_BYTES);
        prop_assert_eq!(Macaroon::parse(&bytes).unwrap().to_bytes(), bytes);
    }

    /// A byte more, a byte less or another byte: an error, or a macaroon that is written as these bytes.
    #[test]
    fn damage_is_an_error_or_another_macaroon(good in macaroon(), at: prop::sample::Index, byte: u8) {
        let at = at.index(good.len());
        let mut other = good.clone();
        other[at] = byte;
        for bytes in [other, [&good[..], &[byte]].concat(), good[..at].to_vec()] {
            match Macaroon::parse(&bytes) {
                Ok(macaroon) => prop_assert_eq!(macaroon.to_bytes(), bytes),
                Err(error) => prop_assert!(error.to_string().len() < 150),
            }
        }
        prop_assert!(Macaroon::parse(&good[..at]).is_err());
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..5_000), preimage in "[0-9a-fA-F]{64}") {
        for bytes in [bytes.clone(), [&b"\x02\x02"[..], &bytes].concat()] {
            if let Ok(macaroon) = Macaroon::parse(&bytes) {
                prop_assert_eq!(macaroon.to_bytes(), bytes);
            }
        }
        let _ = Identifier::parse(&bytes);
        let _ = Preimage::from_hex(&bytes);
        let text = STANDARD.encode(&bytes);
        for value in [
            bytes.clone(),
            [&b"L402 "[..], &bytes].concat(),
            [&b"LSAT "[..], &bytes, b":", preimage.as_bytes()].concat(),
            format!("L402 {text}:{preimage}").into_bytes(),
            format!("L402 {text},{text}:{preimage}").into_bytes(),
        ] {
            match Credentials::parse(&value) {
                Ok(_) => prop_assert!(is_l402(&value)),
                Err(CredentialError::Length) => prop_assert!(value.len() > 16_384),
                Err(error) => prop_assert_eq!(error == CredentialError::Scheme, !is_l402(&value)),
            }
        }
    }

    /// Any request: the credential goes through the headers, opens this request, and no other one.
    #[test]
    fn credentials_open_exactly_their_request(
        (method, path, query, body) in request_parts(), (other_method, other_path, other_query, other_body) in request_parts(),
        secret: [u8; 32], token_id: [u8; 32], preimage: [u8; 32], expires in 1u64..u64::MAX,
    ) {
        let (key, digits, preimage) = (RootKey::new(&secret), hex::encode(preimage), Preimage::new(preimage));
        let identifier = Identifier { payment_hash: preimage.payment_hash(), token_id };
        let binding = Binding::new(&method, &path, Some(&query), body).unwrap();
        let challenge = challenge_header(&mint(&key, &identifier, &binding, expires).unwrap(), "lnbc1x").unwrap();
        let token = challenge.split('"').nth(3).unwrap();
        let Credentials { macaroon: read, preimage } =
            Credentials::parse(format!("L402 {token}:{digits}").as_bytes()).unwrap();
        let verified = verify(&read, &key, &preimage, &binding, expires - 1).unwrap();
        prop_assert_eq!((verified.token_id, verified.expires), (token_id, expires));
        prop_assert!(verify(&read, &key, &preimage, &binding, expires).is_err());
        prop_assert!(verify(&read, &RootKey::new(&token_id), &preimage, &binding, 0).is_err() || secret == token_id);
        for other in [
            Binding::new(&other_method, &path, Some(&query), body).unwrap(),
            Binding::new(&method, &other_path, Some(&query), body).unwrap(),
            Binding::new(&method, &path, Some(&other_query), body).unwrap(),
            Binding::new(&method, &path, Some(&query), other_body).unwrap(),
        ] {
            prop_assert_eq!(verify(&read, &key, &preimage, &other, 0).is_ok(), other == binding);
        }
    }
}
