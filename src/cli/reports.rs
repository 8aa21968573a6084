//! The command line of community reports.

use cairn_state::Visibility;
use clap::{Args, Subcommand, ValueEnum};

use crate::config::{IndexDir, Payments, StateDb, whole};

#[derive(Args, Debug)]
pub(crate) struct ReportsArgs {
    #[command(subcommand)]
    pub(crate) what: ReportsCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum ReportsCommand {
    /// Prints reports, the newest first, with what operators did with them.
    List(ReportsList),
    /// Hides a report: it is no longer listed, and takes no votes.
    Hide(ReportsModerate),
    /// Shows a hidden report again. With `reports_moderation = before`, shows one that waits for the operator.
    Restore(ReportsModerate),
    /// Erases the texts of a report for good: description, web page, and the answer of the address's owner. Its votes
    /// and transactions stay.
    Erase(ReportsModerate),
    /// Prints payments to addresses that were skipped after a restore of the database: the reports that they pay are
    /// lost.
    Skipped(ReportsSkipped),
}

#[derive(Args, Debug)]
pub(crate) struct ReportsList {
    #[command(flatten)]
    pub(crate) index: IndexDir,
    #[command(flatten)]
    pub(crate) state: StateDb,
    /// Decision of the operator about the reports to print.
    #[arg(long = "only", value_name = "DECISION", value_enum, default_value_t = Reports::All)]
    pub(crate) only: Reports,
    /// Maximum number of reports to print.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = whole::<u32>(0..=u32::MAX.into()))]
    pub(crate) limit: u32,
}

/// Decisions about reports.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reports {
    /// Reports that are shown once they are paid.
    Shown,
    /// Reports that wait for the operator.
    Held,
    /// Hidden reports.
    Hidden,
    /// All reports.
    All,
}

impl From<Reports> for Option<Visibility> {
    fn from(reports: Reports) -> Self {
        match reports {
            Reports::Shown => Some(Visibility::Shown),
            Reports::Held => Some(Visibility::Held),
            Reports::Hidden => Some(Visibility::Hidden),
            Reports::All => None,
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct ReportsModerate {
    #[command(flatten)]
    pub(crate) index: IndexDir,
    #[command(flatten)]
    pub(crate) state: StateDb,
    /// The reason. It is stored with the report; clients do not see it.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    /// Id of the report, from `cairn reports list`.
    pub(crate) id: String,
}

#[derive(Args, Debug)]
pub(crate) struct ReportsSkipped {
    #[command(flatten)]
    pub(crate) index: IndexDir,
    #[command(flatten)]
    pub(crate) state: StateDb,
    #[command(flatten)]
    pub(crate) payments: Payments,
}
