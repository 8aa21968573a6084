//! The command line of lists of sanctions.

use cairn_events::{DocumentHash, Slug};
use cairn_state::Approver;
use clap::{Args, Subcommand, ValueEnum};

use super::import::Import;
use crate::config::{IndexDir, Sanctions, StateDb};

#[derive(Args, Debug)]
pub(crate) struct SanctionsArgs {
    #[command(subcommand)]
    pub(crate) what: SanctionsCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum SanctionsCommand {
    /// Reads a list of sanctions and takes its Bitcoin addresses into the ledger: OFAC's SDN list (sdn_advanced.xml),
    /// or a text file with an address a line. The file is the whole list: what an older file has, and this one does
    /// not, is delisted.
    Import(SanctionsImport),
    /// Approves rows of the current feed for the compliance tier, or withdraws approvals.
    Approve(SanctionsApprove),
    /// Shows the current feed and how much of it is approved.
    Status(SanctionsStatus),
}

#[derive(Args, Debug)]
pub(crate) struct SanctionsImport {
    #[command(flatten)]
    pub(crate) from: Import,
    /// Source of the list: a short name in small letters. Names that begin with ofac count as one origin.
    #[arg(long, value_name = "NAME", default_value = "ofac-sdn")]
    pub(crate) source: Slug,
}

#[derive(Args, Debug)]
pub(crate) struct SanctionsApprove {
    #[command(flatten)]
    pub(crate) index: IndexDir,
    #[command(flatten)]
    pub(crate) state: StateDb,
    #[command(flatten)]
    pub(crate) sanctions: Sanctions,
    /// The document that you have looked at: its SHA-256, or newest. If the current feed is another one, nothing is
    /// approved.
    #[arg(long, value_name = "SHA256|newest", default_value = "newest", value_parser = seen)]
    pub(crate) feed: ApprovedDocument,
    /// Your name. Capital letters do not matter. Answers do not show it.
    #[arg(long, value_name = "NAME", value_parser = approver)]
    pub(crate) approver: Approver,
    /// All rows of the feed; with --withdraw, all approvals of the list.
    #[arg(long, conflicts_with = "addresses")]
    pub(crate) all: bool,
    /// Withdraws the approvals of the addresses, whoever gave them.
    #[arg(long)]
    pub(crate) withdraw: bool,
    /// Addresses of the feed.
    #[arg(value_name = "ADDRESS", required_unless_present = "all")]
    pub(crate) addresses: Vec<String>,
}

/// Which document an approver has looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ApprovedDocument {
    /// Whichever is the newest.
    Newest,
    Document(DocumentHash),
}

fn seen(text: &str) -> Result<ApprovedDocument, String> {
    match text {
        "newest" => Ok(ApprovedDocument::Newest),
        text => {
            let mut hash = [0; 32];
            hex::decode_to_slice(text, &mut hash).map_err(|_| "expected newest, or a SHA-256 in hex".to_owned())?;
            Ok(ApprovedDocument::Document(DocumentHash(hash)))
        }
    }
}

fn approver(text: &str) -> Result<Approver, String> {
    text.parse().map_err(|error: cairn_state::StateError| error.to_string())
}

#[derive(Args, Debug)]
pub(crate) struct SanctionsStatus {
    #[command(flatten)]
    pub(crate) index: IndexDir,
    #[command(flatten)]
    pub(crate) state: StateDb,
    #[command(flatten)]
    pub(crate) sanctions: Sanctions,
    /// Also prints these rows.
    #[arg(long, value_name = "STATE", value_enum)]
    pub(crate) rows: Option<SanctionRows>,
    /// Prints JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Rows to print.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SanctionRows {
    /// Rows of the feed that are approved.
    Approved,
    /// Rows of the feed that are not approved yet.
    Pending,
    /// Approved addresses that the feed no longer has.
    Removed,
}
