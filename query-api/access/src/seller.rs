//! Makes invoices for offers.

use std::sync::Arc;

use cairn_lightning::{BackendKind, Invoices};

use crate::{flights::Flights, invoicing::Invoicing};

/// Makes the invoices of offers.
pub(crate) struct Seller {
    pub(crate) invoicing: Invoicing,
    pub(crate) flights: Flights,
    /// Name of the daemon's kind.
    pub(crate) provider: &'static str,
    /// True if nothing is paid in truth.
    pub(crate) is_simulated: bool,
}

impl Seller {
    pub(crate) fn new(kind: BackendKind, daemon: Arc<dyn Invoices>) -> Self {
        Seller {
            invoicing: Invoicing::new(daemon),
            flights: Flights::default(),
            provider: kind.name(),
            is_simulated: kind == BackendKind::Simulated,
        }
    }
}
