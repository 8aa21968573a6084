//! LND's REST interface, as in lnrpc/lightning.swagger.json of version 0.21: bytes are base64, int64 and uint64 are
//! texts, and the macaroon is hex in a header (docs/macaroons.md). A macaroon with `invoices:read invoices:write
//! info:read` suffices; LND has no field for the label.

use serde::Deserialize;
use serde_json::json;

use crate::{
    BackendError, Invoice, InvoiceState, Invoices, NewInvoice, NodeInfo, PaymentHash,
    daemon::{CREATE, Daemon, LOOKUP, NODE},
    fields::{Base64Of32, Whole},
    http::Answer,
};

pub(crate) const HEADER: &str = "grpc-metadata-macaroon";

/// Words of LND about an unknown invoice (invoices/errors.go). The code alone does not suffice: an unknown path has the
/// same.
const UNKNOWN: [&str; 2] = ["unable to locate invoice", "there are no existing invoices"];
/// Words about a wrong macaroon, which has status 500 (docs/macaroons.md, macaroons/service.go).
const REFUSED: [&str; 4] = ["verification failed", "cannot get macaroon", "expected 1 macaroon", "permission denied"];

#[derive(Debug)]
pub(crate) struct Lnd(pub(crate) Daemon);

#[derive(Deserialize)]
struct AddInvoiceResponse {
    r_hash: Base64Of32,
    payment_request: String,
}

#[derive(Deserialize)]
struct LookedUp {
    r_hash: Base64Of32,
    r_preimage: Option<Base64Of32>,
    state: String,
    creation_date: Whole,
    expiry: Whole,
    settle_date: Option<Whole>,
    amt_paid_sat: Option<Whole>,
}

#[derive(Deserialize)]
struct GetInfoResponse {
    alias: Option<String>,
    chains: Vec<Chain>,
}

#[derive(Deserialize)]
struct Chain {
    network: String,
}

#[derive(Deserialize)]
struct Status {
    message: String,
}

impl Lnd {
    /// Returns what LND says about a failure. A macaroon that it does not take is an error of its own.
    fn words(&self, answer: &Answer) -> Result<String, BackendError> {
        let words =
            serde_json::from_slice(&answer.body).map_or_else(|_| answer.text(), |status: Status| status.message);
        if !answer.is_success() && REFUSED.iter().any(|refused| words.contains(refused)) {
            return Err(self.0.http.refused(&words));
        }
        Ok(words)
    }

    fn read<T: serde::de::DeserializeOwned>(&self, request: &'static str, answer: &Answer) -> Result<T, BackendError> {
        if answer.is_success() {
            return self.0.http.json(request, answer);
        }
        Err(self.0.http.failed(request, answer.status, &self.words(answer)?))
    }
}

impl Invoices for Lnd {
    fn create(&self, new: &NewInvoice) -> Result<Invoice, BackendError> {
        let body = json!({
            "memo": new.memo(),
            "value": new.amount_sats().to_string(),
            "expiry": new.expiry_secs().to_string(),
            "private": self.0.names_private_channels,
        });
        let answer = self.0.http.post(CREATE, "/v1/invoices", "application/json", &body.to_string())?;
        let made: AddInvoiceResponse = self.read(CREATE, &answer)?;
        self.0.checked(&made.payment_request, PaymentHash(made.r_hash.0), new)
    }

    fn lookup(&self, payment_hash: &PaymentHash) -> Result<InvoiceState, BackendError> {
        let answer = self.0.http.get(LOOKUP, &format!("/v1/invoice/{payment_hash}"))?;
        if !answer.is_success() && UNKNOWN.contains(&self.words(&answer)?.as_str()) {
            return Ok(InvoiceState::Unknown);
        }
        let found: LookedUp = self.read(LOOKUP, &answer)?;
        self.0.is_about(payment_hash, found.r_hash.0)?;
        match found.state.as_str() {
            // A payment that LND holds back is not complete.
            "OPEN" | "ACCEPTED" => Ok(InvoiceState::Open),
            "CANCELED" if found.creation_date.0.saturating_add(found.expiry.0) <= cairn_clock::now_secs() => {
                Ok(InvoiceState::Expired)
            }
            "CANCELED" => Ok(InvoiceState::Cancelled),
            "SETTLED" => self.0.paid(
                payment_hash,
                found.r_preimage.map(|bytes| bytes.0),
                found.settle_date.map(|date| date.0),
                found.amt_paid_sat.map(|sats| sats.0),
            ),
            other => Err(self.0.http.wrong(LOOKUP, &format!("the state {other:?} is unknown"))),
        }
    }

    fn node(&self) -> Result<NodeInfo, BackendError> {
        let answer = self.0.http.get(NODE, "/v1/getinfo")?;
        let info: GetInfoResponse = self.read(NODE, &answer)?;
        let [chain] = info.chains.as_slice() else {
            return Err(self.0.http.wrong(NODE, &format!("it names {} chains instead of one", info.chains.len())));
        };
        self.0.node_on(&chain.network, info.alias.as_deref())
    }
}
