//! The command line of sold calls.

use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use jiff::{civil::Date, tz::TimeZone};

use super::keys::KeysAt;
use crate::config::{Lightning, whole};

#[derive(Args, Debug)]
pub(crate) struct AccessArgs {
    #[command(subcommand)]
    pub(crate) what: AccessCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum AccessCommand {
    /// Prints which calls and passes were sold, by day (UTC), capability and method.
    Report(AccessReport),
    /// Opens a redeemed challenge once more, for example because its answer was lost with the connection. Possible once
    /// for each challenge.
    Reopen(AccessReopen),
    /// Lists the challenges that were opened again, the newest first, with the reasons.
    Reopened(AccessReopened),
    /// Asks the Lightning node about each challenge that was never redeemed and each checkout that is not known as
    /// paid, and lists those that are paid.
    Reconcile(AccessReconcile),
    /// Lists the x402 payments whose outcome is not known, with the reason. A server asks the facilitator about them
    /// every minute, until a day after their authorization ended.
    Unknown(AccessUnknown),
    /// Records the outcome of an x402 payment that the operator has found out on the chain.
    Conclude(AccessConclude),
    /// Pays an invoice of the simulated Lightning node, and prints the preimage in hexadecimal digits.
    Pay(AccessPay),
}

#[derive(Args, Debug)]
pub(crate) struct AccessReport {
    #[command(flatten)]
    pub(crate) at: KeysAt,
    /// First day, for example 2026-11-01. Default: 30 days before the last one.
    #[arg(long, value_name = "DATE", value_parser = day)]
    pub(crate) from: Option<u64>,
    /// Last day, for example 2026-11-29. Default: today.
    #[arg(long, value_name = "DATE", value_parser = day)]
    pub(crate) until: Option<u64>,
    /// Format of the list.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = ListFormat::Table)]
    pub(crate) format: ListFormat,
}

/// Formats of lists.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ListFormat {
    /// A table for people.
    Table,
    /// CSV (RFC 4180).
    Csv,
}

#[derive(Args, Debug)]
pub(crate) struct AccessReopen {
    #[command(flatten)]
    pub(crate) at: KeysAt,
    /// The reason. It is stored with the challenge; clients do not see it.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    /// Id of the challenge, as its client was given it.
    pub(crate) challenge: String,
}

#[derive(Args, Debug)]
pub(crate) struct AccessReopened {
    #[command(flatten)]
    pub(crate) at: KeysAt,
    /// Maximum number of challenges to print.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = whole::<u32>(1..=u32::MAX.into()))]
    pub(crate) limit: u32,
}

#[derive(Args, Debug)]
pub(crate) struct AccessReconcile {
    #[command(flatten)]
    pub(crate) at: KeysAt,
    #[command(flatten)]
    pub(crate) lightning: Lightning,
    /// Format of the list.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = ListFormat::Table)]
    pub(crate) format: ListFormat,
}

#[derive(Args, Debug)]
pub(crate) struct AccessUnknown {
    #[command(flatten)]
    pub(crate) at: KeysAt,
    /// Maximum number of payments to print.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = whole::<u32>(1..=10_000))]
    pub(crate) limit: u32,
    /// Format of the list.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = ListFormat::Table)]
    pub(crate) format: ListFormat,
}

#[derive(Args, Debug)]
#[command(group = ArgGroup::new("outcome").required(true))]
pub(crate) struct AccessConclude {
    #[command(flatten)]
    pub(crate) at: KeysAt,
    /// The payment is on the chain, in this transaction (0x and 64 hexadecimal digits). Its client gets the answer when
    /// it repeats the request.
    #[arg(long, value_name = "HASH", group = "outcome")]
    pub(crate) transaction: Option<String>,
    /// The payment is not on the chain, for this reason, and its authorization has ended or was cancelled.
    #[arg(long, value_name = "REASON", group = "outcome")]
    pub(crate) refused: Option<String>,
    /// The payment, as `cairn access unknown` prints it: chain, token, payer and nonce, separated by slashes.
    pub(crate) payment: String,
}

#[derive(Args, Debug)]
pub(crate) struct AccessPay {
    #[command(flatten)]
    pub(crate) at: KeysAt,
    #[command(flatten)]
    pub(crate) lightning: Lightning,
    /// The invoice (BOLT 11), as the client was given it.
    pub(crate) invoice: String,
}

/// Parses a day, and returns its begin (UTC) in seconds since 1970.
///
/// # Errors
/// Returns the expected form.
fn day(text: &str) -> Result<u64, String> {
    let date = Date::strptime("%Y-%m-%d", text).ok();
    let begin = date.and_then(|date| date.to_zoned(TimeZone::UTC).ok());
    let seconds = begin.and_then(|begin| u64::try_from(begin.timestamp().as_second()).ok());
    seconds.ok_or_else(|| "expected a day from 1970 on, for example 2026-11-29".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days() {
        assert_eq!((day("1970-01-01"), day("2026-11-29")), (Ok(0), Ok(1_795_910_400)));
        for text in ["", "2026-13-01", "2026-02-30", "1969-12-31", "yesterday", "2026-11-29T12:00:00Z"] {
            assert!(day(text).is_err(), "{text}");
        }
    }
}
