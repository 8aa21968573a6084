//! Descriptors of all kinds, imported into wallets of the node: the same coins and history as the node's.

use bitcoin::{
    NetworkKind, PrivateKey, ScriptBuf,
    bip32::{ChildNumber, DerivationPath, Xpriv, Xpub},
    opcodes::all,
    script::Builder,
    secp256k1::{Secp256k1, SecretKey},
};
use serde_json::{Value, json};

use crate::{
    account::{Account, LOOKUP, by_gap_limit_agrees, texts},
    coins::{Coin, Draft},
    node::{Node, Settings, bitcoind_or_skip},
    served::Served,
    wallet::{address_of, bare_multisig, foreign, pay_to_public_key, public_key, script_of},
};

/// Keys of a signer.
struct Keys(Xpriv);

impl Keys {
    fn random() -> Self {
        Keys(Xpriv::new_master(NetworkKind::Test, &rand::random::<[u8; 32]>()).unwrap())
    }

    /// The private key, as a wallet writes it.
    fn private(&self) -> String {
        self.0.to_string()
    }

    fn public(&self) -> Xpub {
        Xpub::from_priv(&Secp256k1::new(), &self.0)
    }

    /// The public key after some steps.
    fn at(&self, path: [u32; 2]) -> bitcoin::PublicKey {
        let path: DerivationPath = path.map(|step| ChildNumber::from_normal_idx(step).unwrap()).to_vec().into();
        bitcoin::PublicKey::new(self.public().derive_pub(&Secp256k1::new(), &path).unwrap().public_key)
    }
}

/// Descriptors of all kinds that have private keys; letters stand for keys of three signers, of the third the public
/// one.
const KINDS_OF_DESCRIPTORS: [&str; 17] = [
    "pkh(A/44h/1h/0h/0/*)",
    "sh(wpkh(A/49h/1h/0h/0/*))",
    "wpkh(A/84h/1h/0h/<0;1>/*)",
    "wsh(sortedmulti(2,A/48h/1h/0h/2h/<0;1>/*,B/48h/1h/0h/2h/<0;1>/*,C/<0;1>/*))",
    "wsh(or_d(pk(A/10/*),and_v(v:pkh(B/10/*),older(10))))",
    "wsh(thresh(2,pk(A/11/*),s:pk(B/11/*),sln:older(20)))",
    "wsh(andor(pk(A/12/*),hash160(00112233445566778899aabbccddeeff00112233),and_v(v:pk(B/12/*),after(100))))",
    "tr(A/13/*,{pk(B/13/*),{multi_a(2,A/14/*,C/14/*),and_v(v:pk(B/15/*),older(5))}})",
    "combo(A/16/*)",
    "sh(multi(1,A/17/*,C/17/*))",
    "sh(wsh(sortedmulti(1,B/18/*,C/18/*)))",
    "multi(1,A/19/*,B/19/*)",
    "pk(A/20/*)",
    "rawtr(A/21/*)",
    "tr(B/22h/*h)",
    "wpkh(W)",
    "tr(A/23/0,pk(B/23/0))",
];

/// Descriptors that have no private keys.
fn watched() -> Vec<String> {
    let key = public_key(70).to_string();
    vec![
        format!("addr({})", foreign(71)),
        format!("raw({})", bare_multisig().to_hex_string()),
        format!("raw({})", script_of(&foreign(72)).to_hex_string()),
        format!("rawtr({})", &key[2..]),
        format!("pk({})", public_key(3)),
    ]
}

/// Scripts of a list: of some indexes each.
#[track_caller]
fn scripts(node: &Node, listed: &[Value], indexes: &[u32]) -> Vec<ScriptBuf> {
    let mut scripts = Vec::new();
    for entry in listed {
        let wanted = if entry["range"].is_null() { &indexes[..1] } else { indexes };
        for index in wanted {
            let params = match &entry["range"] {
                Value::Null => json!([entry["desc"]]),
                _ => json!([entry["desc"], [index, index]]),
            };
            let addresses = node.outcome("deriveaddresses", params).unwrap_or_else(|_| json!([]));
            scripts.extend(addresses.as_array().unwrap().iter().map(|address| script_of(address.as_str().unwrap())));
        }
    }
    scripts
}

/// Scripts without an address, which the node does not derive: by hand.
fn bare_scripts([a, b]: [&Keys; 2], index: u32) -> Vec<ScriptBuf> {
    let multisig =
        Builder::new().push_opcode(all::OP_PUSHNUM_1).push_key(&a.at([19, index])).push_key(&b.at([19, index]));
    let multisig = multisig.push_opcode(all::OP_PUSHNUM_2).push_opcode(all::OP_CHECKMULTISIG).into_script();
    let [of_combo, alone] = [16, 20].map(|step| ScriptBuf::new_p2pk(&a.at([step, index])));
    vec![multisig, of_combo, alone]
}

/// Pays to many scripts, some thousand satoshis each.
fn pay_to(node: &Node, coin: Coin, scripts: &[ScriptBuf]) {
    let others = (0..).zip(scripts).map(|(place, script)| (script.clone(), 50_000 + 13 * place)).collect();
    node.send(&Draft { others, ..Draft::of(coin, 2_000) }.make());
}

#[test]
fn imported_descriptors_of_all_kinds() {
    let program = bitcoind_or_skip!();
    let node = Node::with_wallet(&program, Settings::with(&["-keypool=30", "-rpcworkqueue=64"]));
    let coins = node.coins_for_anyone(12, 30_000_000);
    node.rpc("unloadwallet", json!(["cairn", false]));

    let [a, b, c] = [Keys::random(), Keys::random(), Keys::random()];
    let secret = PrivateKey::new(SecretKey::from_slice(&rand::random::<[u8; 32]>()).unwrap(), NetworkKind::Test);
    let of = |text: &&str| {
        let keys = [('A', a.private()), ('B', b.private()), ('C', c.public().to_string()), ('W', secret.to_wif())];
        let letter = |letter: char| keys.iter().find(|(of, _)| *of == letter).map(|(_, key)| key.clone());
        text.chars().map(|each| letter(each).unwrap_or_else(|| each.to_string())).collect::<String>()
    };
    let signer = Account::create(&node, "signer", json!({ "blank": true }));
    signer.import(&KINDS_OF_DESCRIPTORS.iter().map(of).collect::<Vec<_>>(), [0, 29]);
    let mut listed = signer.listed(false);
    // Only the private key takes a hardened step.
    let hardened = listed.iter().position(|entry| entry["desc"].as_str().unwrap().contains("*h)")).unwrap();
    let hardened = listed.remove(hardened);
    let watcher = Account::create(&node, "watcher", json!({ "disable_private_keys": true, "blank": true }));
    let public = listed.iter().map(|entry| entry["desc"].as_str().unwrap().split('#').next().unwrap().to_owned());
    let (public, watched) = (public.collect::<Vec<_>>(), watched());
    watcher.import(&public, [0, 29]);

    let mut served = Served::one_process_with(&node, "--gates false");
    served.settle(&node);
    let body = watcher.agrees(&node, &served);
    assert_eq!(body["balance"]["total_sats"], 0);
    let (status, refused) = served.post(LOOKUP, &json!({ "wallet": [hardened] }));
    assert_eq!((status, &refused["error"]), (400, &json!("invalid_descriptor")), "{refused}");

    for (round, index) in [0, 1, 4, 19].into_iter().enumerate() {
        let mut paid = scripts(&node, &listed, &[index]);
        paid.extend(bare_scripts([&a, &b], index));
        pay_to(&node, coins[round], &paid);
        watcher.agrees(&node, &served);
        if round % 2 == 0 {
            node.mine_to(1, &foreign(43));
            watcher.agrees(&node, &served);
        }
    }
    node.mine_to(1, &foreign(43));
    let body = watcher.agrees(&node, &served);
    by_gap_limit_agrees(&served, &body, &texts(&watcher.listed(false)), 20);

    // The signer spends some of each kind to itself, then all but what waits.
    let own = scripts(&node, &listed, &[7]);
    let unspent = signer.rpc("listunspent", json!([1]));
    let inputs: Vec<Value> = unspent.as_array().unwrap().iter().step_by(3).cloned().collect();
    let inputs: Vec<Value> = inputs.iter().map(|coin| json!({ "txid": coin["txid"], "vout": coin["vout"] })).collect();
    let to: Vec<String> = own.iter().map(address_of).chain([foreign(44)]).collect();
    let sent = signer
        .rpc("sendall", json!({ "recipients": to, "options": { "inputs": inputs, "fee_rate": 5, "locktime": 105 } }));
    assert_eq!(sent["complete"], true, "{sent}");
    watcher.agrees(&node, &served);
    let block = node.mine_to(1, &foreign(43)).remove(0);
    watcher.agrees(&node, &served);
    let sent =
        signer.rpc("sendall", json!({ "recipients": [foreign(45)], "options": { "fee_rate": 5, "locktime": 105 } }));
    assert_eq!(sent["complete"], true, "{sent}");
    watcher.agrees(&node, &served);
    node.rpc("invalidateblock", json!([block]));
    watcher.agrees(&node, &served);
    node.mine_to(2, &script_to_mine(&listed, &node));
    watcher.agrees(&node, &served);

    // Descriptors without any private key, in a wallet of their own.
    let outsider = Account::create(&node, "outsider", json!({ "disable_private_keys": true, "blank": true }));
    outsider.import(&watched, [0, 29]);
    let mut paid = vec![script_of(&foreign(71)), script_of(&foreign(72)), bare_multisig(), pay_to_public_key()];
    paid.extend(scripts(&node, &outsider.listed(false), &[0]));
    pay_to(&node, coins[6], &paid);
    outsider.agrees(&node, &served);
    node.mine_to(1, &foreign(71));
    let body = outsider.agrees(&node, &served);
    by_gap_limit_agrees(&served, &body, &texts(&outsider.listed(false)), 1);
    watcher.agrees(&node, &served);
    served.end_and_verify(&node);
}

/// An address of the wallet that coinbases are paid to.
fn script_to_mine(listed: &[Value], node: &Node) -> String {
    let is_ranged = |entry: &&Value| entry["desc"].as_str().unwrap().starts_with("wpkh([") && !entry["range"].is_null();
    let entry = listed.iter().find(is_ranged).unwrap().clone();
    address_of(&scripts(node, &[entry], &[9])[0])
}
