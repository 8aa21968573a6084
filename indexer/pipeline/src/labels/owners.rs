//! Owners of clusters by claims, and their part of the sums of entities.

use std::collections::BTreeSet;

use cairn_events::EntityName;
use cairn_model::TxNum;
use cairn_reader::{ClaimWalk, ClaimedParts, LeftOut, ReadError, View};
use cairn_tables::{cluster_owners::OwnersRow, clusters::Counts, sums::Sums};

use super::judge::{MAX_HEIRS, owner_by};

/// Returns the row of a root; `None` if the cluster has no owner.
///
/// # Errors
/// More is left out of the cluster than it has, which only damage makes.
pub(crate) fn row_of(
    root: TxNum,
    owners: Vec<EntityName>,
    counts: &Counts,
    below: &Sums,
) -> Result<Option<OwnersRow>, ReadError> {
    if owners.is_empty() {
        return Ok(None);
    }
    let rest = LeftOut::of(below).and_then(|left_out| {
        let scripts = counts.scripts.checked_sub(left_out.scripts)?;
        let balance = counts.balance.checked_sub(left_out.balance)?;
        Some(OwnersRow { owners, is_suspect: left_out.suspects > 0, scripts, balance })
    });
    let broken = || ReadError::Broken(format!("more is left out of the cluster of {} than it has", root.0));
    rest.map(Some).ok_or_else(broken)
}

/// Returns the entities that the claims name: one for each part of the cluster at most, ascending.
pub(crate) fn owners_by(claims: &mut ClaimWalk<'_>, parts: &ClaimedParts) -> Result<Vec<EntityName>, ReadError> {
    let mut owners = BTreeSet::new();
    for scripts in std::iter::once(&parts.own).chain(&parts.others) {
        owners.extend(owner_by(claims, scripts, None)?);
    }
    Ok(owners.into_iter().collect())
}

/// Returns the row of owners of the cluster of a root, as of the tip; `None` without an owner, or if the node is not a
/// root.
pub(crate) fn judge_owners(
    view: &View<'_>,
    claims: &mut ClaimWalk<'_>,
    root: TxNum,
) -> Result<Option<OwnersRow>, ReadError> {
    let Some(counts) = view.clusters().counts(root)? else { return Ok(None) };
    let parts = view.clusters().claimed_parts(root, view.as_of_tip(), MAX_HEIRS)?;
    row_of(root, owners_by(claims, &parts)?, &counts, &view.clusters().below(root)?)
}
