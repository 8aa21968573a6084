//! A client of x402 that pays with the key of EIP-712's example, and a facilitator that does as a test says.

use std::{
    collections::VecDeque,
    sync::{
        Condvar, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use bitcoin::{
    hashes::Hash,
    secp256k1::{Message, Secp256k1, SecretKey},
};
use cairn_access::X402Settings;
use cairn_x402::{
    Address, Attempt, Eip712Name, Facilitator, FacilitatorError, Network, Payment, PaymentRequirements, Refusal,
    ResourceInfo, Scheme, SettleOutcome, Supported, Uncertainty, VerifyOutcome, decode_payment_signature, verify,
};
use serde_json::{Value, json};

/// keccak256("cow"), and its account.
const KEY: &str = "c85ef7d79691fe79573b1a7064c19c1a9819ebdbd1faaab1a8ec92344438aaf4";
pub const PAYER: &str = "0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826";
/// The contract of USDC on Base Sepolia, and the account that is paid.
pub const ASSET: &str = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";
pub const PAY_TO: &str = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
/// The transaction of every settlement.
pub const TRANSACTION: &str = "0xcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd";

/// The token's domain.
pub fn domain() -> Eip712Name {
    Eip712Name { name: "USDC".to_owned(), version: "2".to_owned() }
}

/// The usual settings of a seller.
pub fn settings() -> X402Settings {
    X402Settings {
        network: "eip155:84532".parse().unwrap(),
        asset: ASSET.parse().unwrap(),
        domain: domain(),
        decimals: 6,
        pay_to: PAY_TO.parse().unwrap(),
        max_timeout_seconds: 60,
        contract_wallets: false,
        is_open: true,
    }
}

/// The JSON in a header of x402.
pub fn decoded(header: &str) -> Value {
    serde_json::from_slice(&STANDARD.decode(header).unwrap()).unwrap()
}

/// A header of x402 with this JSON.
pub fn encoded(message: &Value) -> String {
    STANDARD.encode(message.to_string())
}

/// A number for a nonce that no other test has.
pub fn nonce(seed: &str) -> String {
    format!("0x{}", hex::encode(bitcoin::hashes::sha256::Hash::hash(seed.as_bytes()).to_byte_array()))
}

/// A payment for the first offer in `PaymentRequired`, valid from a minute before `now` until a minute after.
pub fn payment(required: &Value, nonce: &str, now: u64) -> Value {
    let offer = &required["accepts"][0];
    let mut payment = json!({
        "x402Version": 2,
        "resource": required["resource"],
        "accepted": offer,
        "payload": {
            "signature": "0x00",
            "authorization": {
                "from": PAYER,
                "to": offer["payTo"],
                "value": offer["amount"],
                "validAfter": (now - 60).to_string(),
                "validBefore": (now + 60).to_string(),
                "nonce": nonce,
            },
        },
    });
    let digest = digest(&payment, now);
    let key = SecretKey::from_slice(&hex::decode(KEY).unwrap()).unwrap();
    let signature = Secp256k1::new().sign_ecdsa_recoverable(&Message::from_digest(digest), &key);
    let (id, numbers) = signature.serialize_compact();
    payment["payload"]["signature"] = format!("0x{}{:02x}", hex::encode(numbers), 27 + id.to_i32()).into();
    payment
}

/// The hash to sign. The library returns it for a payment with a signature that only the chain could check.
fn digest(unsigned: &Value, now: u64) -> [u8; 32] {
    let accepted = &unsigned["accepted"];
    let text = |name: &str| accepted[name].as_str().unwrap();
    let offer = PaymentRequirements {
        scheme: Scheme::Exact,
        network: text("network").parse::<Network>().unwrap(),
        amount: text("amount").parse().unwrap(),
        asset: text("asset").parse::<Address>().unwrap(),
        pay_to: text("payTo").parse::<Address>().unwrap(),
        max_timeout_seconds: accepted["maxTimeoutSeconds"].as_u64().unwrap().try_into().unwrap(),
        extra: domain(),
    };
    let url = unsigned["resource"]["url"].as_str().unwrap().to_owned();
    let resource = ResourceInfo { url, description: None, mime_type: None };
    let payload = decode_payment_signature(encoded(unsigned).as_bytes()).unwrap();
    match verify(payload, &[offer], &resource, now) {
        Err(Refusal::UnsupportedSignature(payment)) => *payment.digest(),
        other => panic!("{other:?}"),
    }
}

/// A facilitator that answers as a test says, in this order; afterwards every payment is good.
#[derive(Default)]
pub struct Fake {
    pub verdicts: Mutex<VecDeque<Result<VerifyOutcome, FacilitatorError>>>,
    pub outcomes: Mutex<VecDeque<Outcome>>,
    /// The calls so far.
    pub calls: Mutex<Vec<String>>,
    /// While true, settling waits, or checks do, too.
    held: Mutex<bool>,
    holds_checks: AtomicBool,
    freed: Condvar,
}

/// The end of a settlement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    Settled,
    Refused,
    Unclear,
    NotSent,
    Panic,
}

impl Fake {
    /// Has the next settlements end like this.
    pub fn settles(&self, outcomes: &[Outcome]) {
        self.outcomes.lock().unwrap().extend(outcomes);
    }

    /// Has the next check end like this.
    pub fn says(&self, verdict: Result<VerifyOutcome, FacilitatorError>) {
        self.verdicts.lock().unwrap().push_back(verdict);
    }

    /// Takes the calls so far.
    pub fn called(&self) -> Vec<String> {
        std::mem::take(&mut *self.calls.lock().unwrap())
    }

    /// Lets settlements wait, or go on.
    pub fn hold(&self, held: bool) {
        *self.held.lock().unwrap() = held;
        self.freed.notify_all();
    }

    /// Lets checks wait while settlements do, or no longer.
    pub fn hold_checks(&self, held: bool) {
        let _held = self.held.lock().unwrap();
        self.holds_checks.store(held, Ordering::SeqCst);
        self.freed.notify_all();
    }

    fn wait(&self, is_held: impl Fn() -> bool) {
        let held = self.held.lock().unwrap();
        drop(self.freed.wait_timeout_while(held, Duration::from_secs(60), |held| *held && is_held()).unwrap());
    }
}

impl Facilitator for Fake {
    fn supported(&self) -> Result<Supported, FacilitatorError> {
        Ok(Supported { kinds: Vec::new() })
    }

    fn verify(&self, _: &Payment) -> Result<VerifyOutcome, FacilitatorError> {
        self.calls.lock().unwrap().push("verify".to_owned());
        self.wait(|| self.holds_checks.load(Ordering::SeqCst));
        self.verdicts.lock().unwrap().pop_front().unwrap_or(Ok(VerifyOutcome::Valid))
    }

    fn settle(&self, payment: &Payment, attempt: Attempt) -> SettleOutcome {
        self.calls.lock().unwrap().push(format!("settle {attempt:?}"));
        let outcome = self.outcomes.lock().unwrap().pop_front().unwrap_or(Outcome::Settled);
        self.wait(|| true);
        match outcome {
            Outcome::Settled => SettleOutcome::Settled {
                transaction: TRANSACTION.to_owned(),
                network: payment.offer().network,
                payer: payment.transfer().from,
            },
            Outcome::Refused => SettleOutcome::Refused { reason: "insufficient_funds".to_owned() },
            Outcome::Unclear => SettleOutcome::Indeterminate {
                why: Uncertainty::NoAnswer(FacilitatorError::TimedOut(Duration::from_secs(90))),
            },
            Outcome::NotSent => SettleOutcome::NotSent { why: FacilitatorError::Unreachable("refused".to_owned()) },
            Outcome::Panic => panic!("the facilitator's client fails"),
        }
    }
}
