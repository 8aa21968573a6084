//! `cairn sanctions`: imports lists of sanctions and approves their rows. Works while another process writes the index,
//! and while a server uses the same database of the service state.

mod approve;
mod feed;
mod status;

use cairn_events::{Behaviour, ClaimType, EvidenceTier};
use cairn_inputs::{ClaimCode, ClaimDefaults, ClaimLayout, ClaimReport};
use cairn_state::FeedCheck;

use super::{
    import::Imported,
    labels::{ImportOptions, import_claims},
};
use crate::{
    cli::{SanctionsCommand, SanctionsImport},
    exit::{Exit, Failure},
    with_state::with_state,
};

pub(crate) fn sanctions(command: &SanctionsCommand) -> Result<Exit, Failure> {
    match command {
        SanctionsCommand::Import(args) => import(args),
        SanctionsCommand::Approve(args) => approve::approve(args),
        SanctionsCommand::Status(args) => status::status(args),
    }
}

const LAYOUTS: &[ClaimLayout] = &[ClaimLayout::SdnAdvanced, ClaimLayout::AddressList];
/// Name of the list within its source.
const LIST: &str = "sanctions";

fn import(args: &SanctionsImport) -> Result<Exit, Failure> {
    let defaults = ClaimDefaults {
        claim_type: Some(ClaimType::ListedBy),
        tier: Some(EvidenceTier::AuthorityListed),
        behaviour: Some(Behaviour::Sanctioned),
        ..ClaimDefaults::default()
    };
    let options = ImportOptions { among: LAYOUTS, defaults, ..ImportOptions::named(LIST)? };
    let (imported, report) = import_claims(&args.from, Some(&args.source), options)?;
    let exit = imported.exit;
    // The list is in the ledger even if this fails.
    if let Err(error) = note(args, imported, report) {
        tracing::warn!(%error, "the check of the list cannot be recorded: import the list again");
    }
    Ok(exit)
}

/// Stores the time of the check of the list, and the number of left out rows.
fn note(args: &SanctionsImport, imported: Imported, report: Option<ClaimReport>) -> Result<(), Failure> {
    let Some(document) = imported.document else { return Ok(()) };
    let list = format!("{}/{LIST}", args.source);
    let check = check(imported.checked_at, report.as_ref());
    with_state(&args.from.state.url(&args.from.index)?, async |state| {
        Ok(state.feed_was_checked(&list, &document.0, check).await?)
    })
}

fn check(checked_at: u32, report: Option<&ClaimReport>) -> FeedCheck {
    // Only files in OFAC's own format have the date of the list.
    let issued_at = report.filter(|of| of.layout == ClaimLayout::SdnAdvanced).and_then(|of| of.newest).map(u64::from);
    // Addresses of other assets and repeated rows are not invalid.
    let is_other = |code: ClaimCode| {
        matches!(code, ClaimCode::OtherAsset | ClaimCode::ListedUnderOtherAsset | ClaimCode::Repeated)
    };
    let invalid = |of: &ClaimReport| {
        of.by_code.iter().filter(|(code, _)| code.is_refused() && !is_other(**code)).map(|(_, count)| count).sum()
    };
    let other = |of: &ClaimReport| of.by_code.get(&ClaimCode::ListedUnderOtherAsset).copied().unwrap_or_default();
    FeedCheck {
        checked_at: checked_at.into(),
        issued_at,
        invalid: report.map(invalid),
        listed_under_other_asset: report.map(other),
    }
}
