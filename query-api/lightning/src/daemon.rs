//! Parts that the three daemons share.

use cairn_model::{Network, one_line};

use crate::{BackendError, Invoice, InvoiceState, NewInvoice, NodeInfo, PaymentHash, Preimage, bolt11, http::Http};

const MAX_ALIAS_CHARS: usize = 64;

/// The requests, as errors name them.
pub(crate) const CREATE: &str = "the request for an invoice";
pub(crate) const LOOKUP: &str = "the look-up of an invoice";
pub(crate) const NODE: &str = "the request for node info";

#[derive(Debug)]
pub(crate) struct Daemon {
    pub(crate) http: Http,
    pub(crate) network: Network,
    /// Invoices name channels that are not public, so that a node with such channels only can be paid.
    pub(crate) names_private_channels: bool,
}

impl Daemon {
    /// Compares a new invoice with its request.
    pub(crate) fn checked(
        &self,
        bolt11: &str,
        payment_hash: PaymentHash,
        new: &NewInvoice,
    ) -> Result<Invoice, BackendError> {
        bolt11::check(bolt11, &payment_hash, new, self.network, cairn_clock::now_secs())
            .map_err(|reason| self.http.wrong(CREATE, &reason))
    }

    /// Refuses an answer about another invoice.
    pub(crate) fn is_about(&self, asked: &PaymentHash, found: [u8; 32]) -> Result<(), BackendError> {
        if found == asked.0 {
            return Ok(());
        }
        Err(self.http.wrong(LOOKUP, "it is about an invoice with another payment hash"))
    }

    /// Builds the state of a paid invoice, if the preimage proves it.
    pub(crate) fn paid(
        &self,
        asked: &PaymentHash,
        preimage: Option<[u8; 32]>,
        paid_at: Option<u64>,
        received_sats: Option<u64>,
    ) -> Result<InvoiceState, BackendError> {
        let (Some(preimage), Some(paid_at), Some(received_sats)) = (preimage, paid_at, received_sats) else {
            return Err(self.http.wrong(LOOKUP, "the invoice is paid, but preimage, time or amount is missing"));
        };
        let preimage = Preimage::new(preimage);
        if !preimage.opens(asked) {
            return Err(self.http.wrong(LOOKUP, "the preimage does not have the payment hash of the invoice"));
        }
        Ok(InvoiceState::Paid { preimage, paid_at, received_sats })
    }

    /// Compares the network of the node with that of the configuration.
    pub(crate) fn node_on(&self, network: &str, alias: Option<&str>) -> Result<NodeInfo, BackendError> {
        if network_named(network) != Some(self.network) {
            return Err(BackendError::WrongNetwork {
                backend: self.http.backend(),
                found: one_line(network, MAX_ALIAS_CHARS),
                expected: self.network,
            });
        }
        let alias = alias.map(|alias| one_line(alias, MAX_ALIAS_CHARS)).filter(|alias| !alias.is_empty());
        Ok(NodeInfo { network: self.network, alias })
    }
}

/// The network that a daemon names. LND and Core Lightning call testnet3 `testnet`; Core Lightning calls mainnet
/// `bitcoin`.
fn network_named(name: &str) -> Option<Network> {
    Some(match name {
        "mainnet" | "bitcoin" => Network::Main,
        "testnet" | "testnet3" => Network::Testnet3,
        "testnet4" => Network::Testnet4,
        "signet" => Network::Signet,
        "regtest" => Network::Regtest,
        _ => return None,
    })
}
