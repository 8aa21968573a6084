//! The simulated backend: states, payments, and stores that several processes share.
#![allow(clippy::unwrap_used, missing_docs)]

use std::{sync::Arc, thread};

use cairn_lightning::{
    BackendError, InvoiceState, InvoiceStore, Invoices, MAX_STORED_INVOICES, MemoryStore, NewInvoice, PayError,
    PaymentHash, Preimage, Secret, Simulated, StoreError, StoredInvoice, decode,
};
use cairn_model::Network;

const KEY: &str = "e126f68f7eafcc8b74f54d269fe206be715000f94dac067d1c04a8ca3b2db734";

fn simulated(store: &Arc<MemoryStore>) -> Simulated {
    Simulated::new(Network::Regtest, &Secret::new(KEY), Arc::clone(store) as _).unwrap()
}

fn new(label: &str) -> NewInvoice {
    NewInvoice::new(7, "m", 600, label).unwrap()
}

#[test]
fn an_invoice_is_made_and_paid_once() {
    let store = Arc::new(MemoryStore::default());
    let simulated = simulated(&store);
    let invoice = simulated.create(&new("a")).unwrap();
    assert_eq!(simulated.lookup(&invoice.payment_hash), Ok(InvoiceState::Open));
    assert_eq!(simulated.lookup(&PaymentHash([0; 32])), Ok(InvoiceState::Unknown));
    assert_eq!(simulated.node().unwrap().network, Network::Regtest);
    // Wallets read QR codes in upper case.
    let preimage = simulated.pay(&invoice.bolt11.to_uppercase()).unwrap();
    assert!(preimage.opens(&decode(&invoice.bolt11).unwrap().payment_hash));
    let state = simulated.lookup(&invoice.payment_hash).unwrap();
    assert!(matches!(state, InvoiceState::Paid { preimage: shown, received_sats: 7, .. } if shown == preimage));
    assert_eq!(simulated.pay(&invoice.bolt11), Err(PayError::AlreadyPaid));
    assert_eq!(simulated.create(&new("a")), Err(BackendError::DuplicateLabel));
    let shown = format!("{simulated:?} {state:?} {:?}", store.get(&invoice.payment_hash));
    assert!(!shown.contains(KEY) && !shown.contains(&hex::encode(preimage.as_bytes())), "{shown}");
}

#[test]
fn only_its_own_invoices_are_paid() {
    let (own, other) = (Arc::new(MemoryStore::default()), Arc::new(MemoryStore::default()));
    let foreign = simulated(&other).create(&new("a")).unwrap();
    for text in [foreign.bolt11.as_str(), "", "lnbcrt1", "hello"] {
        assert_eq!(simulated(&own).pay(text), Err(PayError::NotOurs), "{text}");
    }
    // The hash of a stored invoice in another invoice, which someone else signed.
    let stored = other.get(&foreign.payment_hash).unwrap().unwrap();
    let changed = StoredInvoice { bolt11: "lnbcrt1".to_owned(), ..stored };
    own.insert(changed).unwrap();
    assert_eq!(simulated(&own).pay(&foreign.bolt11), Err(PayError::NotOurs));
}

/// Two backends with one store, as two processes with one database have it.
#[test]
fn a_shared_store_is_one_backend_and_races_have_one_winner() {
    let store = Arc::new(MemoryStore::default());
    let invoice = simulated(&store).create(&new("a")).unwrap();
    let paid: usize = thread::scope(|scope| {
        let pay = || usize::from(simulated(&store).pay(&invoice.bolt11).is_ok());
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(pay)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(paid, 1);
    assert!(matches!(simulated(&store).lookup(&invoice.payment_hash), Ok(InvoiceState::Paid { .. })));
}

#[test]
fn a_store_in_memory_has_a_limit() {
    let store = MemoryStore::default();
    let row = |number: usize| {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&number.to_be_bytes());
        let preimage = Preimage::new(bytes);
        StoredInvoice {
            label: number.to_string(),
            payment_hash: preimage.payment_hash(),
            preimage,
            bolt11: String::new(),
            amount_sats: 1,
            expires_at: 0,
            paid_at: None,
        }
    };
    (0..100).for_each(|number| store.insert(row(number)).unwrap());
    assert_eq!(store.insert(row(5)), Err(StoreError::Duplicate));
    assert_eq!(store.insert(StoredInvoice { label: "5".to_owned(), ..row(100) }), Err(StoreError::Duplicate));
    (100..MAX_STORED_INVOICES).for_each(|number| store.insert(row(number)).unwrap());
    assert_eq!(store.insert(row(MAX_STORED_INVOICES)), Err(StoreError::Full(MAX_STORED_INVOICES)));
    assert_eq!(store.mark_paid(&row(3).payment_hash, 9), Ok(true));
    assert_eq!(store.mark_paid(&row(3).payment_hash, 10), Ok(false));
    assert_eq!(store.mark_paid(&PaymentHash([9; 32]), 9), Ok(false));
    assert_eq!(store.get(&row(3).payment_hash).unwrap().unwrap().paid_at, Some(9));
}
