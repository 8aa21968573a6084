//! phoenixd's API, as in its reference for version 0.8 (phoenix.acinq.co/server/api), Api.kt and JsonSerializers.kt:
//! requests are forms, the user of Basic is empty, times are milliseconds, errors are bare texts. The password
//! `http-password-limited-access` suffices: it cannot spend.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;

use crate::{
    BackendError, Invoice, InvoiceState, Invoices, NewInvoice, NodeInfo, PaymentHash,
    daemon::{CREATE, Daemon, LOOKUP, NODE},
    fields::Hex32,
};

/// Words about an unknown payment, and, where the server replaces these, about any other 404 (Api.kt, `StatusPages`).
const UNKNOWN: [&str; 2] = ["Not found", "Unknown endpoint (check api doc)"];

#[derive(Debug)]
pub(crate) struct Phoenixd(pub(crate) Daemon);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeneratedInvoice {
    payment_hash: Hex32,
    serialized: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct IncomingPayment {
    payment_hash: Hex32,
    /// Present before the payment too: it is a secret until then.
    preimage: Option<Hex32>,
    is_paid: bool,
    is_expired: bool,
    /// After phoenixd's fees, which may exceed a small payment.
    received_sat: i64,
    completed_at: Option<u64>,
}

#[derive(Deserialize)]
struct Info {
    chain: String,
}

impl Invoices for Phoenixd {
    fn create(&self, new: &NewInvoice) -> Result<Invoice, BackendError> {
        let form = format!(
            "description={}&amountSat={}&expirySeconds={}&externalId={}",
            utf8_percent_encode(new.memo(), NON_ALPHANUMERIC),
            new.amount_sats(),
            new.expiry_secs(),
            utf8_percent_encode(new.label(), NON_ALPHANUMERIC),
        );
        let answer = self.0.http.post(CREATE, "/createinvoice", "application/x-www-form-urlencoded", &form)?;
        let made: GeneratedInvoice = self.0.http.json(CREATE, &answer)?;
        self.0.checked(&made.serialized, PaymentHash(made.payment_hash.0), new)
    }

    fn lookup(&self, payment_hash: &PaymentHash) -> Result<InvoiceState, BackendError> {
        let answer = self.0.http.get(LOOKUP, &format!("/payments/incoming/{payment_hash}"))?;
        if answer.status == 404 && UNKNOWN.contains(&answer.text().trim()) {
            return Ok(InvoiceState::Unknown);
        }
        let found: IncomingPayment = self.0.http.json(LOOKUP, &answer)?;
        self.0.is_about(payment_hash, found.payment_hash.0)?;
        match (found.is_paid, found.is_expired) {
            (true, _) => self.0.paid(
                payment_hash,
                found.preimage.map(|bytes| bytes.0),
                found.completed_at.map(|milliseconds| milliseconds / 1_000),
                Some(u64::try_from(found.received_sat).unwrap_or(0)),
            ),
            (false, true) => Ok(InvoiceState::Expired),
            (false, false) => Ok(InvoiceState::Open),
        }
    }

    fn node(&self) -> Result<NodeInfo, BackendError> {
        let answer = self.0.http.get(NODE, "/getinfo")?;
        let info: Info = self.0.http.json(NODE, &answer)?;
        self.0.node_on(&info.chain, None)
    }
}
