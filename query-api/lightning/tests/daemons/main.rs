//! The three daemons, by a server that speaks as their documentation says. The invoices in its answers are made by the
//! simulated backend; `tests/vectors.rs` holds that one against other programs.
#![allow(clippy::unwrap_used, missing_docs)]

mod core_lightning;
mod hostile;
mod lnd;
mod phoenixd;
mod server;
mod tls;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use cairn_lightning::{
    BackendConfig, BackendKind, Credential, Invoice, Invoices, MemoryStore, NewInvoice, Secret, Simulated,
};
use cairn_model::Network;

/// The private key of BOLT 11's examples.
pub(crate) const KEY: &str = "e126f68f7eafcc8b74f54d269fe206be715000f94dac067d1c04a8ca3b2db734";

/// A macaroon, a rune and a password of the lengths of real ones; none of them opens anything.
pub(crate) const SECRETS: [&str; 3] = [
    "0201036c6e640224030a1000000000000000000000000000000000120130",
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA9MA==",
    "hunter2",
];

pub(crate) fn config(kind: BackendKind, address: SocketAddr) -> BackendConfig {
    let secret = match kind {
        BackendKind::Lnd => SECRETS[0],
        BackendKind::CoreLightning => SECRETS[1],
        _ => SECRETS[2],
    };
    BackendConfig {
        kind,
        network: Network::Regtest,
        url: Some(format!("http://{address}")),
        credential: Some(Credential::Value(Secret::new(secret))),
        certificate: None,
        allows_http: false,
        names_private_channels: false,
        timeout: Duration::from_millis(2_000),
    }
}

pub(crate) fn connect(kind: BackendKind, address: SocketAddr) -> Box<dyn Invoices> {
    config(kind, address).to_backend(None).unwrap()
}

pub(crate) fn new_invoice() -> NewInvoice {
    NewInvoice::new(25, "wallet_summary: é & more", 600, "c-1").unwrap()
}

/// A node that makes the invoices of a fixture, one after the other.
pub(crate) struct Node(Simulated);

impl Node {
    pub(crate) fn new() -> Self {
        let store = Arc::new(MemoryStore::default());
        Node(Simulated::new(Network::Regtest, &Secret::new(KEY), store).unwrap())
    }

    pub(crate) fn make(&self, amount_sats: u64, memo: &str, expiry_secs: u32) -> Invoice {
        static LABEL: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let label = LABEL.fetch_add(1, std::sync::atomic::Ordering::Relaxed).to_string();
        self.0.create(&NewInvoice::new(amount_sats, memo, expiry_secs, &label).unwrap()).unwrap()
    }
}

/// The first invoice of doc/schemas/invoice.json of Core Lightning at 090f4b0e.
pub(crate) fn core_lightning_example() -> &'static str {
    concat!(
        "lnbcrt100n1pne035qsp5y8u28zlrv6tjrrfdkgkthjnzrkt0ls9x8u6ctpsr2xcajp0h9npqpp5wfum2qapgdzzvljxfq5a5fhu47jwt2yud",
        "4395g4ex3dgwj7lh0usdp9f9h8vmmfvdjjqer9wd3hy6tsw35k7m3qdsenzxqyjw5qcqp9rzjqvuytqpdyk6wqaxvl47d3vee5swuwklej79qx",
        "jqqg394r4ptqaue5qqqwcqqqqgqqqqqqqqpqqqqqzsqqc9qxpqysgq3uaax0yvqa6prnqcrgm0s3638d6nqc0gn5a8fkgx4m85pkwgf4xr9mrd",
        "725zfzchddd2zpn3mfj9ngzgasp0l348awh977fyjltwz4gq0gwxr0"
    )
}
