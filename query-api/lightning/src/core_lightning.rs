//! Core Lightning's REST interface (plugins/rest-plugin, `clnrest`), with invoice, listinvoices and getinfo of
//! doc/schemas of version 26.06. Success has status 201; the rune is in a header. A rune for these three methods
//! suffices.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    BackendError, Invoice, InvoiceState, Invoices, NewInvoice, NodeInfo, PaymentHash,
    daemon::{CREATE, Daemon, LOOKUP, NODE},
    fields::{Hex32, Msat, Whole},
};

pub(crate) const HEADER: &str = "rune";

/// Code of an invoice whose label exists (doc/schemas/invoice.json, errors).
const LABEL_EXISTS: i64 = 900;

#[derive(Debug)]
pub(crate) struct CoreLightning(pub(crate) Daemon);

#[derive(Deserialize)]
struct Made {
    bolt11: String,
    payment_hash: Hex32,
}

#[derive(Deserialize)]
struct ListInvoices {
    invoices: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    payment_hash: Hex32,
    status: String,
    payment_preimage: Option<Hex32>,
    paid_at: Option<Whole>,
    amount_received_msat: Option<Msat>,
}

#[derive(Deserialize)]
struct GetInfo {
    network: String,
    alias: Option<String>,
}

#[derive(Deserialize)]
struct RpcError {
    code: Option<i64>,
    message: String,
}

impl CoreLightning {
    fn call<T: serde::de::DeserializeOwned>(
        &self,
        request: &'static str,
        path: &str,
        parameters: &Value,
    ) -> Result<T, BackendError> {
        let answer = self.0.http.post(request, path, "application/json", &parameters.to_string())?;
        if answer.is_success() {
            return self.0.http.json(request, &answer);
        }
        match serde_json::from_slice::<RpcError>(&answer.body) {
            Ok(RpcError { code: Some(LABEL_EXISTS), .. }) => Err(BackendError::DuplicateLabel),
            Ok(error) => Err(self.0.http.failed(request, answer.status, &error.message)),
            Err(_) => Err(self.0.http.failed(request, answer.status, &answer.text())),
        }
    }
}

impl Invoices for CoreLightning {
    fn create(&self, new: &NewInvoice) -> Result<Invoice, BackendError> {
        let mut parameters = json!({
            "amount_msat": new.amount_sats().saturating_mul(1_000),
            "label": new.label(),
            "description": new.memo(),
            "expiry": new.expiry_secs(),
        });
        if self.0.names_private_channels
            && let Some(parameters) = parameters.as_object_mut()
        {
            parameters.insert("exposeprivatechannels".to_owned(), json!(true));
        }
        let made: Made = self.call(CREATE, "/v1/invoice", &parameters)?;
        self.0.checked(&made.bolt11, PaymentHash(made.payment_hash.0), new)
    }

    fn lookup(&self, payment_hash: &PaymentHash) -> Result<InvoiceState, BackendError> {
        let parameters = json!({ "payment_hash": payment_hash.to_string() });
        let list: ListInvoices = self.call(LOOKUP, "/v1/listinvoices", &parameters)?;
        let found = match list.invoices.as_slice() {
            [] => return Ok(InvoiceState::Unknown),
            [found] => found,
            more => {
                let reason = format!("it lists {} invoices for one payment hash", more.len());
                return Err(self.0.http.wrong(LOOKUP, &reason));
            }
        };
        self.0.is_about(payment_hash, found.payment_hash.0)?;
        match found.status.as_str() {
            "unpaid" => Ok(InvoiceState::Open),
            "expired" => Ok(InvoiceState::Expired),
            "paid" => self.0.paid(
                payment_hash,
                found.payment_preimage.map(|bytes| bytes.0),
                found.paid_at.map(|time| time.0),
                found.amount_received_msat.map(|msat| msat.0 / 1_000),
            ),
            other => Err(self.0.http.wrong(LOOKUP, &format!("the status {other:?} is unknown"))),
        }
    }

    fn node(&self) -> Result<NodeInfo, BackendError> {
        let info: GetInfo = self.call(NODE, "/v1/getinfo", &json!({}))?;
        self.0.node_on(&info.network, info.alias.as_deref())
    }
}
