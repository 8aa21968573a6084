//! Payments on chain, and the reports that they publish.

use std::{path::Path, sync::Arc};

use cairn_model::Network;
use cairn_operations::{PaymentsConfig, ReportsModeration, VotesPer};
use cairn_payments::{PaymentDescriptor, PaymentMark};
use clap::{Args, ValueEnum};

use super::{state::Hidden, whole};
use crate::exit::Failure;

/// Payments and reports.
#[derive(Args, Clone, Debug)]
pub(crate) struct Payments {
    /// Watch-only output descriptor with a wildcard, for example wpkh(xpub…/0/*): clients pay to its addresses, each of
    /// which is given out once. Private keys are refused. It shows all addresses of the wallet: set it in the
    /// environment or in cairn.toml, because other users can see the command line. Default: no payments, and no
    /// community reports.
    #[arg(long, env = "CAIRN_PAYMENTS_DESCRIPTOR", value_name = "DESCRIPTOR", hide_env_values = true)]
    payments_descriptor: Option<Hidden>,
    /// Price of a community report, in satoshis.
    #[arg(long, env = "CAIRN_REPORT_AMOUNT_SATS", value_name = "SATS", default_value = "5000",
        value_parser = whole::<u64>(546..=100_000_000))]
    report_amount_sats: u64,
    /// Hours until an unpaid community report expires. A later payment publishes it as well.
    #[arg(long, env = "CAIRN_REPORT_EXPIRY_HOURS", value_name = "HOURS", default_value = "24",
        value_parser = whole::<u64>(1..=720))]
    report_expiry_hours: u64,
    /// When the operator looks at paid community reports: after they are published, or before (`cairn reports restore`
    /// then publishes one).
    #[arg(long, env = "CAIRN_REPORTS_MODERATION", value_name = "WHEN", value_enum, default_value = "after")]
    reports_moderation: Moderation,
    /// How far the limit of one vote in 24 hours reaches: over all reports, or for each report.
    #[arg(long, env = "CAIRN_VOTES_PER", value_name = "WHAT", value_enum, default_value = "client")]
    votes_per: Votes,
}

/// When the operator looks at reports.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Moderation {
    /// After they are published.
    After,
    /// Before.
    Before,
}

/// How far the limit of votes reaches.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
#[value(rename_all = "snake_case")]
enum Votes {
    /// One vote over all reports.
    Client,
    /// One vote for each report.
    ClientAndReport,
}

impl Payments {
    /// Settings of the operations. `network` is that of the index, if it is known.
    ///
    /// # Errors
    /// Fails if the descriptor cannot be used; the error has no part of it.
    pub(crate) fn config(&self, network: Option<Network>) -> Result<PaymentsConfig, Failure> {
        let descriptor = self.payments_descriptor.as_ref().map(|Hidden(text)| {
            let descriptor = PaymentDescriptor::new(text, network);
            descriptor.map(Arc::new).map_err(|error| {
                Failure::usage(format!("--payments-descriptor: {error}"))
                    .hint("give the descriptor of the wallet's receiving addresses, as `listdescriptors` of Bitcoin Core shows it")
            })
        });
        Ok(PaymentsConfig {
            descriptor: descriptor.transpose()?,
            mark: None,
            report_amount_sats: self.report_amount_sats,
            report_expiry_secs: self.report_expiry_hours.saturating_mul(3_600),
            moderation: match self.reports_moderation {
                Moderation::After => ReportsModeration::After,
                Moderation::Before => ReportsModeration::Before,
            },
            votes_per: match self.votes_per {
                Votes::Client => VotesPer::Client,
                Votes::ClientAndReport => VotesPer::ClientAndReport,
            },
        })
    }
}

/// The file in the data folder that remembers the next payment address.
pub(crate) fn payment_mark(datadir: &Path) -> PaymentMark {
    PaymentMark::in_folder(datadir)
}
