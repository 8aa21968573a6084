//! Which credential opens which request.
#![allow(clippy::unwrap_used, missing_docs)]

use cairn_l402::{
    Binding, BindingError, Identifier, MAX_BYTES, MAX_CAVEATS, MAX_PATH_BYTES, Macaroon, MacaroonError, Preimage,
    Refusal, RootKey, Verified, body_hash, mint, verify,
};

const EXPIRES: u64 = 2_000_000_000;
const PREIMAGE: Preimage = Preimage::new([7; 32]);

fn key() -> RootKey {
    RootKey::new(&[3; 32])
}

fn identifier() -> Identifier {
    Identifier { payment_hash: PREIMAGE.payment_hash(), token_id: [9; 32] }
}

fn request() -> Binding<'static> {
    Binding::new("POST", "/v1/risk", Some(b"a=1&a=2"), body_hash(b"{}")).unwrap()
}

fn minted() -> Macaroon {
    mint(&key(), &identifier(), &request(), EXPIRES).unwrap()
}

fn verified(macaroon: &Macaroon, now: u64) -> Result<Verified, Refusal> {
    verify(macaroon, &key(), &PREIMAGE, &request(), now)
}

/// The minted macaroon with more caveats.
fn narrowed(caveats: &[&str]) -> Macaroon {
    caveats.iter().fold(minted(), |macaroon, caveat| macaroon.with_caveat(caveat.as_bytes()).unwrap())
}

/// A macaroon of our key with these caveats only.
fn signed(caveats: &[&[u8]]) -> Macaroon {
    let bare = Macaroon::new(&key(), None, &identifier().to_bytes()).unwrap();
    caveats.iter().fold(bare, |macaroon, caveat| macaroon.with_caveat(caveat).unwrap())
}

#[test]
fn a_credential_opens_its_request_until_it_expires() {
    let expected = Verified { token_id: [9; 32], payment_hash: PREIMAGE.payment_hash(), expires: EXPIRES };
    assert_eq!(verified(&minted(), 0), Ok(expected));
    assert_eq!(verified(&minted(), EXPIRES - 1), Ok(expected));
    assert_eq!(verified(&minted(), EXPIRES), Err(Refusal::Expired));
    assert_eq!(verified(&minted(), u64::MAX), Err(Refusal::Expired));
}

#[test]
fn no_other_request_is_opened() {
    let other = |method, path, query, body: &[u8]| {
        let binding = Binding::new(method, path, query, body_hash(body)).unwrap();
        verify(&minted(), &key(), &PREIMAGE, &binding, 0).map(|_| ())
    };
    let query = Some(&b"a=1&a=2"[..]);
    assert_eq!(other("POST", "/v1/risk", query, b"{}"), Ok(()));
    for method in ["GET", "HEAD", "PUT", "POS"] {
        assert_eq!(other(method, "/v1/risk", query, b"{}"), Err(Refusal::Method));
    }
    for path in ["/", "/v1/risk/", "/v1/Risk", "/v1/risk/x", "/v1/ris"] {
        assert_eq!(other("POST", path, query, b"{}"), Err(Refusal::Path));
    }
    for query in [None, Some(&b""[..]), Some(b"a=2&a=1"), Some(b"a=1&a=2&"), Some(b"a=1&a=%32"), Some(b"a=1&a=2 ")] {
        assert_eq!(other("POST", "/v1/risk", query, b"{}"), Err(Refusal::Query));
    }
    for body in [&b""[..], b"{ }", b"{}\n"] {
        assert_eq!(other("POST", "/v1/risk", query, body), Err(Refusal::Body));
    }
}

#[test]
fn no_query_is_an_empty_query() {
    let binding = |query| Binding::new("GET", "/", query, body_hash(b"")).unwrap();
    let macaroon = mint(&key(), &identifier(), &binding(None), EXPIRES).unwrap();
    assert!(verify(&macaroon, &key(), &PREIMAGE, &binding(Some(b"")), 0).is_ok());
    assert_eq!(verify(&macaroon, &key(), &PREIMAGE, &binding(Some(b"?")), 0), Err(Refusal::Query));
}

/// Measures no time: each bit of the signature counts, and the answer is the same for each.
#[test]
fn every_bit_of_signature_and_preimage_counts() {
    let good = minted().to_bytes();
    for bit in 0..256 {
        let mut bytes = good.clone();
        let at = bytes.len() - 32 + bit / 8;
        bytes[at] ^= 1 << (bit % 8);
        assert_eq!(verified(&Macaroon::parse(&bytes).unwrap(), 0), Err(Refusal::Unknown), "bit {bit}");
        let mut preimage = [7; 32];
        preimage[bit / 8] ^= 1 << (bit % 8);
        let refused = verify(&minted(), &key(), &Preimage::new(preimage), &request(), 0);
        assert_eq!(refused, Err(Refusal::Preimage), "bit {bit}");
    }
    assert_eq!(verify(&minted(), &RootKey::new(&[4; 32]), &PREIMAGE, &request(), 0), Err(Refusal::Unknown));
}

/// A client without a macaroon of ours learns nothing else: the signature comes before all that depends on it.
#[test]
fn the_signature_is_checked_first() {
    let other = Binding::new("GET", "/", None, body_hash(b"")).unwrap();
    let refused = verify(&minted(), &RootKey::new(&[4; 32]), &Preimage::new([8; 32]), &other, u64::MAX);
    assert_eq!(refused, Err(Refusal::Unknown));
    // Signed by us, but not for this protocol.
    let foreign = Macaroon::new(&key(), None, b"another identifier").unwrap();
    assert_eq!(verified(&foreign, 0), Err(Refusal::Unknown));
}

#[test]
fn caveats_cannot_be_removed_or_moved() {
    let bytes = narrowed(&["app=wallet"]).to_bytes();
    let text = b"\x02\x0aapp=wallet\x00";
    let at = bytes.windows(text.len()).position(|window| window == text).unwrap();
    let without = [&bytes[..at], &bytes[at + text.len()..]].concat();
    let first = without.windows(2).position(|window| window == b"\x02\x0e").unwrap();
    let moved = [&without[..first], text, &without[first..]].concat();
    for bytes in [without, moved] {
        assert_eq!(verified(&Macaroon::parse(&bytes).unwrap(), 0), Err(Refusal::Unknown));
    }
    assert!(verified(&narrowed(&["app=wallet"]), 0).is_ok());
}

#[test]
fn holders_may_only_narrow() {
    for caveats in [
        &["services=cairn:0", "no value", "", "=", "wr_path", "wr_pathx=/", " wr_path=/", "WR_PATH=/"][..],
        &["wr_method=POST", "wr_path=/v1/risk", "wr_path=/v1/risk"],
        &["wr_expires=2000000000"],
    ] {
        assert_eq!(verified(&narrowed(caveats), 0).unwrap().expires, EXPIRES, "{caveats:?}");
    }
    let earlier = narrowed(&["wr_expires=1900000000", "wr_expires=1800000000", "wr_expires=1800000000"]);
    assert_eq!(verified(&earlier, 1_799_999_999).unwrap().expires, 1_800_000_000);
    assert_eq!(verified(&earlier, 1_800_000_000), Err(Refusal::Expired));
    assert_eq!(verified(&narrowed(&["wr_expires=0"]), 0), Err(Refusal::Expired));
    for (caveats, refusal) in [
        (&["wr_expires=2000000001"][..], Refusal::Widened),
        (&["wr_expires=1900000000", "wr_expires=1900000001"], Refusal::Widened),
        (&["wr_expires="], Refusal::Widened),
        (&["wr_expires=+1900000000"], Refusal::Widened),
        (&["wr_expires=01900000000"], Refusal::Widened),
        (&["wr_expires=-1"], Refusal::Widened),
        (&["wr_expires=1900000000 "], Refusal::Widened),
        (&["wr_expires=18446744073709551616"], Refusal::Widened),
        (&["wr_method=GET"], Refusal::Method),
        (&["wr_path=/v1"], Refusal::Path),
        (&["wr_path="], Refusal::Path),
        (&["wr_path=/v1/other", "wr_path=/v1/risk"], Refusal::Path),
        (&["wr_query_sha256="], Refusal::Query),
        (&["wr_body_sha256=00"], Refusal::Body),
    ] {
        assert_eq!(verified(&narrowed(caveats), 0), Err(refusal), "{caveats:?}");
    }
}

#[test]
fn each_caveat_of_ours_is_needed() {
    let ours = minted();
    let all: Vec<&[u8]> = ours.caveats().iter().map(|caveat| caveat.id.as_slice()).collect();
    assert_eq!((all.len(), verified(&signed(&all), 0).is_ok()), (5, true));
    for left_out in 0..5 {
        let mut some = all.clone();
        some.remove(left_out);
        assert_eq!(verified(&signed(&some), 0), Err(Refusal::Missing), "{left_out}");
    }
    assert_eq!(verified(&signed(&[]), 0), Err(Refusal::Missing));
}

#[test]
fn the_words_of_refusals_stay() {
    let words = [
        Refusal::Unknown,
        Refusal::ThirdParty,
        Refusal::Preimage,
        Refusal::Missing,
        Refusal::Widened,
        Refusal::Method,
        Refusal::Path,
        Refusal::Query,
        Refusal::Body,
        Refusal::Expired,
    ]
    .map(Refusal::word);
    let expected = "credential_unknown third_party_caveat preimage_mismatch caveat_missing caveat_widened \
                    other_method other_path other_query other_body credential_expired";
    assert_eq!(words.join(" "), expected);
}

#[test]
fn requests_are_bounded() {
    let path = format!("/{}", "x".repeat(MAX_PATH_BYTES - 1));
    let of = |method: &str, path: &str| Binding::new(method, path, None, body_hash(b"")).map(|_| ());
    assert_eq!(of("GET", &path), Ok(()));
    assert_eq!(of("GET", &(path.clone() + "x")), Err(BindingError::Path));
    assert_eq!(of("GET", ""), Err(BindingError::Path));
    assert_eq!(of("GET", "v1"), Err(BindingError::Path));
    for method in ["", "get", "GET ", "GET=", "ABCDEFGHIJKLMNOPQ"] {
        assert_eq!(of(method, "/"), Err(BindingError::Method));
    }
    // The longest path leaves room for what holders add.
    let binding = Binding::new("GET", &path, None, body_hash(b"")).unwrap();
    assert!(mint(&key(), &identifier(), &binding, u64::MAX).unwrap().to_bytes().len() < MAX_BYTES - 1_000);
}

#[test]
fn macaroons_are_bounded() {
    let full = (5..MAX_CAVEATS).fold(minted(), |macaroon, _| macaroon.with_caveat(b"a=b").unwrap());
    assert!(verified(&full, 0).is_ok());
    assert!(full.clone().with_caveat(b"a=b").is_err());
    let bytes = full.to_bytes();
    let at = bytes.len() - 35;
    let more = [&bytes[..at], b"\x02\x03a=b\x00", &bytes[at..]].concat();
    assert_eq!(Macaroon::parse(&more).unwrap_err(), MacaroonError::Caveats);
    let room = MAX_BYTES - minted().to_bytes().len() - 4;
    let longest = minted().with_caveat(&vec![b'x'; room]).unwrap();
    assert_eq!(longest.to_bytes().len(), MAX_BYTES);
    assert!(verified(&Macaroon::parse(&longest.to_bytes()).unwrap(), 0).is_ok());
    assert!(minted().with_caveat(&vec![b'x'; room + 1]).is_err());
    assert_eq!(Macaroon::parse(&[2; MAX_BYTES + 1]).unwrap_err(), MacaroonError::Size);
}

#[test]
fn malformed_macaroons_have_a_reason() {
    let signature = [&b"\x06\x20"[..], &[5; 32]].concat();
    let with = |head: &[u8]| Macaroon::parse(&[head, &signature].concat()).map(|_| ());
    assert_eq!(with(b"\x02\x02\x01i\x00\x00"), Ok(()));
    assert_eq!(with(b"\x02\x01\x00\x02\x01i\x00\x00"), Ok(()));
    for (head, error) in [
        (&b""[..], MacaroonError::Version),
        (b"\x01\x02\x01i\x00\x00", MacaroonError::Version),
        (b"\x02\x00\x00", MacaroonError::Field),
        (b"\x02\x02\x01i\x01\x01l\x00\x00", MacaroonError::Field),
        (b"\x02\x02\x01i\x02\x01i\x00\x00", MacaroonError::Field),
        (b"\x02\x03\x01i\x00\x00", MacaroonError::Field),
        (b"\x02\x02\x01i\x04\x01v\x00\x00", MacaroonError::Field),
        (b"\x02\x02\x01i\x00\x04\x01v\x00\x00", MacaroonError::Field),
        (b"\x02\x02\x01i\x00\x01\x01l\x02\x01c\x00\x00", MacaroonError::Caveat),
        (b"\x02\x02\x01i\x00\x02\x01c\x04\x00\x00\x00", MacaroonError::Caveat),
        (b"\x02\x02\x81\x00i\x00\x00", MacaroonError::Length),
        (b"\x02\x02\x7fi\x00\x00", MacaroonError::End),
        (b"\x02\x02\x01i\x00", MacaroonError::Field),
    ] {
        assert_eq!(with(head), Err(error), "{head:?}");
    }
    let bare = |tail: &[u8]| Macaroon::parse(&[b"\x02\x02\x01i\x00\x00", tail].concat()).unwrap_err();
    assert_eq!(bare(&[&signature[..], &[0]].concat()), MacaroonError::Rest);
    assert_eq!(bare(&[&b"\x06\x1f"[..], &[5; 31]].concat()), MacaroonError::Signature);
    assert_eq!(bare(&signature[..33]), MacaroonError::End);
}
