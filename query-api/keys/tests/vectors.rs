//! The vectors of the proposals, and of Bitcoin Core's own tests: text in, scripts or addresses out.
#![allow(clippy::unwrap_used, missing_docs)]

use bitcoin::{
    Address, Network, base58,
    bip32::{Xpriv, Xpub},
    secp256k1::Secp256k1,
};
use cairn_keys::{Branch, Refusal, read};

fn branches(text: &str, network: Network) -> Vec<Branch> {
    let branches = read(text, network).unwrap_or_else(|refusal| panic!("{text}: {refusal}"));
    branches.into_iter().map(|branch| branch.prepared().unwrap()).collect()
}

fn address(branch: &Branch, index: u32, network: Network) -> String {
    Address::from_script(&branch.script(index).unwrap(), network).unwrap().to_string()
}

/// Scripts of index 0, in hexadecimal digits.
fn scripts(text: &str) -> Vec<String> {
    branches(text, Network::Bitcoin).iter().map(|branch| branch.script(0).unwrap().to_hex_string()).collect()
}

/// Account keys of the recovery phrase of BIP 84 and 86: `abandon` eleven times, then `about`.
const BIP44: &str =
    "xpub6BosfCnifzxcFwrSzQiqu2DBVTshkCXacvNsWGYJVVhhawA7d4R5WSWGFNbi8Aw6ZRc1brxMyWMzG3DSSSSoekkudhUd9yLb6qx39T9nMdj";
const BIP84: &str =
    "zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs";
const BIP86: &str =
    "xpub6BgBgsespWvERF3LHQu6CnqdvfEvtMcQjYrcRzx53QJjSxarj2afYWcLteoGVky7D3UKDP9QyrLprQ3VCECoY49yfdDEHGCtMMj92pReUsQ";

#[test]
fn accounts_by_bip_84() {
    let found = branches(BIP84, Network::Bitcoin);
    let of = |branch: usize, index| address(&found[branch], index, Network::Bitcoin);
    assert_eq!(found.iter().map(Branch::step).collect::<Vec<_>>(), [Some(0), Some(1)]);
    assert_eq!(of(0, 0), "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu");
    assert_eq!(of(0, 1), "bc1qnjg0jd8228aq7egyzacy8cys3knf9xvrerkf9g");
    assert_eq!(of(1, 0), "bc1q8c6fshw2dlwun7ekn9qwf37cu2rn755upcp6el");
}

#[test]
fn accounts_by_bip_44_and_86_are_among_the_kinds_of_an_xpub() {
    let found = branches(BIP44, Network::Bitcoin);
    assert_eq!(found.len(), 8);
    assert_eq!(address(&found[0], 0, Network::Bitcoin), "1LqBGSKuX5yYUonjxT5qGfpUsXKYYWeabA");
    let found = branches(BIP86, Network::Bitcoin);
    let of = |branch: usize, index| address(&found[branch], index, Network::Bitcoin);
    assert_eq!(of(6, 0), "bc1p5cyxnuxmeuwuvkwfem96lqzszd02n6xdcjrs20cac6yqjjwudpxqkedrcr");
    assert_eq!(of(6, 1), "bc1p4qhjn9zdvkux4e44uhx8tc55attvtyu358kutcqkudyccelu0was9fqzwh");
    assert_eq!(of(7, 0), "bc1p3qkhfews2uk44qtvauqyr2ttdsw7svhkl9nkm9s9c3x4ax5h60wqwruhk7");
}

#[test]
fn accounts_by_bip_49() {
    // The proposal has the private key of the account; this is what a wallet would show of it.
    let key: Xpriv = "tprv8gRrNu65W2Msef2BdBSUgFdRTGzC8EwVXnV7UGS3faeXtuMVtGfEdidVeGbThs4ELEoayCAzZQ4uUji9DUiAs7erdVskqju7hrBcDvDsdbY".parse().unwrap();
    let key = Xpub::from_priv(&Secp256k1::new(), &key);
    let mut bytes = key.encode();
    bytes[..4].copy_from_slice(&[0x04, 0x4a, 0x52, 0x62]);
    let upub = base58::encode_check(&bytes);
    assert!(upub.starts_with("upub"));
    for text in [upub, format!("[00000000/49h/1h/0h]{key}")] {
        let found = branches(&text, Network::Regtest);
        let nested: Vec<&Branch> = found.iter().filter(|branch| branch.script(0).unwrap().is_p2sh()).collect();
        assert_eq!(nested.len(), 2);
        assert_eq!(address(nested[0], 0, Network::Testnet), "2Mww8dCYPUpKHofjgcXcBCEGmniw9CoaiD2");
        assert_eq!(read(&text, Network::Bitcoin).unwrap_err(), Refusal::Network);
    }
}

/// BIP 380: checksums.
#[test]
fn checksums() {
    for right in ["raw(deadbeef)#89f8spxm", "raw(deadbeef)", " raw(deadbeef)#89f8spxm\n"] {
        assert_eq!(scripts(right), ["deadbeef"]);
    }
    for wrong in [
        "raw(deadbeef)#",
        "raw(deadbeef)#89f8spxmx",
        "raw(deadbeef)#89f8spx",
        "raw(deedbeef)#89f8spxm",
        "raw(deedbeef)##9f8spxm",
    ] {
        assert_eq!(read(wrong, Network::Bitcoin).unwrap_err(), Refusal::Checksum, "{wrong}");
    }
    assert_eq!(read("raw(Ü)#00000000", Network::Bitcoin).unwrap_err(), Refusal::Letters);
}

/// BIP 381 to 386, and additions of Bitcoin Core.
#[test]
fn kinds_of_descriptors() {
    const KEY: &str = "a34b99f22c790c4e36b2b3c2c35a36db06226e41c692fc82b8b56ac1c540c5bd";
    let of = |text: &str| scripts(&text.replace("KEY", KEY));
    assert_eq!(of("pk(03KEY)"), [format!("2103{KEY}ac")]);
    assert_eq!(of("pkh(03KEY)"), ["76a9149a1c78a507689f6f54b847ad1cef1e614ee23f1e88ac"]);
    assert_eq!(of("wpkh(03KEY)"), ["00149a1c78a507689f6f54b847ad1cef1e614ee23f1e"]);
    assert_eq!(of("sh(wpkh(03KEY))"), ["a91484ab21b1b2fd065d4504ff693d832434b6108d7b87"]);
    let all = [of("pk(03KEY)"), of("pkh(03KEY)"), of("wpkh(03KEY)"), of("sh(wpkh(03KEY))")].concat();
    assert_eq!(of("combo(03KEY)"), all);
    assert_eq!(of("tr(KEY)"), ["512077aab6e066f8a7419c5ab714c12c67d25007ed55a43cadcacb4d7a970a093f11"]);
    assert_eq!(of("rawtr(KEY)"), [format!("5120{KEY}")]);
    assert_eq!(of("raw(deadbeef)"), ["deadbeef"]);
    assert_eq!(of("addr(1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa)"), ["76a91462e907b15cbf27d5425399ebf6f0fb50ebb88f1888ac"]);
    // An uncompressed key has no script with a witness.
    let long = "04a34b99f22c790c4e36b2b3c2c35a36db06226e41c692fc82b8b56ac1c540c5bd5b8dec5235a0fa8722476c7709c02559e3aa73aa03918ba2d492eea75abea235";
    assert_eq!(scripts(&format!("combo({long})")).len(), 2);
    assert_eq!(read(&format!("wpkh({long})"), Network::Bitcoin).unwrap_err(), Refusal::Uncompressed);
}

#[test]
fn paths_with_alternatives_and_wildcards() {
    let account = BIP86;
    let of = |text: &str| branches(&text.replace("KEY", account), Network::Bitcoin);
    let both = of("tr([00000000/86h/0h/0h]KEY/<0;1>/*)");
    let (receive, change) = (of("tr(KEY/0/*)"), of("tr(KEY/1/*)"));
    assert_eq!((both.len(), both[0].step(), both[1].step()), (2, Some(0), Some(1)));
    for index in [0, 1, 19, 1_000, 2_147_483_647] {
        assert_eq!(both[0].script(index), receive[0].script(index));
        assert_eq!(both[1].script(index), change[0].script(index));
    }
    assert_eq!(both[0].script(1 << 31), Err(Refusal::Hardened));
    let single = of("tr(KEY/0/7)");
    assert!(!single[0].has_wildcard() && receive[0].has_wildcard());
    assert_eq!(single[0].script(0), receive[0].script(7));
    assert_eq!(of("rawtr(KEY/<0;1>/*)").len(), 2);
    assert_eq!(of("combo(KEY/<0;1>/*)").len(), 8);
    // Preparing changes no script.
    let raw = read(&format!("wsh(sortedmulti(1,{account}/0/3/*,{BIP44}/*))"), Network::Bitcoin).unwrap();
    assert_eq!(raw[0].script(5), raw[0].clone().prepared().unwrap().script(5));
}

/// BIP 387: keys without parity, sorted.
#[test]
fn sorted_keys_in_taproot() {
    const KEYS: [&str; 3] = [
        "03dff1d77f2a671c5f36183726db2341be58feae1da2deced843240f7b502ba659",
        "02f9308a019258c31049344f85f89d5229b531c845836f99b08601f113bce036f9",
        "023590a94e768f8e1815c2f24b4d80a8e3149316c3518ce7b7ad338368d038ca66",
    ];
    let of = |function: &str, order: [usize; 3]| {
        let keys: Vec<&str> = order.iter().map(|at| &KEYS[*at][2..]).collect();
        scripts(&format!("tr({},{function}(2,{}))", &KEYS[0][2..], keys.join(",")))
    };
    let sorted = of("multi_a", [2, 0, 1]);
    for order in [[0, 1, 2], [1, 2, 0], [2, 1, 0]] {
        assert_eq!(of("sortedmulti_a", order), sorted);
        assert_ne!(of("multi_a", order), sorted);
    }
    // Each index has its own order.
    let text = |function: &str, [a, b]: [&str; 2]| format!("tr({BIP86}/*,{function}(1,{a}/*,{b}/*))");
    let all = |text: &str| branches(text, Network::Bitcoin).remove(0);
    let both = [[BIP44, BIP86], [BIP86, BIP44]].map(|order| all(&text("multi_a", order)));
    let found = all(&text("sortedmulti_a", [BIP44, BIP86]));
    let first = |index| usize::from(found.script(index) != both[0].script(index));
    assert!((0..20).all(|index| found.script(index) == both[first(index)].script(index)));
    assert!((0..20).map(first).any(|it| it == 0) && (0..20).map(first).any(|it| it == 1));
}

/// The vectors of BIP 390.
#[test]
fn aggregated_keys() {
    const SINGLE: &str = "musig(02f9308a019258c31049344f85f89d5229b531c845836f99b08601f113bce036f9,03dff1d77f2a671c5f36183726db2341be58feae1da2deced843240f7b502ba659,023590a94e768f8e1815c2f24b4d80a8e3149316c3518ce7b7ad338368d038ca66)";
    const A: &str = "xpub6ERApfZwUNrhLCkDtcHTcxd75RbzS1ed54G1LkBUHQVHQKqhMkhgbmJbZRkrgZw4koxb5JaHWkY4ALHY2grBGRjaDMzQLcgJvLJuZZvRcEL";
    const B: &str = "xpub68NZiKmJWnxxS6aaHmn81bvJeTESw724CRDs6HbuccFQN9Ku14VQrADWgqbhhTHBaohPX4CjNLf9fq9MYo6oDaPPLPxSb7gwQN3ih19Zm4Y";
    let of = |text: &str, index: u32| {
        let text = text.replace("SINGLE", SINGLE).replace("A1", A).replace("B1", B);
        branches(&text, Network::Bitcoin)[0].script(index).unwrap().to_hex_string()
    };
    for (text, wanted) in [
        ("rawtr(SINGLE)", &["5120789d937bade6673538f3e28d8368dda4d0512f94da44cf477a505716d26a1575"][..]),
        ("tr(SINGLE)", &["512079e6c3e628c9bfbce91de6b7fb28e2aec7713d377cf260ab599dcbc40e542312"]),
        (
            "rawtr(musig(A1/0/*,B1/0/*))",
            &[
                "5120754ccfd18ed4051de3b1144b6145cad4b2999387338dfb85ec392f2963ceaa3a",
                "5120be80016576d2691ccc4077bc91d7ece4db34667d6e84829d5e08480cd4bc0b78",
                "5120b7139e2f8b92570ad96c40c3b5e6557a5194e288a96df6f29980523365239d58",
            ],
        ),
        (
            "rawtr(musig(A1,B1)/0/*)",
            &[
                "51209508c08832f3bb9d5e8baf8cb5cfa3669902e2f2da19acea63ff47b93faa9bfc",
                "51205ca1102663025a83dd9b5dbc214762c5a6309af00d48167d2d6483808525a298",
                "51207dbed1b89c338df6a1ae137f133a19cae6e03d481196ee6f1a5c7d1aeb56b166",
            ],
        ),
        (
            "tr(musig(A1,B1)/0/*,pk(f9308a019258c31049344f85f89d5229b531c845836f99b08601f113bce036f9))",
            &[
                "51201d377b637b5c73f670f5c8a96a2c0bb0d1a682a1fca6aba91fe673501a189782",
                "51208950c83b117a6c208d5205ffefcf75b187b32512eb7f0d8577db8d9102833036",
                "5120a49a477c61df73691b77fcd563a80a15ea67bb9c75470310ce5c0f25918db60d",
            ],
        ),
        (
            "tr(f9308a019258c31049344f85f89d5229b531c845836f99b08601f113bce036f9,pk(musig(A1,B1)/0/*))",
            &[
                "512068983d461174afc90c26f3b2821d8a9ced9534586a756763b68371a404635cc8",
                "5120368e2d864115181bdc8bb5dc8684be8d0760d5c33315570d71a21afce4afd43e",
                "512097a1e6270b33ad85744677418bae5f59ea9136027223bc6e282c47c167b471d5",
            ],
        ),
    ] {
        for (index, wanted) in (0..).zip(wanted) {
            assert_eq!(of(text, index), *wanted, "{text} {index}");
        }
    }
}
