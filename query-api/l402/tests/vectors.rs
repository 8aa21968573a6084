//! Macaroons that other libraries wrote.
#![allow(clippy::unwrap_used, missing_docs)]

use base64::{Engine as _, engine::general_purpose::STANDARD};
use cairn_l402::{Binding, Identifier, Macaroon, Preimage, Refusal, RootKey, body_hash, mint, verify};

/// libmacaroons at ca0211d, test/unit: serialization_1 to 3 in `v2`, which root_v2_*.vtest and caveat_v2_*.vtest
/// verify with the key `this is the key`. Here in base64 with padding.
const LIBMACAROONS: [(&[&str], &str); 3] = [
    (&[], "AgETaHR0cDovL2V4YW1wbGUub3JnLwIFa2V5aWQAAAYgfN7nklEcW8b1KEhYBd/psk54XijiqZMB+dcRxgnjjvc="),
    (
        &["account = 3735928559"],
        "AgETaHR0cDovL2V4YW1wbGUub3JnLwIFa2V5aWQAAhRhY2NvdW50ID0gMzczNTkyODU1OQAABiD1SAf23G7fiL8PcwazgiVio2JTPb9zObphdl2kvSWdhw==",
    ),
    (
        &["account = 3735928559", "user = alice"],
        "AgETaHR0cDovL2V4YW1wbGUub3JnLwIFa2V5aWQAAhRhY2NvdW50ID0gMzczNTkyODU1OQACDHVzZXIgPSBhbGljZQAABiBL6WfNHqDGsmuvakqU7psFsViG2guoXoxCqTyNDhJe/A==",
    ),
];

fn decoded(text: &str) -> Vec<u8> {
    STANDARD.decode(text).unwrap()
}

/// The row of tests/pymacaroons.tsv with this name: the root key and the macaroon.
fn pymacaroon(name: &str) -> ([u8; 32], Vec<u8>) {
    let rows = include_str!("pymacaroons.tsv").lines().filter(|line| !line.starts_with('#'));
    let mut rows = rows.map(|line| line.split('\t').collect::<Vec<_>>());
    let row = rows.find(|row| row[0] == name).unwrap();
    (hex::decode(row[1]).unwrap().try_into().unwrap(), decoded(row[2]))
}

fn request() -> Binding<'static> {
    Binding::new("GET", "/v1/address/x/summary", Some(b"currency=usd"), body_hash(b"")).unwrap()
}

fn identifier() -> Identifier {
    Identifier { payment_hash: Preimage::new([7; 32]).payment_hash(), token_id: [9; 32] }
}

#[test]
fn macaroons_are_those_of_libmacaroons() {
    let key = RootKey::from_secret(b"this is the key");
    for (caveats, text) in LIBMACAROONS {
        let bare = Macaroon::new(&key, Some(b"http://example.org/"), b"keyid").unwrap();
        let made = caveats.iter().fold(bare, |macaroon, caveat| macaroon.with_caveat(caveat.as_bytes()).unwrap());
        assert_eq!(made.to_base64(), text);
        let read = Macaroon::parse(&decoded(text)).unwrap();
        assert_eq!(read.to_base64(), text);
        assert_eq!((read.identifier(), read.caveats()), (&b"keyid"[..], made.caveats()));
    }
}

/// go-macaroon at 1679699, `TestMarshalBinaryRoundTrip`: the second example of libmacaroons' README.
#[test]
fn third_party_caveats_are_read_and_refused() {
    let bytes = [
        b"\x02\x01\x0ehttp://mybank/\x02\x1cwe used our other secret key\x00\x02\x14account = 3735928559\x00"
            .as_slice(),
        b"\x01\x13http://auth.mybank/\x02'this was how we remind auth of key/pred\x04\x48",
        &[0; 24],
        b"\xd3\x6e\xc5\x02\xe0\x58\x86\xd1\xf0\x27\x9f\x05\x5f\xa5\x25\x54\xd1\x6d\x16\xc1\xb1\x40\x74\xbb",
        b"\xb8\x3f\xf0\xfd\xd7\x9d\xc2\xfe\x09\x8f\x0e\xd4\xa2\xb0\x91\x13\x0e\x6b\x5d\xb4\x6a\x20\xa8\x6b\x00\x00",
        b"\x06\x20\xd2\x7d\xb2\xfd\x1f\x22\x76\x0e\x4c\x3d\xae\x81\x37\xe2\xd8\xfc\x1d\xf6\xc0\x74\x1c\x18",
        b"\xae\xd4\xb9\x72\x56\xbf\x78\xd1\xf5\x5c",
    ]
    .concat();
    let (key, other) = pymacaroon("third_party");
    for (bytes, location) in [(bytes, "http://auth.mybank/"), (other, "https://auth.example.org/")] {
        let macaroon = Macaroon::parse(&bytes).unwrap();
        assert_eq!(macaroon.to_bytes(), bytes);
        let [first, second] = macaroon.caveats() else { panic!() };
        assert_eq!(first.third_party, None);
        let party = second.third_party.as_ref().unwrap();
        assert_eq!((party.location.as_deref(), party.verification_id.len()), (Some(location.as_bytes()), 72));
        let refused = verify(&macaroon, &RootKey::new(&key), &Preimage::new([7; 32]), &request(), 0);
        assert_eq!(refused, Err(Refusal::ThirdParty));
    }
}

#[test]
fn minted_macaroons_are_those_of_pymacaroons() {
    let (key, theirs) = pymacaroon("minted");
    let ours = mint(&RootKey::new(&key), &identifier(), &request(), 2_000_000_000).unwrap().to_bytes();
    // pymacaroons writes a location even if it is empty; libmacaroons and go-macaroon do not.
    assert_eq!(theirs[..3], *b"\x02\x01\x00");
    assert_eq!([&theirs[..1], &theirs[3..]].concat(), ours);
    let (key, bare) = pymacaroon("bare");
    let ours = Macaroon::new(&RootKey::new(&key), Some(b"https://example.org/"), &identifier().to_bytes()).unwrap();
    assert_eq!(ours.to_bytes(), bare);
}

/// A holder added a caveat of its own and an earlier expiry with pymacaroons.
#[test]
fn holders_narrow_with_pymacaroons() {
    let (key, bytes) = pymacaroon("narrowed");
    let macaroon = Macaroon::parse(&bytes).unwrap();
    assert_eq!(macaroon.to_bytes(), bytes);
    let at = |now| verify(&macaroon, &RootKey::new(&key), &Preimage::new([7; 32]), &request(), now);
    let verified = at(1_899_999_999).unwrap();
    assert_eq!((verified.token_id, verified.expires), ([9; 32], 1_900_000_000));
    assert_eq!(verified.payment_hash, identifier().payment_hash);
    assert_eq!(at(1_900_000_000), Err(Refusal::Expired));
}

/// The example of an identifier in lightninglabs/L402, macaroon-spec.md at 8f5a269, with its offsets.
#[test]
fn identifiers_are_66_bytes() {
    let payment_hash = "163102a9c88fa4ec9ac9937b6f070bc3e27249a81ad7a05f398ac5d7d16f7bea";
    let token_id = "fed74b3ef24820f440601eff5bfb42bef4d615c4948cec8aca3cb15bd23f1013";
    let bytes = hex::decode(format!("0000{payment_hash}{token_id}")).unwrap();
    let read = Identifier::parse(&bytes).unwrap();
    assert_eq!((hex::encode(read.payment_hash), hex::encode(read.token_id)), (payment_hash.into(), token_id.into()));
    assert_eq!(read.to_bytes(), bytes);
    assert!(Identifier::parse(&bytes[..65]).is_err() && Identifier::parse(&[&bytes[..], &[0]].concat()).is_err());
    for version in [[0, 1], [1, 0]] {
        let other = [&version[..], &bytes[2..]].concat();
        assert_eq!(Identifier::parse(&other), Err(cairn_l402::IdentifierError::Version));
    }
}
