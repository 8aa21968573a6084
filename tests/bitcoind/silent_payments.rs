//! Silent payments: made by the crate `bdk_sp`, accepted by Bitcoin Core, found by Cairn for a client that speaks as
//! wallets speak with Frigate, in the mempool and in blocks, through a reorganization.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    time::Duration,
};

use bdk_sp::{
    encoding::SilentPaymentCode,
    receive::compute_tweak_data,
    send::{create_silentpayment_partial_secret, create_silentpayment_scriptpubkeys},
};
use bitcoin::{
    Amount, Network, OutPoint, ScriptBuf, Sequence, TapSighashType, Transaction, TxIn, TxOut, Witness,
    absolute::LockTime,
    consensus::serialize,
    ecdsa,
    key::{Keypair, TapTweak},
    script::PushBytesBuf,
    secp256k1::{Message, Secp256k1, SecretKey},
    sighash::{EcdsaSighashType, Prevouts, SighashCache},
    taproot,
    transaction::Version,
};
use serde_json::{Value, json};

use crate::{
    node::{Node, Settings, bitcoind_or_skip},
    served::Served,
    wallet::{address_of, public_key, sats},
};

const FEE: u64 = 1_000;

fn secret(number: u8) -> SecretKey {
    SecretKey::from_slice(&[number; 32]).unwrap()
}

/// How the sender's coin is locked.
#[derive(Clone, Copy)]
enum From {
    Witness,
    Hash,
    Taproot,
}

/// A silent payment from a single coin, and its tweak as the receiver's side of the crate has it.
fn pay(node: &Node, from: From, to: &SilentPaymentCode) -> (Transaction, String) {
    let secp = Secp256k1::new();
    let (key, public) = (secret(1), public_key(1));
    let pair = Keypair::from_secret_key(&secp, &key);
    let (script, shared) = match from {
        From::Witness => (ScriptBuf::new_p2wpkh(&public.wpubkey_hash()), key),
        From::Hash => (ScriptBuf::new_p2pkh(&public.pubkey_hash()), key),
        From::Taproot => {
            let tweaked = pair.tap_tweak(&secp, None).to_keypair();
            (ScriptBuf::new_p2tr(&secp, pair.x_only_public_key().0, None), tweaked.secret_key())
        }
    };
    let funding: String = node.ask("sendtoaddress", json!([address_of(&script), 1]));
    let funding = node.transaction(&funding, None);
    let vout = funding.output.iter().position(|output| output.script_pubkey == script).unwrap();
    let coin = funding.output[vout].clone();
    let outpoint = OutPoint { txid: funding.compute_txid(), vout: vout as u32 };
    let smallest: [u8; 36] = serialize(&outpoint).try_into().unwrap();
    let partial = create_silentpayment_partial_secret(&smallest, &[(script.clone(), shared)]).unwrap();
    let keys = create_silentpayment_scriptpubkeys(partial, std::slice::from_ref(to));
    let paid = keys[to][0];
    let output = ScriptBuf::from([&[0x51, 0x20][..], &paid.serialize()].concat());
    let mut tx = Transaction {
        version: Version::TWO,
        lock_time: LockTime::ZERO,
        input: vec![TxIn { previous_output: outpoint, sequence: Sequence::MAX, ..TxIn::default() }],
        output: vec![TxOut { value: coin.value - Amount::from_sat(FEE), script_pubkey: output }],
    };
    sign(&mut tx, from, &coin);
    let tweak = compute_tweak_data(&tx, &[coin]).unwrap().to_string();
    (tx, tweak)
}

fn sign(tx: &mut Transaction, from: From, coin: &TxOut) {
    let secp = Secp256k1::new();
    let (key, public) = (secret(1), public_key(1));
    let unsigned = tx.clone();
    let mut cache = SighashCache::new(&unsigned);
    let ecdsa = |message: Message| ecdsa::Signature::sighash_all(secp.sign_ecdsa(&message, &key));
    match from {
        From::Witness => {
            let hash = cache.p2wpkh_signature_hash(0, &coin.script_pubkey, coin.value, EcdsaSighashType::All).unwrap();
            tx.input[0].witness = Witness::p2wpkh(&ecdsa(hash.into()), &public.0);
        }
        From::Hash => {
            let hash = cache.legacy_signature_hash(0, &coin.script_pubkey, EcdsaSighashType::All.to_u32()).unwrap();
            let signature = PushBytesBuf::try_from(ecdsa(hash.into()).to_vec()).unwrap();
            tx.input[0].script_sig =
                bitcoin::script::Builder::new().push_slice(signature).push_slice(public.to_bytes()).into_script();
        }
        From::Taproot => {
            let hash = cache.taproot_key_spend_signature_hash(0, &Prevouts::All(&[coin]), TapSighashType::Default);
            let pair = Keypair::from_secret_key(&secp, &key).tap_tweak(&secp, None).to_keypair();
            let signature = secp.sign_schnorr_no_aux_rand(&hash.unwrap().into(), &pair);
            let signature = taproot::Signature { signature, sighash_type: TapSighashType::Default };
            tx.input[0].witness = Witness::p2tr_key_spend(&signature);
        }
    }
}

/// A client of the Electrum protocol.
struct Client {
    lines: BufReader<TcpStream>,
    /// Notifications that came before an answer.
    waiting: Vec<Value>,
}

impl Client {
    fn connect(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut client = Client { lines: BufReader::new(stream), waiting: Vec::new() };
        client.ask("server.version", json!(["test", "1.4"]));
        client
    }

    fn message(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        let call = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        writeln!(self.lines.get_mut(), "{call}").unwrap();
        loop {
            let message = self.message();
            if message["id"] == 7 {
                return message;
            }
            self.waiting.push(message["params"].clone());
        }
    }

    #[track_caller]
    fn ask(&mut self, method: &str, params: Value) -> Value {
        let answer = self.call(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    fn notification(&mut self) -> Value {
        if !self.waiting.is_empty() {
            return self.waiting.remove(0);
        }
        let message = self.message();
        assert_eq!(message["method"], "blockchain.silentpayments.subscribe", "{message}");
        message["params"].clone()
    }

    /// The history up to the notification that is the first with all that there is.
    fn history(&mut self, subscription: &Value) -> Vec<Value> {
        let mut history = Vec::new();
        loop {
            let params = self.notification();
            assert_eq!(&params["subscription"], subscription);
            history.extend(params["history"].as_array().unwrap().iter().cloned());
            if params["progress"] == 1.0 {
                return history;
            }
        }
    }

    /// The payment that the next notification has.
    fn payment(&mut self) -> Value {
        let params = self.notification();
        assert!(params["progress"] == 1.0 && params["history"].as_array().unwrap().len() == 1, "{params}");
        params["history"][0].clone()
    }
}

fn entry(height: u32, (tx, tweak): &(Transaction, String)) -> Value {
    json!({"height": height, "tx_hash": tx.compute_txid().to_string(), "tweak_key": tweak})
}

#[test]
fn payments_are_found_for_a_client_that_lends_its_scan_key() {
    let node = Node::with_wallet(&bitcoind_or_skip!(), Settings::default());
    let secp = Secp256k1::new();
    let (scan, spend) = (secret(11), secret(12).public_key(&secp));
    let code = SilentPaymentCode::new_v0(scan.public_key(&secp), spend, Network::Regtest);
    let labelled = code.add_label(SilentPaymentCode::get_label(scan, 5)).unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let first = pay(&node, From::Witness, &code);
    node.send(&first.0);
    let other = pay(&node, From::Witness, &SilentPaymentCode::new_v0(spend, spend, Network::Regtest));
    node.send(&other.0);
    node.mine(1);
    let height = node.height();
    let mut served = Served::one_process_with(&node, &format!("--silent-payments --electrum 127.0.0.1:{port}"));
    served.settle(&node);
    let tweaks = |served: &Served| served.get("/v1/silent-payments/tweaks?from_height=0");
    cairn_support::wait_until("the tweaks of the tip", || tweaks(&served)["indexed_height"] == height);

    let mut client = Client::connect(port);
    assert_eq!(client.ask("server.features", json!([]))["silent_payments"], json!([0]));
    let keys = json!([scan.display_secret().to_string(), spend.to_string()]);
    let with = |rest: Value| json!([keys[0], keys[1], rest, [5]]);
    let subscription = client.ask("blockchain.silentpayments.subscribe", with(json!(0)));
    assert_eq!(subscription, json!({"address": code.to_string(), "labels": [0, 5], "start_height": 0}));
    assert_eq!(client.history(&subscription), [entry(height, &first)]);

    // In the mempool, and not again in a block.
    let second = pay(&node, From::Hash, &labelled);
    node.send(&second.0);
    assert_eq!(client.payment(), entry(0, &second));
    node.mine(1);
    let third = pay(&node, From::Taproot, &code);
    node.send(&third.0);
    assert_eq!(client.payment(), entry(0, &third));
    // A payment that is first seen in a block.
    let fourth = pay(&node, From::Witness, &code);
    let address = node.new_address("bech32");
    let hex = bitcoin::consensus::encode::serialize_hex(&fourth.0);
    let funding = fourth.0.input[0].previous_output.txid.to_string();
    let third_id = third.0.compute_txid().to_string();
    let parent_of_third = third.0.input[0].previous_output.txid.to_string();
    node.rpc("generateblock", json!([address, [parent_of_third, third_id, funding, hex]]));
    assert_eq!(client.payment(), entry(node.height(), &fourth));

    // The list over HTTP has the tweak of each, and is the list of the node's own blocks.
    served.settle(&node);
    let tip = node.height();
    cairn_support::wait_until("the tweaks of the tip", || tweaks(&served)["indexed_height"] == tip);
    let listed = tweaks(&served);
    let listed: BTreeMap<&str, &Value> =
        listed["tweaks"].as_array().unwrap().iter().map(|row| (row["txid"].as_str().unwrap(), row)).collect();
    for (tx, tweak) in [&first, &second, &third, &fourth, &other] {
        let row = listed[tx.compute_txid().to_string().as_str()];
        assert_eq!((&row["tweak"], row["largest_sats"].as_u64()), (&json!(tweak), Some(tx.output[0].value.to_sat())));
        assert_eq!(row["outputs"], json!([hex::encode(&tx.output[0].script_pubkey.as_bytes()[2..10])]));
    }

    // The last block goes, and its payments come again in another.
    let gone = node.best();
    node.rpc("invalidateblock", json!([gone]));
    node.mine(2);
    served.settle(&node);
    let fifth = pay(&node, From::Taproot, &labelled);
    node.send(&fifth.0);
    let mut seen = Vec::new();
    while seen.last() != Some(&entry(0, &fifth)) {
        seen.extend(client.notification()["history"].as_array().unwrap().iter().cloned());
    }

    // Nothing follows once it ends, and another beginning finds the rest.
    assert_eq!(client.ask("blockchain.silentpayments.unsubscribe", keys.clone()), json!(code.to_string()));
    assert_eq!(client.call("blockchain.silentpayments.unsubscribe", keys.clone())["error"]["code"], 1);
    node.mine(1);
    let mut client = Client::connect(port);
    cairn_support::wait_until("the tweaks of the tip", || tweaks(&served)["indexed_height"] == node.height());
    let subscription = client.ask("blockchain.silentpayments.subscribe", with(Value::Null));
    let all = client.history(&subscription);
    let found: Vec<&str> = all.iter().map(|entry| entry["tx_hash"].as_str().unwrap()).collect();
    let ids = |payments: &[&(Transaction, String)]| -> Vec<String> {
        payments.iter().map(|(tx, _)| tx.compute_txid().to_string()).collect()
    };
    let mut expected = ids(&[&first, &second, &third, &fourth, &fifth]);
    let mut sorted: Vec<String> = found.iter().map(|txid| (*txid).to_owned()).collect();
    expected.sort();
    sorted.sort();
    assert_eq!(sorted, expected);
    // Without the label, one that ends in the past.
    let range = format!("0-{height}");
    let params = json!({"scan_private_key": keys[0], "spend_public_key": keys[1], "start": range});
    let mut client = Client::connect(port);
    let subscription = client.ask("blockchain.silentpayments.subscribe", params);
    assert_eq!(subscription["labels"], json!([0]));
    assert_eq!(client.history(&subscription), [entry(height, &first)]);

    let said = served.said();
    assert!(!said.contains(&scan.display_secret().to_string()), "a key in the log");
    assert!(sats(&node.rpc("getbalance", json!([]))) > 0);
    served.end_and_verify(&node);
}
