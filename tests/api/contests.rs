//! Contests of claims by whoever holds the key of an address.

use std::sync::{Arc, Mutex};

use axum::Router;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use bitcoin::{
    Address, CompressedPublicKey, Network, PrivateKey, ScriptBuf,
    key::Secp256k1,
    secp256k1::{Message, SecretKey},
    sign_message::{MessageSignature, signed_msg_hash},
};
use cairn_events::{Claim, ContestParty, Document, EvidenceTier};
use cairn_operations::{ApiState, LedgerAccess, NotTaken, router};
use cairn_state::{State, StateUrl};
use cairn_testkit::temp_dir;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    claims::{claim, listed, take},
    priced::now,
    support::{World, assert_problem, assert_valid, everything_world, get_ok, open_config, post},
};

pub const FEEDBACK: &str = "/v1/feedback";
const TRUST: &str = "/v1/wallets/{address}/trust-safety";
const DETAIL: &str = "/v1/wallets/{address}/detail";

/// A wallet with one key.
pub struct Wallet(SecretKey);

impl Wallet {
    pub fn new(byte: u8) -> Self {
        Wallet(SecretKey::from_slice(&[byte; 32]).unwrap())
    }

    pub fn address(&self) -> Address {
        let secp = Secp256k1::new();
        let key = CompressedPublicKey::from_private_key(&secp, &PrivateKey::new(self.0, Network::Regtest)).unwrap();
        Address::p2wpkh(&key, Network::Regtest)
    }

    fn script(&self) -> ScriptBuf {
        self.address().script_pubkey()
    }

    pub fn sign(&self, message: &str) -> String {
        let hash = Message::from_digest(*<bitcoin::hashes::sha256d::Hash as AsRef<[u8; 32]>>::as_ref(
            &signed_msg_hash(message),
        ));
        let signature = Secp256k1::new().sign_ecdsa_recoverable(&hash, &self.0);
        BASE64_STANDARD.encode(MessageSignature::new(signature, true).serialize())
    }
}

/// A ledger that keeps what is handed in, or takes nothing.
#[derive(Default)]
struct Inbox {
    documents: Mutex<Vec<Document>>,
    refuses: Mutex<Option<NotTaken>>,
}

impl LedgerAccess for Inbox {
    fn hand_in(&self, document: &Document) -> Result<(), NotTaken> {
        if let Some(why) = *self.refuses.lock().unwrap() {
            return Err(why);
        }
        self.documents.lock().unwrap().push(document.clone());
        Ok(())
    }
}

/// A server, its ledger, and the database of its tickets.
struct Desk<'w> {
    world: &'w World,
    router: Router,
    inbox: Arc<Inbox>,
    state: State,
    _folder: TempDir,
}

impl<'w> Desk<'w> {
    async fn new(world: &'w World) -> Self {
        let folder = temp_dir();
        let state = State::open(&StateUrl::in_folder(folder.path())).await.unwrap();
        let inbox = Arc::<Inbox>::default();
        let api = ApiState::new(Arc::clone(&world.slot) as Arc<_>, open_config());
        let ledger = Some(Arc::clone(&inbox) as Arc<dyn LedgerAccess>);
        let router = router(ApiState { state: Some(state.clone()), ledger, ..api });
        Desk { world, router, inbox, state, _folder: folder }
    }

    async fn ask(&self, body: &Value) -> Value {
        let reply = post(&self.router, FEEDBACK, body).await;
        assert_eq!(reply.status, 200, "{body}: {}", reply.text);
        assert_valid(FEEDBACK, &reply.body);
        reply.body["contest"].clone()
    }

    /// Takes the documents that were handed in into the ledger.
    fn drain(&self) -> Vec<Document> {
        let documents = std::mem::take(&mut *self.inbox.documents.lock().unwrap());
        let engine = self.world.engine.lock().unwrap();
        for document in &documents {
            engine.take_document(document, 1_900_000_000).unwrap();
        }
        documents
    }

    /// The claims of the address, as the detail has them.
    async fn claims(&self, address: &str) -> Vec<Value> {
        let detail = get_ok(&self.router, DETAIL, &DETAIL.replace("{address}", address)).await;
        let groups = detail["groups"].as_array().unwrap().iter();
        groups.flat_map(|group| group["claims"].as_array().unwrap().clone()).collect()
    }

    async fn state_of(&self, address: &str) -> Value {
        let card = get_ok(&self.router, TRUST, &TRUST.replace("{address}", address)).await;
        card["assessment"]["state"].clone()
    }
}

fn correction(address: &str, claim_id: &Value) -> Value {
    json!({"type": "label_correction", "address": address, "message": "this is my own wallet", "claim_id": claim_id})
}

pub fn with(body: &Value, more: Value) -> Value {
    let mut body = body.clone();
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

#[tokio::test]
async fn a_signature_of_the_key_contests_a_claim() {
    let world = &everything_world();
    let desk = Desk::new(world).await;
    let wallet = Wallet::new(7);
    let address = wallet.address().to_string();
    let own = Claim { tier: EvidenceTier::Community, level: 10, ..claim(&wallet.script(), "xyz") };
    take(world, "first", now() - 500, true, &[claim(&wallet.script(), "abc"), own]);
    assert_eq!(desk.state_of(&address).await, "labeled");
    let id = desk.claims(&address).await[0]["claim_id"].clone();
    let body = correction(&address, &id);
    let asked = desk.ask(&body).await;
    assert_eq!((&asked["state"], &asked["claim_id"]), (&json!("can_be_signed"), &id), "{asked}");
    let message = asked["message_to_sign"].as_str().unwrap();
    for words in
        ["http://cairn.test", "regtest", &address, id.as_str().unwrap(), asked["statement_sha256"].as_str().unwrap()]
    {
        assert!(message.contains(words), "{words}: {message}");
    }
    assert!(message.contains(asked["expires_at"].as_str().unwrap()));

    let contested = desk.ask(&with(&body, json!({"signed_message": message, "signature": wallet.sign(message)}))).await;
    assert_eq!((&contested["state"], &contested["message_to_sign"]), (&json!("contested"), &Value::Null));
    let documents = desk.drain();
    let cairn_events::Body::Contest(contest) = &documents[0].body else { panic!("{documents:?}") };
    assert_eq!((contest.by, contest.reason.as_str()), (ContestParty::Holder, "this is my own wallet\n"));
    assert_eq!(contest.signed.as_ref().unwrap().message, message);
    assert_eq!(desk.state_of(&address).await, "contested");
    let claims = desk.claims(&address).await;
    let of = claims.iter().find(|of| of["claim_id"] == id).unwrap();
    assert_eq!((&of["contest"]["state"], &of["contest"]["by"]), (&json!("contested"), &json!("holder")), "{of}");
    assert!(claims.iter().any(|of| of["contest"].is_null()), "only one claim is contested: {claims:?}");
    let tickets = desk.state.tickets(None, 9).await.unwrap();
    // Of one second they are in no order.
    let signed = tickets.iter().filter(|of| of.feedback.is_signed).count();
    assert_eq!((tickets.len(), signed), (2, 1));
    assert!(tickets.iter().all(|of| of.feedback.claim_id.as_deref() == id.as_str()));

    // Once is enough, and a published signature does nothing more.
    let again = desk.ask(&with(&body, json!({"signed_message": message, "signature": wallet.sign(message)}))).await;
    assert_eq!(again["state"], "already_contested");
    assert!(desk.drain().is_empty());
    // The source repeats the same words in another document: they stay contested. Other words are not.
    take(world, "first", now() - 400, true, &[claim(&wallet.script(), "abc")]);
    assert_eq!(desk.state_of(&address).await, "contested");
    take(world, "first", now() - 300, true, &[claim(&wallet.script(), "abcd")]);
    assert_eq!(desk.state_of(&address).await, "labeled");
    // The earlier claim is gone.
    let reply = post(&desk.router, FEEDBACK, &body).await;
    assert_problem(&reply, 422, "validation_error");
}

#[tokio::test]
async fn other_signatures_are_refused() {
    let world = &everything_world();
    let desk = Desk::new(world).await;
    let (wallet, other) = (Wallet::new(8), Wallet::new(9));
    let (address, others) = (wallet.address().to_string(), other.address().to_string());
    take(world, "first", now() - 500, true, &[claim(&wallet.script(), "abc"), claim(&other.script(), "abc")]);
    take(world, "second", now() - 500, true, &[claim(&wallet.script(), "xyz")]);
    let claims = desk.claims(&address).await;
    let (id, second) = (&claims[0]["claim_id"], &claims[1]["claim_id"]);
    let body = correction(&address, id);
    let message = desk.ask(&body).await["message_to_sign"].as_str().unwrap().to_owned();
    let their_id = desk.claims(&others).await[0]["claim_id"].clone();
    let theirs = desk.ask(&correction(&others, &their_id)).await["message_to_sign"].as_str().unwrap().to_owned();
    let of_second = desk.ask(&correction(&address, second)).await["message_to_sign"].as_str().unwrap().to_owned();
    let (head, nonce) = message.rsplit_once(": ").unwrap();
    let forged = format!("{head}: {}", nonce.chars().rev().collect::<String>());
    let later = message.replace("Valid until: 20", "Valid until: 21");
    let elsewhere = message.replace("regtest", "main");
    for (message, signature, field) in [
        // By another key, of another message, of another claim, address, nonce, time and network.
        (&message, other.sign(&message), "signature"),
        (&message, wallet.sign("something else"), "signature"),
        (&message, "AAAA".to_owned(), "signature"),
        (&message, "no base64!".to_owned(), "signature"),
        (&of_second, wallet.sign(&of_second), "signed_message"),
        (&theirs, other.sign(&theirs), "signed_message"),
        (&forged, wallet.sign(&forged), "signed_message"),
        (&later, wallet.sign(&later), "signed_message"),
        (&elsewhere, wallet.sign(&elsewhere), "signed_message"),
        (&"I contest it".to_owned(), wallet.sign("I contest it"), "signed_message"),
    ] {
        let reply =
            post(&desk.router, FEEDBACK, &with(&body, json!({"signed_message": message, "signature": signature})))
                .await;
        assert_problem(&reply, 422, "validation_error");
        assert_eq!(reply.body["errors"][0]["name"], field, "{message}");
    }
    let signature = wallet.sign(&message);
    for (body, field) in [
        (with(&body, json!({"signature": signature})), "signed_message"),
        (with(&body, json!({"signed_message": message})), "signature"),
        (with(&body, json!({"claim_id": their_id})), "claim_id"),
        (with(&body, json!({"type": "general"})), "claim_id"),
        (json!({"type": "general", "message": "m", "signed_message": message, "signature": signature}), "claim_id"),
    ] {
        let reply = post(&desk.router, FEEDBACK, &body).await;
        assert_problem(&reply, 422, "validation_error");
        assert_eq!(reply.body["errors"][0]["name"], field, "{body}");
    }
    assert!(desk.drain().is_empty());
    assert!(desk.state.tickets(None, 99).await.unwrap().iter().all(|of| !of.feedback.is_signed));
    // The other server of the same name does not know the message.
    let strangers = Desk::new(world).await;
    let reply =
        post(&strangers.router, FEEDBACK, &with(&body, json!({"signed_message": message, "signature": signature})))
            .await;
    assert_problem(&reply, 422, "validation_error");
}

#[tokio::test]
async fn a_listing_cannot_be_contested_and_a_server_that_cannot_write_says_so() {
    let world = &everything_world();
    let desk = Desk::new(world).await;
    let wallet = Wallet::new(10);
    let address = wallet.address().to_string();
    take(world, "ofac_one", now() - 500, true, &[listed(&wallet.script())]);
    let id = desk.claims(&address).await[0]["claim_id"].clone();
    let asked = desk.ask(&correction(&address, &id)).await;
    assert_eq!((&asked["state"], &asked["message_to_sign"]), (&json!("incontestable"), &Value::Null));
    take(world, "first", now() - 400, true, &[claim(&wallet.script(), "abc")]);
    let claims = desk.claims(&address).await;
    let id = claims.iter().find(|of| of["source"] == "first").unwrap()["claim_id"].clone();
    let body = correction(&address, &id);
    let message = desk.ask(&body).await["message_to_sign"].as_str().unwrap().to_owned();
    let body = with(&body, json!({"signed_message": message, "signature": wallet.sign(&message)}));
    for (why, says) in [(NotTaken::Unwritable, "this server cannot write"), (NotTaken::Full, "too many documents wait")]
    {
        *desk.inbox.refuses.lock().unwrap() = Some(why);
        let signed = desk.ask(&body).await;
        assert_eq!(signed["state"], "not_written");
        assert!(signed["explanation"].as_str().unwrap().contains(says), "{signed}");
    }
    assert!(desk.state.tickets(None, 99).await.unwrap().iter().any(|of| of.feedback.is_signed));
    let card = get_ok(&desk.router, TRUST, &TRUST.replace("{address}", &address)).await;
    assert_eq!(card["risk_indicator"], "direct_flag");
}
