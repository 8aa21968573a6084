//! BOLT 11 against outside truths: examples of the specification, invoices of Core Lightning's documentation, and
//! another program that reads the invoices of the simulated backend.
#![allow(clippy::unwrap_used, missing_docs)]

use std::sync::Arc;

use cairn_lightning::{DecodeError, Invoices, MemoryStore, NewInvoice, Secret, Simulated, decode};
use cairn_model::Network;
use proptest::prelude::*;

/// The private key of the specification's examples, and its public key as the examples give it.
const KEY: &str = "e126f68f7eafcc8b74f54d269fe206be715000f94dac067d1c04a8ca3b2db734";
const PAYEE: &str = "03e7156ae33b0a208d0744199163177e909e80176e55d97a2f221ede0f934dd9ad";
/// The payment hash of nearly all of them.
const HASH: &str = "0001020304050607080900010203040506070809000102030405060708090102";

/// Columns: invoice, prefix, amount in msat (`-`: none), payment hash, created at, expiry in seconds, payee (`-`: not
/// given). Lines that begin with `#` name the sources.
const VALID: &str = include_str!("vectors/valid.tsv");
/// Columns: invoice, reason.
const INVALID: &str = include_str!("vectors/invalid.tsv");
/// Decoded by `bolt11` 2.2; columns as above.
const SIMULATED: &str = include_str!("vectors/simulated.tsv");

fn rows(table: &str) -> impl Iterator<Item = Vec<&str>> {
    table.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(|line| line.split('\t').collect())
}

fn compare(table: &str) -> usize {
    let mut compared = 0;
    for row in rows(table) {
        let [invoice, prefix, amount, hash, created_at, expiry, payee] = row[..] else { panic!("{row:?}") };
        let decoded = decode(invoice).unwrap_or_else(|error| panic!("{invoice}: {error}"));
        assert_eq!(decoded.prefix, prefix, "{invoice}");
        assert_eq!(decoded.amount_msat, amount.parse().ok(), "{invoice}");
        assert_eq!(decoded.payment_hash, hash.parse().unwrap(), "{invoice}");
        let numbers = (created_at.parse().unwrap(), expiry.parse().unwrap());
        assert_eq!((decoded.created_at, decoded.expiry_secs), numbers, "{invoice}");
        assert!(payee == "-" || hex::encode(decoded.payee) == payee, "{invoice}");
        compared += 1;
    }
    compared
}

#[test]
fn published_invoices() {
    assert_eq!(compare(VALID), 20);
    let of_the_examples = rows(VALID).filter(|row| row[3] == HASH && row[6] == PAYEE).count();
    assert_eq!(of_the_examples, 14);
}

#[test]
fn published_invalid_invoices() {
    let mut refused = 0;
    for row in rows(INVALID) {
        let error = decode(row[0]).unwrap_err();
        assert!(matches!(error, DecodeError::Malformed(_)), "{}: {error}", row[1]);
        refused += 1;
    }
    assert_eq!(refused, 10);
}

fn simulated() -> Simulated {
    Simulated::new(Network::Regtest, &Secret::new(KEY), Arc::new(MemoryStore::default())).unwrap()
}

/// Invoices that the simulated backend made once, as another program read them.
#[test]
fn simulated_invoices_as_another_program_reads_them() {
    assert_eq!(compare(SIMULATED), 3);
}

/// Prints invoices to record again; see the first lines of the fixture.
#[test]
#[ignore = "prints invoices for the fixture"]
fn print_simulated_invoices() {
    let simulated = simulated();
    for (sats, memo, expiry, label) in
        [(1, "", 1, "a"), (25, "wallet_summary: é & more", 600, "b"), (1_000_000_000, "pass", 2_678_400, "c")]
    {
        println!("{}", simulated.create(&NewInvoice::new(sats, memo, expiry, label).unwrap()).unwrap().bolt11);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn simulated_invoices_have_the_fields_of_the_request(
        sats in 1u64..=1_000_000_000, memo in "\\PC{0,128}", expiry in 1u32..=2_678_400
    ) {
        let request = NewInvoice::new(sats, &memo, expiry, "a");
        prop_assume!(request.is_ok());
        let invoice = simulated().create(&request.unwrap()).unwrap();
        let decoded = decode(&invoice.bolt11).unwrap();
        prop_assert_eq!(decoded.amount_msat, Some(sats * 1_000));
        prop_assert_eq!((decoded.prefix, decoded.expiry_secs), ("bcrt", u64::from(expiry)));
        prop_assert_eq!(hex::encode(decoded.payee), PAYEE);
        prop_assert_eq!(decode(&invoice.bolt11.to_uppercase()).unwrap(), decoded);
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,300}", data in "[02-9ac-hj-np-z]{0,400}", amount in "[0-9]{0,22}[munp]?") {
        let _ = (decode(&text), decode(&format!("lnbc{amount}1{data}")));
        prop_assert_eq!(decode(&"l".repeat(4_097)), Err(DecodeError::Size));
    }

    /// A changed character is found by the checksum, but for the change of case that keeps the meaning.
    #[test]
    fn damage_is_found(row in 0usize..20, at: prop::sample::Index, to in "[ -~]") {
        let invoice = rows(VALID).nth(row).unwrap()[0].to_owned();
        let at = at.index(invoice.len());
        let mut other = invoice.clone();
        other.replace_range(at..=at, &to);
        prop_assume!(!other.eq_ignore_ascii_case(&invoice));
        prop_assert!(decode(&other).is_err(), "{other}");
    }
}
