//! Reads BOLT 11 invoices, and compares those of a backend with the request.

use std::str::FromStr;

use cairn_model::{Network, one_line};
use lightning_invoice::{Bolt11Invoice, Currency};
use thiserror::Error;

use crate::{Invoice, NewInvoice, PaymentHash};

/// Longest invoice, in bytes. It has to fit into a header of an answer; real ones have 200 to 1,500.
pub const MAX_BOLT11_BYTES: usize = 4_096;
/// Largest difference between the clocks of the node and of this machine.
pub const MAX_CLOCK_DIFFERENCE_SECS: u64 = 300;

const MAX_FLAW_CHARS: usize = 200;

/// Fields of an invoice whose checksum and signature are right.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DecodedInvoice {
    /// Prefix of its network: `bc`, `tb` (testnet3 and testnet4), `tbs`, `bcrt` or `sb` (simnet).
    pub prefix: &'static str,
    /// Its amount, in thousandths of a satoshi; `None` if the payer chooses it.
    pub amount_msat: Option<u64>,
    /// Its payment hash.
    pub payment_hash: PaymentHash,
    /// When it was made, in seconds since 1970.
    pub created_at: u64,
    /// Its validity, in seconds.
    pub expiry_secs: u64,
    /// The public key of the node that signed it.
    pub payee: [u8; 33],
}

/// A text is not an invoice.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum DecodeError {
    /// It is too long.
    #[error("the invoice is longer than {MAX_BOLT11_BYTES} bytes, the limit; copy it again")]
    Size,
    /// Its form, its checksum, a required field or its signature is wrong.
    #[error("the invoice is malformed or its signature is wrong ({0}); copy it again")]
    Malformed(String),
}

/// Reads an invoice: checksum, required fields and signature.
pub fn decode(text: &str) -> Result<DecodedInvoice, DecodeError> {
    if text.len() > MAX_BOLT11_BYTES {
        return Err(DecodeError::Size);
    }
    let invoice = Bolt11Invoice::from_str(text)
        .map_err(|error| DecodeError::Malformed(one_line(&error.to_string(), MAX_FLAW_CHARS)))?;
    let prefix = match invoice.currency() {
        Currency::Bitcoin => "bc",
        Currency::BitcoinTestnet => "tb",
        Currency::Signet => "tbs",
        Currency::Regtest => "bcrt",
        Currency::Simnet => "sb",
    };
    Ok(DecodedInvoice {
        prefix,
        amount_msat: invoice.amount_milli_satoshis(),
        payment_hash: PaymentHash(*AsRef::<[u8; 32]>::as_ref(invoice.payment_hash())),
        created_at: invoice.duration_since_epoch().as_secs(),
        expiry_secs: invoice.expiry_time().as_secs(),
        payee: invoice.get_payee_pub_key().serialize(),
    })
}

pub(crate) fn prefix_of(network: Network) -> &'static str {
    match network {
        Network::Main => "bc",
        Network::Testnet3 | Network::Testnet4 => "tb",
        Network::Signet => "tbs",
        Network::Regtest => "bcrt",
    }
}

/// Compares an invoice with what was asked for. The error says in which way they differ.
pub(crate) fn check(
    bolt11: &str,
    payment_hash: &PaymentHash,
    new: &NewInvoice,
    network: Network,
    now: u64,
) -> Result<Invoice, String> {
    let decoded = decode(bolt11).map_err(|error| error.to_string())?;
    let expected = prefix_of(network);
    if decoded.prefix != expected {
        return Err(format!("the invoice is for the network {}, not for {expected} ({network})", decoded.prefix));
    }
    let amount_msat = new.amount_sats().saturating_mul(1_000);
    if decoded.amount_msat != Some(amount_msat) {
        let amount = decoded.amount_msat.map_or("no amount".to_owned(), |msat| format!("{msat} msat"));
        return Err(format!("the invoice asks for {amount} instead of {amount_msat} msat"));
    }
    if decoded.payment_hash != *payment_hash {
        return Err("the payment hash of the invoice is not the one given with it".to_owned());
    }
    if decoded.expiry_secs != u64::from(new.expiry_secs()) {
        return Err(format!("the invoice is valid for {} s instead of {} s", decoded.expiry_secs, new.expiry_secs()));
    }
    if decoded.created_at.abs_diff(now) > MAX_CLOCK_DIFFERENCE_SECS {
        return Err(format!(
            "the invoice was made {} s away from this machine's time; at most {MAX_CLOCK_DIFFERENCE_SECS} s are allowed; set the clocks",
            decoded.created_at.abs_diff(now)
        ));
    }
    let expires_at = decoded.created_at.saturating_add(decoded.expiry_secs);
    Ok(Invoice { bolt11: bolt11.to_owned(), payment_hash: *payment_hash, expires_at })
}
