//! Signatures of manifests.

use std::fs;

use base64::{Engine, prelude::BASE64_STANDARD};
use cairn_checkpoint::{CheckpointError, Placing, Signer, Trust, make, restore, verify};
use minisign::KeyPair;

use crate::{
    support::{never, target},
    world::{World, chain},
};

/// A key in files; its public key.
fn key_in(world: &World, name: &str, password: Option<&str>) -> String {
    let pair = match password {
        None => KeyPair::generate_unencrypted_keypair(),
        Some(password) => KeyPair::generate_encrypted_keypair(Some(password.to_owned())),
    };
    let pair = pair.unwrap();
    fs::write(world.path(name), pair.sk.to_box(None).unwrap().into_string()).unwrap();
    fs::write(world.path(&format!("{name}.pub")), pair.pk.to_box().unwrap().into_string()).unwrap();
    pair.pk.to_base64()
}

#[test]
fn only_what_the_key_has_signed_is_restored() {
    let world = World::of(&chain(51, 30));
    let (ours, others) = (key_in(&world, "ours", None), key_in(&world, "others", None));
    let make_with = |name: &str, key: &str| {
        let signer = Signer::read(&world.path(key), None).unwrap();
        make(&world.path("data"), &world.path(name), &[], Some(&signer), &never(), &|_, _| {}).unwrap()
    };
    make_with("signed", "ours");
    make_with("by-another", "others");
    world.make("unsigned");
    let trust = Trust::of_key(&ours).unwrap();
    let refused = |name: &str| {
        let to = target(&world.path("restored"), Placing::Copy);
        let from_file = Trust::of_key(&world.path("ours.pub").display().to_string()).unwrap();
        for trust in [&trust, &from_file] {
            let error = restore(&world.folder(name), trust, &to, &never(), &|_, _| {}).map(drop).unwrap_err();
            assert!(matches!(error, CheckpointError::Untrusted { .. }), "{error}");
            let again = verify(&world.folder(name), trust, &never(), &|_, _| {}).map(drop).unwrap_err();
            assert_eq!(again.to_string(), error.to_string());
            assert!(!world.path("restored/index").exists());
        }
        let error = restore(&world.folder(name), &trust, &to, &never(), &|_, _| {}).map(drop).unwrap_err();
        error.to_string()
    };
    assert!(refused("unsigned").contains("it has no signature"));
    assert!(refused("by-another").contains("another key"));
    // The signature of another manifest, a changed manifest, a cut signature.
    let (manifest, signature) = (world.path("signed/checkpoint.json"), world.path("signed/checkpoint.json.minisig"));
    let (text, signed) = (fs::read_to_string(&manifest).unwrap(), fs::read_to_string(&signature).unwrap());
    fs::copy(&signature, world.path("unsigned/checkpoint.json.minisig")).unwrap();
    if text != fs::read_to_string(world.path("unsigned/checkpoint.json")).unwrap() {
        assert!(refused("unsigned").contains("changed after it was signed"));
    }
    fs::write(&manifest, text.replacen("\"event_seq\"", " \"event_seq\"", 1)).unwrap();
    assert!(refused("signed").contains("changed after it was signed"));
    fs::write(&manifest, &text).unwrap();
    for cut in [0, 1, signed.len() / 2, signed.len() - 5] {
        fs::write(&signature, &signed[..cut]).unwrap();
        refused("signed");
    }
    // The comment in the signature file is signed, too.
    fs::write(&signature, signed.replacen("cairn checkpoint", "cairn  checkpoint", 1)).unwrap();
    refused("signed");
    fs::write(&signature, &signed).unwrap();
    let to = target(&world.path("restored"), Placing::Copy);
    restore(&world.folder("signed"), &trust, &to, &never(), &|_, _| {}).unwrap();
    let found = verify(&world.folder("signed"), &Trust::of_key(&ours).unwrap(), &never(), &|_, _| {}).unwrap();
    assert_eq!(found.differences, []);
    assert!(Trust::of_key(&others).is_ok());
}

#[test]
fn keys_with_passwords_and_what_is_no_key() {
    let world = World::of(&chain(52, 20));
    key_in(&world, "locked", Some("hunter2"));
    key_in(&world, "open", None);
    for (key, password, says) in [
        ("locked", None, "CAIRN_SIGNING_PASSWORD"),
        ("locked", Some("hunter3"), "password is wrong"),
        ("open.pub", None, "not a secret key"),
        ("nothing", None, "nothing"),
    ] {
        let refused = Signer::read(&world.path(key), password.map(str::to_owned)).map(drop).unwrap_err().to_string();
        assert!(refused.contains(says) && !refused.contains("hunter"), "{key}: {refused}");
    }
    assert!(Signer::read(&world.path("locked"), Some("hunter2".to_owned())).is_ok());
    // As minisign 0.11 writes keys without passwords: the checksum at the end is zeros.
    let pair = KeyPair::generate_unencrypted_keypair().unwrap();
    let mut bytes = pair.sk.to_bytes();
    let whole = bytes.len();
    bytes[whole - 32..].fill(0);
    let text = format!("untrusted comment: minisign secret key\n{}\n", BASE64_STANDARD.encode(&bytes));
    fs::write(world.path("zeros"), text).unwrap();
    let signer = Signer::read(&world.path("zeros"), None).unwrap();
    make(&world.path("data"), &world.path("signed"), &[], Some(&signer), &never(), &|_, _| {}).unwrap();
    let trust = Trust::of_key(&pair.pk.to_base64()).unwrap();
    assert_eq!(verify(&world.folder("signed"), &trust, &never(), &|_, _| {}).unwrap().differences, []);
    for key in ["RWQ", "", "/dev/null", &world.path("open").display().to_string()] {
        let refused = Trust::of_key(key).map(drop).unwrap_err();
        assert!(matches!(refused, CheckpointError::Key(_)), "{refused}");
    }
}
