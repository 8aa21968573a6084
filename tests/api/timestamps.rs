//! Proofs of timestamps, which the test writes byte by byte against the blocks of generated chains.

use axum::{Router, body::Body, http::Request};
use bitcoin::{
    consensus::serialize,
    hashes::{Hash, ripemd160},
};
use cairn_model::{Network, rfc3339};
use cairn_testkit::temp_dir;
use serde_json::{Value, json};

use crate::{
    support::{DOCUMENT, Reply, assert_problem, assert_valid, everything_world, hex, post, router_of_file, send},
    timestamp_proofs::{MAGIC, Path, anchored, base64, bitcoin, file, fork, number, once, to_root, without_witness},
};

const VERIFY: &str = "/v1/timestamp/verify";
const MEDIA: &str = "application/vnd.opentimestamps.ots";
const LITECOIN: &[u8] = b"\x00\x06\x86\x9a\x0d\x73\xd7\x1b\x45\x01\x07";
const ETHEREUM: &[u8] = b"\x00\x30\xfe\x80\x87\xb5\xc7\xea\xd7\x01\x09";
const PENDING: &[u8] = b"\x00\x83\xdf\xe3\x0d\x2e\xf9\x0c\x8e\x15\x14https://a.example/c1";
const UNKNOWN: &[u8] = b"\x00unknown!\x03\x00\xff\x01";

async fn verify(router: &Router, proof: &[u8]) -> Value {
    verify_body(router, &json!({"proof_base64": base64(proof)})).await
}

async fn verify_body(router: &Router, body: &Value) -> Value {
    let reply = post(router, VERIFY, body).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_valid(VERIFY, &reply.body);
    reply.body
}

async fn upload(router: &Router, media: &str, bytes: &[u8]) -> Reply {
    send(router, Request::post(VERIFY).header("content-type", media).body(Body::from(bytes.to_vec())).unwrap()).await
}

fn states(body: &Value) -> Vec<&str> {
    body["attestations"].as_array().unwrap().iter().map(|row| row["state"].as_str().unwrap()).collect()
}

fn codes(body: &Value) -> Vec<&str> {
    body["caveat_codes"].as_array().unwrap().iter().map(|row| row["code"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn files_of_a_tree_existed_before_its_block() {
    let anchored = anchored();
    let router = anchored.world.open_router();
    let blocks = anchored.world.oracle.blocks();
    let height = anchored.early.1 as usize;
    let header = blocks[height].header;
    let mut times: Vec<u32> = blocks[height - 10..=height].iter().map(|block| block.header.time).collect();
    times.sort_unstable();
    for (hash, path) in anchored.files.iter().zip(&anchored.early.0) {
        let proof = file(hash, &path.clone().at(height as u64));
        let body = verify(&router, &proof).await;
        assert_eq!((&body["file_hash"], &body["file_hash_function"]), (&hex(hash).into(), &"sha256".into()));
        assert_eq!((&body["verified"], &body["hash_matches"]), (&true.into(), &Value::Null));
        assert_eq!(
            (&body["network"], &body["genesis"]),
            (&"regtest".into(), &blocks[0].block_hash().to_string().into())
        );
        let root = header.merkle_root.to_string();
        assert_eq!(
            body["attestations"],
            json!([{
                "kind": "bitcoin", "state": "verified", "verified": true, "height": height,
                "computed_root": root, "header_root": root,
                "block_time": rfc3339(header.time), "block_time_unix": header.time,
                "confirmations": blocks.len() - height, "calendar": null, "tag": null,
            }])
        );
        assert_eq!(
            body["earliest"],
            json!({
                "height": height, "hash": header.block_hash().to_string(),
                "time": rfc3339(header.time), "time_unix": header.time,
                "mtp": rfc3339(times[5]), "mtp_unix": times[5],
                "existed_before": rfc3339(header.time + 7_200), "existed_before_unix": header.time + 7_200,
            })
        );
        assert!(body["statement"].as_str().unwrap().contains(&rfc3339(header.time + 7_200)), "{body}");
        assert_eq!(codes(&body), ["not_mainnet"]);
        assert_eq!(body["caveat_codes"][0]["params"], json!({"network": "regtest", "genesis": body["genesis"]}));

        // The file itself, and the other names of the fields.
        let mut whole = upload(&router, MEDIA, &proof).await.body;
        whole["_meta"] = body["_meta"].clone();
        assert_eq!(whole, body);
        for (name, alias) in [("hash", "proof"), ("hash_hex", "proof_base64")] {
            let same = json!({name: format!(" {} ", hex(hash).to_uppercase()), alias: base64(&proof)});
            let body = verify_body(&router, &same).await;
            assert_eq!((&body["verified"], &body["hash_matches"]), (&true.into(), &true.into()));
        }
        for other in [hex(&once(b"other")), "00".repeat(20)] {
            let body = verify_body(&router, &json!({"hash": other, "proof": base64(&proof)})).await;
            assert_eq!((&body["verified"], &body["hash_matches"]), (&false.into(), &false.into()));
            assert_eq!((states(&body), &body["earliest"]), (vec!["verified"], &Value::Null));
            assert!(body["statement"].as_str().unwrap().contains("another file"));
        }
    }
}

#[tokio::test]
async fn every_transaction_of_a_chain_existed_when_its_block_did() {
    let world = &everything_world();
    let router = world.open_router();
    let blocks = world.oracle.blocks();
    let mut proofs = 0;
    for (height, block) in blocks.iter().enumerate() {
        let last = block.txdata.len() - 1;
        for index in [0, last / 2, last] {
            let hash = once(&without_witness(&block.txdata[index]));
            let path = to_root(Path::from(&hash).sha256(), block, index);
            let body = verify(&router, &file(&hash, &path.at(height as u64))).await;
            assert_eq!((&body["verified"], &body["earliest"]["height"]), (&true.into(), &height.into()), "{body}");
            assert_eq!(body["attestations"][0]["confirmations"], blocks.len() - height);
            let provisional = blocks.len() - height < 6;
            assert_eq!(codes(&body).contains(&"provisional_confirmations"), provisional);
            proofs += 1;
        }
    }
    assert!(proofs > 400, "{proofs}");
    // Blocks that a reorganization replaced.
    let stale: Vec<_> = world.chain.stale().into_iter().flatten().collect();
    assert!(!stale.is_empty());
    for mined in stale {
        let hash = once(&without_witness(&mined.block.txdata[0]));
        let path = to_root(Path::from(&hash).sha256(), &mined.block, 0);
        let body = verify(&router, &file(&hash, &path.at(mined.height.into()))).await;
        assert_eq!((states(&body), &body["verified"]), (vec!["mismatch"], &false.into()), "{body}");
        assert_eq!(body["attestations"][0]["computed_root"], mined.block.header.merkle_root.to_string());
        assert_eq!(
            body["attestations"][0]["header_root"],
            blocks[mined.height as usize].header.merkle_root.to_string()
        );
    }
}

#[tokio::test]
async fn what_does_not_lead_to_a_block() {
    let anchored = anchored();
    let router = anchored.world.open_router();
    let (hash, (paths, height)) = (&anchored.files[1], &anchored.early);
    let (path, height) = (&paths[1], u64::from(*height));
    let tip = anchored.world.oracle.blocks().len() as u64 - 1;

    let other = once(b"other");
    let cut = Path::from(hash).append(b"x");
    for (proof, state, computed, words) in [
        // Another file, another block, another path, a message that is not a root.
        (file(&other, &path.clone().at(height)), "mismatch", true, "Merkle root"),
        (file(hash, &path.clone().at(height + 1)), "mismatch", true, "Merkle root"),
        (file(hash, &path.clone().sha256().at(height)), "mismatch", true, "Merkle root"),
        (file(hash, &Path::from(hash).at(0)), "mismatch", true, "Merkle root"),
        (file(hash, &cut.clone().at(height)), "mismatch", false, "Merkle root"),
        (file(hash, &path.clone().at(tip + 1)), "height_unknown", true, "does not have yet"),
        (file(hash, &path.clone().at(u64::MAX)), "height_unknown", true, "does not have yet"),
        // Beyond 32 bits, and back to this block.
        (file(hash, &path.clone().at(height + (1 << 32))), "height_unknown", true, "does not have yet"),
        (file(hash, &path.clone().attested(PENDING)), "pending", false, "ots upgrade"),
        (file(hash, &path.clone().attested(LITECOIN)), "foreign", false, "no attestation of Bitcoin"),
        (file(hash, &path.clone().attested(ETHEREUM)), "foreign", false, "no attestation of Bitcoin"),
        (file(hash, &path.clone().attested(UNKNOWN)), "foreign", false, "no attestation of Bitcoin"),
    ] {
        let body = verify(&router, &proof).await;
        assert_eq!((states(&body), &body["verified"]), (vec![state], &false.into()), "{body}");
        assert_eq!((&body["earliest"], codes(&body)), (&Value::Null, vec!["not_mainnet"]));
        let row = &body["attestations"][0];
        assert_eq!((row["computed_root"].is_string(), &row["verified"]), (computed, &false.into()), "{row}");
        assert_eq!(row["header_root"].is_string(), state == "mismatch", "{row}");
        assert_eq!(row["confirmations"].is_u64(), state == "mismatch", "{row}");
        assert!(body["statement"].as_str().unwrap().contains(words), "{body}");
    }
    let ripemd = [MAGIC, b"\x03", &ripemd160::Hash::hash(b"x").to_byte_array(), &bitcoin(1)].concat();
    let body = verify(&router, &ripemd).await;
    assert_eq!((&body["file_hash_function"], states(&body)), (&"ripemd160".into(), vec!["mismatch"]));
    assert_eq!(body["file_hash"].as_str().unwrap().len(), 40);
}

#[tokio::test]
async fn several_attestations_are_all_checked() {
    let anchored = anchored();
    let router = anchored.world.open_router();
    let (early, late) = (&anchored.early, &anchored.late);
    let hash = &anchored.files[4];
    let parts = [
        late.0[4].clone().at(late.1.into()),
        LITECOIN.to_vec(),
        early.0[4].clone().at(u64::from(early.1) + 1),
        PENDING.to_vec(),
        UNKNOWN.to_vec(),
        early.0[4].clone().at(early.1.into()),
        ETHEREUM.to_vec(),
        Path::from(hash).sha256().at(1 << 40),
    ];
    let proof = file(hash, &fork(&parts));
    let body = verify(&router, &proof).await;
    assert_eq!(
        states(&body),
        ["verified", "verified", "mismatch", "height_unknown", "pending", "foreign", "foreign", "foreign"]
    );
    let rows = body["attestations"].as_array().unwrap();
    let heights: Vec<Option<u64>> = rows.iter().map(|row| row["height"].as_u64()).collect();
    let (low, high) = (u64::from(early.1), u64::from(late.1));
    assert_eq!(heights, [Some(low), Some(high), Some(low + 1), Some(1 << 40), None, Some(7), Some(9), None]);
    let kinds: Vec<&str> = rows.iter().map(|row| row["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds[4..], ["pending", "litecoin", "ethereum", "unknown"]);
    assert_eq!((&rows[4]["calendar"], &rows[7]["tag"]), (&"https://a.example/c1".into(), &hex(b"unknown!").into()));
    assert_eq!((&body["earliest"]["height"], &body["verified"]), (&low.into(), &true.into()));
    assert_eq!((codes(&body), &body["attestations_omitted"]), (vec!["not_mainnet"], &0.into()));

    // The later one alone may still be undone.
    let body = verify(&router, &file(hash, &fork(&[parts[0].clone(), PENDING.to_vec()]))).await;
    assert_eq!(codes(&body), ["not_mainnet", "provisional_confirmations"]);
    assert_eq!(body["caveat_codes"][1]["params"], json!({"confirmations": 4, "settled_at": 6}));

    // More than are listed: those that hold come first, wherever they are.
    let mut many: Vec<Vec<u8>> = (0..300u64).map(bitcoin).collect();
    many.push(parts[0].clone());
    many.push(parts[5].clone());
    let body = verify(&router, &file(hash, &fork(&many))).await;
    assert_eq!((body["attestations"].as_array().unwrap().len(), &body["attestations_omitted"]), (100, &202.into()));
    assert_eq!(states(&body)[..3], ["verified", "verified", "mismatch"]);
    assert_eq!(body["earliest"]["height"], low);
}

#[tokio::test]
async fn malformed_proofs_say_where() {
    let anchored = anchored();
    let router = anchored.world.open_router();
    let hash = &anchored.files[0];
    let good = file(hash, &anchored.early.0[0].clone().at(anchored.early.1.into()));
    let start = MAGIC.len() + 33;
    for end in 0..good.len() {
        let reply = upload(&router, MEDIA, &good[..end]).await;
        assert_problem(&reply, 400, "invalid_proof");
        assert_eq!((&reply.body["offset"], &reply.body["errors"][0]["name"]), (&end.into(), &"proof_base64".into()));
    }
    let large = [good.clone(), vec![0; (64 << 10) + 1 - good.len()]].concat();
    for (proof, offset, words) in [
        ([good.as_slice(), b"\x00"].concat(), good.len(), "after the end"),
        (b"%PDF-1.7".to_vec(), 0, "not an OpenTimestamps proof"),
        (file(hash, b"\x09"), start, "unknown (0x09)"),
        (file(hash, &[&[0x08; 257], bitcoin(1).as_slice()].concat()), start + 256, "256 operations"),
        (file(hash, &b"\xff\x08".repeat(10_001)), start + 513, "256 operations"),
        (file(hash, b"\xf0\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), start + 1, "1 to 4096 bytes"),
        (file(hash, &[0xf3; 8]), start + 7, "longer than 4096 bytes"),
        (large, 64 << 10, "longer than 65536 bytes: it has 65537"),
    ] {
        for reply in [
            upload(&router, MEDIA, &proof).await,
            post(&router, VERIFY, &json!({"proof": base64(&proof)})).await,
            post(&router, VERIFY, &json!({"proof_base64": base64(&proof), "hash": hex(hash)})).await,
        ] {
            assert_problem(&reply, 400, "invalid_proof");
            assert_eq!((&reply.body["offset"], &reply.body["retryable"]), (&offset.into(), &false.into()));
            assert!(reply.body["detail"].as_str().unwrap().contains(words), "{}", reply.text);
        }
    }
    // The longest that is not refused for its length.
    let filler = |length: usize| [b"\x00filler!!".as_slice(), &number(length as u64), &vec![1; length]].concat();
    let parts: Vec<Vec<u8>> = [vec![filler(8_000); 8], vec![filler(1_000)]].concat();
    let long = file(hash, &fork(&parts));
    assert!(long.len() > 64_900 && long.len() <= 64 << 10, "{}", long.len());
    assert_eq!(states(&verify(&router, &long).await), ["foreign", "foreign"]);
}

#[tokio::test]
async fn requests_without_a_proof() {
    let anchored = anchored();
    let router = anchored.world.open_router();
    let good = base64(&file(&anchored.files[0], &anchored.early.0[0].clone().at(1)));
    for (body, status, code) in [
        (json!({}), 422, "validation_error"),
        (json!({"hash": "00".repeat(32)}), 422, "validation_error"),
        (json!({"proof": good, "proof_base64": good}), 422, "validation_error"),
        (json!({"proof": 5}), 422, "validation_error"),
        (json!({"proof": "A".repeat(100_001)}), 422, "validation_error"),
        (json!({"proof": good, "hash": "00".repeat(32), "hash_hex": "00".repeat(32)}), 422, "validation_error"),
        (json!({"proof": good, "hash": "00"}), 400, "invalid_hash"),
        (json!({"proof": good, "hash": "zz".repeat(32)}), 400, "invalid_hash"),
        (json!({"proof": "not base64!"}), 400, "invalid_proof"),
        (json!({"proof": ""}), 400, "invalid_proof"),
    ] {
        assert_problem(&post(&router, VERIFY, &body).await, status, code);
    }
    let reply = post(&router, VERIFY, &json!({"proof": "not base64!"})).await;
    assert!(reply.body.get("offset").is_none() && reply.text.contains("base64"), "{}", reply.text);
    assert_problem(&upload(&router, "application/octet-stream", b"x").await, 415, "unsupported_media_type");
    assert_problem(&upload(&router, MEDIA, &vec![0; (1 << 20) + 1]).await, 413, "payload_too_large");
    // The limit and the size are in the error, also where the base64 of the file is too long for the field.
    let large = upload(&router, MEDIA, &vec![0; 75_001]).await;
    assert_problem(&large, 422, "validation_error");
    let words = "the file has 75001 bytes; at most 65536 are allowed";
    assert_eq!(large.body["errors"][0]["message"], words, "{}", large.text);
    assert_problem(&upload(&router, MEDIA, &vec![0; 75_000]).await, 400, "invalid_proof");
    let long = post(&router, VERIFY, &json!({"proof": "A".repeat(100_001)})).await;
    let words = "is too long: it has 100001 characters; at most 100000 are allowed";
    assert_eq!(long.body["errors"][0]["message"], words, "{}", long.text);
}

/// The first transaction of the main network, which every index of it has, with the proof that is the example.
#[tokio::test]
async fn on_the_main_network() {
    let genesis = bitcoin::constants::genesis_block(bitcoin::Network::Bitcoin);
    let block = serialize(&genesis);
    let folder = temp_dir();
    let blocks = folder.path().join("blk00000.dat");
    let magic = bitcoin::Network::Bitcoin.magic().to_bytes();
    std::fs::write(&blocks, [&magic[..], &(block.len() as u32).to_le_bytes(), &block].concat()).unwrap();
    let (router, _folder) = router_of_file(Network::Main, &blocks);
    let hash = once(&serialize(&genesis.txdata[0]));
    let body = verify(&router, &file(&hash, &Path::from(&hash).sha256().at(0))).await;
    assert_eq!((&body["verified"], &body["network"]), (&true.into(), &"main".into()));
    assert_eq!(body["genesis"], genesis.block_hash().to_string());
    assert_eq!(body["earliest"]["time"], "2009-01-03T18:15:05Z");
    assert_eq!(body["earliest"]["existed_before"], "2009-01-03T20:15:05Z");
    assert_eq!(body["earliest"]["mtp_unix"], genesis.header.time);
    // One block is not final.
    assert_eq!(codes(&body), ["provisional_confirmations"]);
    let example = &DOCUMENT["paths"][VERIFY]["post"]["requestBody"]["content"];
    assert_eq!(
        example["application/json"]["example"]["proof_base64"],
        base64(&file(&hash, &Path::from(&hash).sha256().at(0)))
    );
    assert!(example[MEDIA]["schema"].is_object());
}
