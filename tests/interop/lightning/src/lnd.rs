//! A node behind an interface in the form of LND's REST, as in lnrpc/lightning.swagger.json and
//! lnrpc/routerrpc/router.swagger.json (03cf923): what Cairn asks the shop, and what a client asks its wallet.
//! Invoices name private channels whether they are asked to or not, because a node of ours has no other channels.

use std::{
    collections::HashMap,
    io::Read,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use ldk_node::{
    Node, NodeError,
    bitcoin::hashes::Hash,
    lightning::ln::channelmanager::PaymentId,
    lightning_invoice::{Bolt11Invoice, Bolt11InvoiceDescription, Description},
    payment::{PaymentDetails, PaymentKind, PaymentStatus},
};
use serde_json::{Value, json};
use tiny_http::{Header, Method, Request, Response, Server};

use crate::{Result, pair::balances};

const HEADER: &str = "Grpc-Metadata-macaroon";
/// Longer than the 32 bytes of a private key, which Cairn refuses as a credential.
const CREDENTIAL_BYTES: usize = 48;
/// Requests that are answered concurrently: a payment occupies a thread until it ends.
const THREADS: usize = 16;
const MAX_BODY_BYTES: u64 = 64 << 10;
const MAX_PAYMENT_TIME: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(10);

/// Codes of gRPC.
mod code {
    pub(super) const UNKNOWN: u32 = 2;
    pub(super) const INVALID_ARGUMENT: u32 = 3;
    pub(super) const NOT_FOUND: u32 = 5;
    pub(super) const ALREADY_EXISTS: u32 = 6;
}

/// A failure as LND answers it.
struct Failure {
    status: u16,
    code: u32,
    message: String,
}

type Answer = std::result::Result<Value, Failure>;

fn failure(status: u16, code: u32, message: impl ToString) -> Failure {
    Failure { status, code, message: message.to_string() }
}

fn internal(error: impl ToString) -> Failure {
    failure(500, code::UNKNOWN, error)
}

/// The interface of one node.
pub(crate) struct Lnd {
    node: Arc<Node>,
    url: String,
    /// Credential for invoices and node info, in hex.
    invoices: String,
    /// Credential for everything, in hex.
    admin: String,
    /// The node's own invoices by payment hash, since `ldk-node` keeps only the payments.
    made: Mutex<HashMap<[u8; 32], Bolt11Invoice>>,
}

impl Lnd {
    /// Starts to serve a node on a free port.
    pub(crate) fn serve(node: Arc<Node>) -> Result<Arc<Self>> {
        let server = Arc::new(Server::http("127.0.0.1:0")?);
        let credential = || hex::encode(rand::random::<[u8; CREDENTIAL_BYTES]>());
        let lnd = Arc::new(Self {
            node,
            url: format!("http://{}", server.server_addr()),
            invoices: credential(),
            admin: credential(),
            made: Mutex::default(),
        });
        for _ in 0..THREADS {
            let (server, lnd) = (Arc::clone(&server), Arc::clone(&lnd));
            thread::spawn(move || server.incoming_requests().for_each(|request| lnd.respond(request)));
        }
        Ok(lnd)
    }

    /// Returns what a client needs to use this interface.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "url": self.url,
            "pubkey": self.node.node_id().to_string(),
            "invoices": self.invoices,
            "admin": self.admin,
        })
    }

    fn respond(&self, mut request: Request) {
        let (status, body) = match self.answer(&mut request) {
            Ok(body) => (200, body),
            Err(Failure { status, code, message }) => {
                (status, json!({ "code": code, "message": message, "details": [] }))
            }
        };
        let response = Response::from_string(format!("{body}\n")).with_status_code(status);
        let json = Header::from_bytes("content-type", "application/json").ok();
        // A client that is gone needs no answer.
        let _ = request.respond(json.into_iter().fold(response, Response::with_header));
    }

    fn answer(&self, request: &mut Request) -> Answer {
        let (method, path) = (request.method().clone(), request.url().to_owned());
        let is_admin = self.is_admin(request)?;
        let mut body = String::new();
        request.as_reader().take(MAX_BODY_BYTES).read_to_string(&mut body).map_err(internal)?;
        match (method, path.as_str()) {
            (Method::Get, "/v1/getinfo") => Ok(self.info()),
            (Method::Post, "/v1/invoices") => self.create(&body),
            (Method::Get, path) if path.starts_with("/v1/invoice/") => self.look_up(&path["/v1/invoice/".len()..]),
            (Method::Get, "/v1/balance/channels") if is_admin => self.channel_balance(),
            (Method::Post, "/v2/router/send") if is_admin => self.pay(&body),
            (Method::Get, "/v1/balance/channels") | (Method::Post, "/v2/router/send") => {
                Err(internal("permission denied"))
            }
            _ => Err(failure(404, code::NOT_FOUND, "Not Found")),
        }
    }

    /// True if the credential allows everything.
    fn is_admin(&self, request: &Request) -> std::result::Result<bool, Failure> {
        let header = request.headers().iter().find(|header| header.field.equiv(HEADER));
        match header.map(|header| header.value.as_str()) {
            Some(value) if value == self.admin => Ok(true),
            Some(value) if value == self.invoices => Ok(false),
            Some(_) => Err(internal("verification failed: signature mismatch after caveat verification")),
            None => Err(internal("expected 1 macaroon, got 0")),
        }
    }

    fn info(&self) -> Value {
        let status = self.node.status();
        let channels = self.node.list_channels();
        json!({
            "alias": self.node.node_alias().map(|alias| alias.to_string()),
            "identity_pubkey": self.node.node_id().to_string(),
            "chains": [{ "chain": "bitcoin", "network": "regtest" }],
            "block_height": status.current_best_block.height,
            "num_active_channels": channels.iter().filter(|channel| channel.is_usable).count(),
        })
    }

    fn create(&self, body: &str) -> Answer {
        let wrong = |error: &dyn ToString| failure(400, code::INVALID_ARGUMENT, error.to_string());
        let asked: Value = serde_json::from_str(body).map_err(|error| wrong(&error))?;
        let sats = number(&asked["value"]).ok_or_else(|| wrong(&"value is not an int64"))?;
        let expiry = number(&asked["expiry"]).and_then(|secs| u32::try_from(secs).ok());
        let expiry_secs = expiry.ok_or_else(|| wrong(&"expiry is not a number of seconds"))?;
        let memo = asked["memo"].as_str().unwrap_or_default().to_owned();
        let description = Bolt11InvoiceDescription::Direct(Description::new(memo).map_err(|error| wrong(&error))?);
        let invoice = self.node.bolt11_payment().receive(sats * 1_000, &description, expiry_secs).map_err(internal)?;
        let hash = invoice.payment_hash().to_byte_array();
        let text = invoice.to_string();
        self.made.lock().unwrap_or_else(PoisonError::into_inner).insert(hash, invoice);
        Ok(json!({ "r_hash": STANDARD.encode(hash), "payment_request": text, "add_index": "1" }))
    }

    fn look_up(&self, hash: &str) -> Answer {
        let mut bytes = [0; 32];
        hex::decode_to_slice(hash, &mut bytes).map_err(|error| failure(400, code::INVALID_ARGUMENT, error))?;
        let invoice = self.made.lock().unwrap_or_else(PoisonError::into_inner).get(&bytes).cloned();
        let payment = self.node.payment(&PaymentId(bytes));
        let (Some(invoice), Some(payment)) = (invoice, payment) else {
            return Err(failure(404, code::NOT_FOUND, "unable to locate invoice"));
        };
        let is_paid = payment.status == PaymentStatus::Succeeded;
        let state = match payment.status {
            PaymentStatus::Succeeded => "SETTLED",
            PaymentStatus::Pending if !invoice.is_expired() => "OPEN",
            PaymentStatus::Pending | PaymentStatus::Failed => "CANCELED",
        };
        let msat = invoice.amount_milli_satoshis().unwrap_or_default();
        let paid_msat = payment.amount_msat.filter(|_| is_paid).unwrap_or_default();
        let settled_at = if is_paid { payment.latest_update_timestamp } else { 0 };
        Ok(json!({
            "memo": invoice.description().to_string(),
            "r_preimage": preimage(&payment).map(|bytes| STANDARD.encode(bytes)),
            "r_hash": STANDARD.encode(bytes),
            "value": (msat / 1_000).to_string(),
            "value_msat": msat.to_string(),
            "settled": is_paid,
            "creation_date": invoice.duration_since_epoch().as_secs().to_string(),
            "settle_date": settled_at.to_string(),
            "payment_request": invoice.to_string(),
            "expiry": invoice.expiry_time().as_secs().to_string(),
            "amt_paid_sat": (paid_msat / 1_000).to_string(),
            "amt_paid_msat": paid_msat.to_string(),
            "state": state,
        }))
    }

    fn channel_balance(&self) -> Answer {
        let balances = balances(&self.node).map_err(internal)?;
        let amount = |msat: u64| json!({ "sat": (msat / 1_000).to_string(), "msat": msat.to_string() });
        Ok(json!({
            "local_balance": amount(balances.local_msat),
            "remote_balance": amount(balances.remote_msat),
        }))
    }

    /// Pays an invoice, and answers with the last update only: LND streams also those before it.
    fn pay(&self, body: &str) -> Answer {
        let asked: Value = serde_json::from_str(body).map_err(internal)?;
        let invoice: Bolt11Invoice = asked["payment_request"]
            .as_str()
            .unwrap_or_default()
            .parse()
            .map_err(|error| internal(format!("{error:?}")))?;
        let id = match self.node.bolt11_payment().send(&invoice, None) {
            Ok(id) => id,
            Err(NodeError::DuplicatePayment) => {
                return Err(failure(409, code::ALREADY_EXISTS, "invoice is already paid"));
            }
            Err(error) => return Err(internal(error)),
        };
        let began = Instant::now();
        let payment = loop {
            match self.node.payment(&id) {
                Some(payment) if payment.status != PaymentStatus::Pending => break payment,
                _ if began.elapsed() > MAX_PAYMENT_TIME => return Err(internal("the payment is still in flight")),
                _ => thread::sleep(POLL),
            }
        };
        let is_paid = payment.status == PaymentStatus::Succeeded;
        // Here the preimage is hex, other than in an invoice: the field is a string.
        Ok(json!({ "result": {
            "payment_hash": hex::encode(id.0),
            "payment_preimage": preimage(&payment).filter(|_| is_paid).map(hex::encode).unwrap_or_default(),
            "value_msat": payment.amount_msat.unwrap_or_default().to_string(),
            "fee_msat": payment.fee_paid_msat.unwrap_or_default().to_string(),
            "payment_request": invoice.to_string(),
            "status": if is_paid { "SUCCEEDED" } else { "FAILED" },
            "failure_reason": if is_paid { "FAILURE_REASON_NONE" } else { "FAILURE_REASON_ERROR" },
        } }))
    }
}

/// Reads an int64, which is a text in JSON of protocol buffers.
fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

fn preimage(payment: &PaymentDetails) -> Option<[u8; 32]> {
    match &payment.kind {
        PaymentKind::Bolt11 { preimage, .. } => preimage.map(|preimage| preimage.0),
        _ => None,
    }
}
