//! The headers of a challenge.

use thiserror::Error;

use crate::macaroon::Macaroon;

/// Longest invoice in bytes. BOLT 11 sets no limit; those of usual wallets and nodes have some 300.
pub const MAX_INVOICE_BYTES: usize = 4_096;

/// The invoice is not one of BOLT 11.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("the invoice must be 1 to {MAX_INVOICE_BYTES} letters and digits; check the Lightning node that made it")]
pub struct InvoiceError;

/// Writes the value of `WWW-Authenticate` in the form of the current protocol, with the macaroon under its name of
/// today and under that of older clients.
pub fn challenge_header(macaroon: &Macaroon, invoice: &str) -> Result<String, InvoiceError> {
    let invoice = checked(invoice)?;
    let token = macaroon.to_base64();
    Ok(format!("L402 version=\"0\", token=\"{token}\", macaroon=\"{token}\", invoice=\"{invoice}\""))
}

/// Writes the value of a second `WWW-Authenticate` for clients that take nothing between the scheme and the macaroon:
/// those of aperture, and others with its regular expression. It must stand behind the first one: clients that join
/// both take the scheme from the beginning.
pub fn legacy_challenge_header(macaroon: &Macaroon, invoice: &str) -> Result<String, InvoiceError> {
    let invoice = checked(invoice)?;
    Ok(format!("LSAT macaroon=\"{}\", invoice=\"{invoice}\"", macaroon.to_base64()))
}

/// Accepts letters and digits only: clients look for nothing else, and no character can end the header or its quotes.
fn checked(invoice: &str) -> Result<&str, InvoiceError> {
    let is_bech32 = invoice.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_invoice = is_bech32 && (1..=MAX_INVOICE_BYTES).contains(&invoice.len());
    if is_invoice { Ok(invoice) } else { Err(InvoiceError) }
}
