//! Compares the joined tables with what they follow from: every script that has claims, and every one that has a label,
//! is judged again. The rows of entities are added up again from the labels.

use std::{collections::BTreeSet, iter::Peekable};

use cairn_reader::{ReadError, Scan, StageStatus, View, root_of};
use cairn_tables::{
    DecodeError, Table,
    claims::{ClaimLists, Claims},
    cluster_owners::ClusterOwners,
    encode_value,
    labels::{JOINED, LabelDue, Labels, ScriptHash, ScriptLabel},
    stages::{CLUSTERS, SCRIPTS},
};

use super::{
    Check, Finding,
    damage::{Damages, repair_of},
    meter::{Meter, place},
    owners::Owners,
    tally::Tallies,
};
use crate::{
    PipelineError,
    labels::{LabelledScript, ScriptVerdict, is_current, judge, rows_of, tables},
};

const NAME: &str = "labels and entities match claims and chain";

/// Scripts between two steps of progress.
const STEP: u64 = 256;

/// Compares them, if they are made. Unreadable rows are damage of their own, and are not compared.
pub(crate) fn audit(
    view: &View<'_>,
    meter: &mut Meter<'_>,
    tallies: &mut Tallies,
    damages: &mut Damages,
) -> Result<Check, PipelineError> {
    let not_compared = |why: &str, ok| Ok(Check { name: NAME, ok, detail: format!("not compared: {why}") });
    let tip = view.tip();
    let stages = view.stages()?;
    let is_finished = |name: &str| stages.iter().any(|of| of.stage.name == name && of.status == StageStatus::Finished);
    // A command that writes makes them before anything else.
    if ![SCRIPTS, CLUSTERS].iter().all(|stage| is_finished(stage.name))
        || !is_current(view.checkpoint(JOINED)?.as_ref(), (tip.height, tip.hash))
    {
        return not_compared("they are not made yet", true);
    }
    let is_of = |place: &str| [Claims::NAME, ClaimLists::NAME].contains(&place) || tables().any(|of| of.name == place);
    if damages.listed.iter().any(|damage| is_of(&damage.place)) {
        return not_compared("rows are damaged", false);
    }
    // A label that lacks what the chain has is wrong; one that the chain cannot be asked for is not.
    if damages.has_blocks() || damages.listed.iter().any(|damage| damage.repair == repair_of("totals")) {
        return not_compared("the chain's tables are damaged", true);
    }
    meter.begin(&[Claims::FAMILY, Labels::FAMILY]);
    let (mut finding, mut of_clusters) = (Finding::new(NAME), Finding::new(NAME));
    match compare(view, meter, tallies, (&mut finding, &mut of_clusters)) {
        Ok(figures) => {
            if let Some(first) = &finding.first {
                damages.differs(Labels::NAME, first.clone());
            } else if let Some(first) = &of_clusters.first {
                finding.expect(false, || first.clone());
                damages.differs(ClusterOwners::NAME, first.clone());
            }
            // Rows of entities follow from the labels: they are compared with right ones only.
            let rows = tables().filter(|table| finding.first.is_none() && tallies.row_difference(table.name).is_some());
            for table in rows.collect::<Vec<_>>() {
                finding.differs(damages, table.name, "it has other rows than follow from the labels");
            }
            Ok(finding.into_check(figures))
        }
        Err(PipelineError::Read(error)) => {
            let detail = error.to_string();
            damages.take(error, Labels::NAME, None)?;
            Ok(Check { name: NAME, ok: false, detail })
        }
        Err(error) => Err(error),
    }
}

/// Rows of a table whose keys are hashes of scripts, ascending.
type Stream<'v, 'r, T> = Peekable<Scan<'v, 'r, T>>;

/// The hash of the next script that has claims; those of `said` are passed over.
fn next_said(claims: &mut Scan<'_, '_, Claims>, said: Option<ScriptHash>) -> Result<Option<ScriptHash>, ReadError> {
    while let Some((key, _)) = claims.next_bytes()? {
        let short = DecodeError { table: Claims::NAME, what: "too short" };
        let script = ScriptHash(*key.first_chunk::<32>().ok_or(short)?);
        if said != Some(script) {
            return Ok(Some(script));
        }
    }
    Ok(None)
}

/// Takes the row of a script, passing over those before it.
fn take<T: Table<Key = ScriptHash>>(
    rows: &mut Stream<'_, '_, T>,
    of: ScriptHash,
) -> Result<Option<T::Value>, ReadError> {
    while let Some(row) = rows.next_if(|row| row.as_ref().map_or(true, |(script, _)| *script <= of)) {
        let (script, value) = row?;
        if script == of {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

/// Returns figures; ends with [`PipelineError::Read`] at the first damage.
fn compare(
    view: &View<'_>,
    meter: &Meter<'_>,
    tallies: &mut Tallies,
    (finding, of_clusters): (&mut Finding, &mut Finding),
) -> Result<String, PipelineError> {
    let mut claims = view.scan::<Claims>(None)?;
    let mut labels = view.scan::<Labels>(None)?.peekable();
    let mut due = view.scan::<LabelDue>(None)?.peekable();
    let mut walk = view.claims().walk()?;
    let mut said = next_said(&mut claims, None)?;
    let (mut scripts, mut labelled, mut waiting, mut roots) = (0u64, 0u64, 0u64, BTreeSet::new());
    loop {
        let label = labels.peek().and_then(|row| row.as_ref().ok()).map(|(script, _)| *script);
        let Some(script) = [said, label].into_iter().flatten().min() else { break };
        let stored = take(&mut labels, script)?;
        let is_due = take(&mut due, script)?.is_some();
        let now = judge(view, &mut walk, &script, stored.as_ref())?;
        let wrong = differs(stored.as_ref(), &now, is_due);
        finding.expect(wrong.is_none(), || format!("script {}: {}", hex::encode(script.0), wrong.unwrap_or_default()));
        if let Some(stored) = &stored {
            let side = LabelledScript { label: stored, moved: now.sums, path: Some(&now.path) };
            let rows = rows_of(&script, &side).map_err(|e| ReadError::Broken(e.to_string()));
            tallies.expect_rows(&rows?);
            let node = now.node.filter(|_| stored.is_heritable);
            roots.extend(node.map(|node| root_of(node, &now.path).0));
        }
        scripts += 1;
        labelled += u64::from(stored.is_some());
        waiting += u64::from(is_due);
        if said == Some(script) {
            said = next_said(&mut claims, said)?;
        }
        if scripts.is_multiple_of(STEP) {
            meter.at(place(&script.0), 1 << 16)?;
        }
    }
    // The walk may have ended at a row that cannot be read.
    if let Some(row) = labels.next() {
        row?;
    }
    let owners = Owners { view, roots, is_waiting: waiting > 0 };
    let owned = owners.compare(meter, (tallies, of_clusters))?;
    let waits = if waiting > 0 { format!(", {waiting} wait to be judged") } else { String::new() };
    Ok(format!("{labelled} labels of {scripts} scripts, {owned} clusters with owners{waits}"))
}

/// Returns the difference of a stored label, if there is one. A label that waits to be judged may be outdated; the
/// chain's part must be right.
fn differs(stored: Option<&ScriptLabel>, now: &ScriptVerdict, is_due: bool) -> Option<&'static str> {
    let bytes = |label: &ScriptLabel| encode_value::<Labels>(label);
    match (stored, &now.label) {
        (Some(stored), _) if stored.seen != now.seen => Some("its label has another newest transaction than the chain"),
        (Some(stored), _) if stored.node.is_some_and(|node| now.node != Some(node)) => {
            Some("its label has another node of the clusters than the chain")
        }
        _ if is_due => None,
        (None, None) => None,
        (Some(_), None) => Some("it has a label that no claim gives"),
        (None, Some(_)) => Some("its label is missing"),
        (Some(stored), Some(now)) => (bytes(stored) != bytes(now)).then_some("its claims give another label"),
    }
}
