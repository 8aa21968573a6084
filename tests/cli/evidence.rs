//! `cairn evidence`: packs of a server, checked with and without Cairn.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use bitcoin::{ScriptBuf, consensus::encode::serialize_hex, hashes::Hash};
use cairn_chaingen::{Chain, EverythingOptions};
use cairn_support::{World, fails, get};
use cairn_testkit::{Oracle, skip, workspace_root};
use serde_json::Value;

use crate::CAIRN;

/// The first key of section 7.1 of RFC 8032.
const SECRET: &str = "-----BEGIN PRIVATE KEY-----\n\
    MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n\
    -----END PRIVATE KEY-----\n";
const PUBLIC: &str = "-----BEGIN PUBLIC KEY-----\n\
    MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n\
    -----END PUBLIC KEY-----\n";

/// The name of a script in requests.
fn name(script: &ScriptBuf) -> String {
    format!("scripthash:{}", hex::encode(bitcoin::hashes::sha256::Hash::hash(script.as_bytes()).to_byte_array()))
}

/// An indexed chain, the files of its keys and headers, and a pack of its busiest script (`pack.json`), made with these
/// parameters.
fn packed(query: &str) -> (World, Chain) {
    let options = EverythingOptions { blocks: 130, max_txs: 6, forks: vec![2], showpieces: false };
    let chain = cairn_chaingen::everything(5, &options).unwrap();
    let world = World::with(CAIRN, &chain);
    world.index();
    let blocks: Vec<_> = chain.active().iter().map(|mined| mined.block.clone()).collect();
    let headers: Vec<String> = blocks.iter().map(|block| serialize_hex(&block.header)).collect();
    fs::write(world.path("headers.txt"), headers.join("\n")).unwrap();
    let bytes: Vec<u8> = blocks.iter().flat_map(|block| bitcoin::consensus::serialize(&block.header)).collect();
    fs::write(world.path("headers.bin"), bytes).unwrap();
    fs::write(world.path("secret.pem"), SECRET).unwrap();
    fs::write(world.path("public.pem"), PUBLIC).unwrap();
    let oracle = Oracle::of(cairn_model::Network::Regtest, &blocks);
    let busiest = oracle.scripts().max_by_key(|script| (oracle.history(script).len(), (*script).clone())).unwrap();
    let line = "serve --datadir data --listen 127.0.0.1:0 --evidence-key-file secret.pem";
    let mut server = world.start(line);
    let address = server.address();
    let (status, pack) = get(&address, &format!("/v1/wallets/{}/evidence-pack?{query}", name(busiest)));
    assert_eq!(status, 200, "{pack}");
    fs::write(world.path("pack.json"), pack).unwrap();
    let (_, keys) = get(&address, "/.well-known/cairn-evidence-keys.json");
    fs::write(world.path("keys.json"), keys).unwrap();
    server.signal("TERM");
    server.end();
    (world, chain)
}

fn json(world: &World, file: &str) -> Value {
    serde_json::from_slice(&fs::read(world.path(file)).unwrap()).unwrap()
}

/// The answer of the script in Python; `None` if there is no Python.
fn python(folder: &Path, arguments: &[&str]) -> Option<Output> {
    Command::new("python3")
        .arg(workspace_root().join("docs/verify_pack.py"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .ok()
}

#[test]
fn a_signed_pack_is_checked() {
    // All sections with their defaults.
    let (world, _) = packed("");
    for keys in ["public.pem", "keys.json"] {
        let verdict = world.stdout(&format!("evidence verify pack.json --key {keys}"));
        assert!(
            verdict.contains("signature: valid, by key ") && verdict.contains("completeness: not proven"),
            "{verdict}"
        );
        assert!(verdict.contains("proofs: none in the pack") && verdict.contains("_meta: not covered"), "{verdict}");
    }
    assert!(world.stdout("evidence verify pack.json").contains("not checked: give --key FILE"));
    assert_eq!(world.stdout("evidence diff pack.json pack.json"), "no change\n");
    // The place of a change is named.
    let mut pack = json(&world, "pack.json");
    pack["sections"]["overview"]["data"]["tx_count"] = 1.into();
    fs::write(world.path("changed.json"), pack.to_string()).unwrap();
    fails(world.run("evidence verify changed.json --key public.pem"), 7, &["refused: /digest_sha256"]);
    assert!(world.stdout("evidence diff pack.json changed.json").starts_with("/sections/overview/data/tx_count: "));
    pack["signature"]["value"] = "00".repeat(64).into();
    fs::write(world.path("cut.json"), &pack.to_string()[..500]).unwrap();
    fails(world.run("evidence verify cut.json"), 7, &["is not JSON"]);
    fails(world.run("evidence verify nowhere.json"), 2, &["nowhere.json"]);
    fails(world.run("evidence verify pack.json --key secret.pem"), 2, &["secret.pem", "public Ed25519 key"]);
    fails(world.run("serve --datadir data --evidence-key-file public.pem"), 2, &["public.pem", "openssl genpkey"]);
}

#[test]
fn openssl_checks_the_signature() {
    let version = Command::new("openssl").arg("version").output();
    if !version.is_ok_and(|output| output.status.success() && output.stdout.starts_with(b"OpenSSL 3")) {
        skip!("no OpenSSL 3");
    }
    let (world, _) = packed("include_graph=false");
    let canonical = world.command("evidence canonical pack.json --signature-to pack.sig").output().unwrap();
    assert!(canonical.status.success());
    let check = |bytes: &[u8]| {
        fs::write(world.path("pack.bytes"), bytes).unwrap();
        let arguments = "pkeyutl -verify -pubin -inkey public.pem -rawin -in pack.bytes -sigfile pack.sig";
        let mut openssl = Command::new("openssl");
        openssl.args(arguments.split(' ')).current_dir(world.path("")).output().unwrap().status.success()
    };
    assert!(check(&canonical.stdout));
    let mut flipped = canonical.stdout;
    flipped[100] ^= 1;
    assert!(!check(&flipped));
}

#[test]
fn proofs_are_checked_against_headers() {
    let (world, _) = packed("proofs=true&tx_limit=5");
    let pack = json(&world, "pack.json");
    assert_eq!(pack["proofs_reason"], Value::Null, "{pack}");
    for headers in ["headers.txt", "headers.bin"] {
        let verdict = world.stdout(&format!("evidence verify pack.json --key public.pem --headers {headers}"));
        assert!(
            verdict.contains("checkpoint: height 0, 0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206"),
            "{verdict}"
        );
        for row in pack["sections"]["transactions"]["data"]["transactions"].as_array().unwrap() {
            let line = format!("transaction {} with its amounts: proven\n", row["txid"].as_str().unwrap());
            assert!(verdict.contains(&line), "{line}{verdict}");
        }
    }
    let without = world.stdout("evidence verify pack.json --key public.pem");
    assert!(without.contains("proven up to its header; give --headers FILE"), "{without}");
    // Headers of another chain, cut headers, and a header that breaks a rule.
    let text = fs::read_to_string(world.path("headers.txt")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let refused = |lines: &[&str], says: &[&str]| {
        fs::write(world.path("other.txt"), lines.join("\n")).unwrap();
        fails(world.run("evidence verify pack.json --headers other.txt"), 7, says);
    };
    refused(&lines[..3], &["is not in the file of headers"]);
    refused(&[lines[0], lines[2]], &["header of height 1", "does not follow"]);
    refused(&lines[1..], &["header of height 0", "first block of the network"]);
    refused(&["00"], &["neither headers"]);
}

#[test]
fn the_script_in_python_checks_the_same() {
    let (world, _) = packed("proofs=true&tx_limit=5");
    let folder = world.path("");
    let Some(tested) = python(&folder, &["--self-test"]) else { skip!("no Python") };
    assert!(tested.status.success(), "{}", String::from_utf8_lossy(&tested.stderr));
    for arguments in [
        &["pack.json"][..],
        &["pack.json", "--key", "keys.json"],
        &["pack.json", "--key", "public.pem", "--headers", "headers.txt"],
        &["pack.json", "--headers", "headers.bin"],
    ] {
        let output = python(&folder, arguments).unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let file = fs::read(world.path("pack.json")).unwrap();
    let end = file.windows(8).position(|bytes| bytes == b",\"_meta\"").unwrap();
    for at in (0..end).step_by(end / 40) {
        let mut flipped = file.clone();
        flipped[at] ^= 1 << (at % 8);
        fs::write(world.path("flipped.json"), flipped).unwrap();
        let output = python(&folder, &["flipped.json", "--key", "public.pem", "--headers", "headers.bin"]).unwrap();
        assert!(!output.status.success(), "byte {at} of {end}");
    }
    let lines = fs::read_to_string(workspace_root().join("docs/verify_pack.py")).unwrap().lines().count();
    assert!(lines <= 300, "{lines}");
}
