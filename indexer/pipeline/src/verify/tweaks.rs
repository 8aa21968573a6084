//! Compares the tweaks of silent payments with the chain: each block from the first on has a row, and a sample of the
//! rows is made again from whole blocks.

use cairn_reader::View;
use cairn_tables::{
    Table,
    tweaks::{TweakHead, TweakRow, Tweaks},
};

use super::{Check, Finding, RawCheck, damage::Damages, meter::Meter};
use crate::{PipelineError, silent_payments::make_again};

const NAME: &str = "tweaks of silent payments match the chain";

/// Blocks between two steps of progress.
const STEP: u32 = 256;

/// Compares them, if there are any.
pub(crate) fn audit(
    view: &View<'_>,
    raw: RawCheck,
    meter: &mut Meter<'_>,
    damages: &mut Damages,
) -> Result<Check, PipelineError> {
    meter.begin(&[]);
    let mut finding = Finding::new(NAME);
    let is_damaged = damages.listed.iter().any(|damage| [TweakHead::NAME, Tweaks::NAME].contains(&&*damage.place));
    if is_damaged || damages.has_blocks() {
        return Ok(finding.into_check("not compared: tables are damaged".to_owned()));
    }
    let Some(span) = view.silent_payments().span()? else {
        return Ok(finding.into_check("none are made".to_owned()));
    };
    let (mut count, mut made_again) = (0, 0);
    for height in span.first..=span.height {
        let Some(row) = view.silent_payments().block(height)? else {
            finding.differs(damages, Tweaks::NAME, &format!("block {height} has no row"));
            break;
        };
        count += row.tweaks.len();
        let again = if raw.wants(view, height) { again(view, height, damages)? } else { None };
        made_again += u32::from(again.is_some());
        if again.is_some_and(|again| again != row) {
            finding.differs(damages, Tweaks::NAME, &format!("block {height} has other tweaks than follow from it"));
            break;
        }
        if height.is_multiple_of(STEP) {
            meter.at((height - span.first).into(), u64::from(span.height - span.first) + 1)?;
        }
    }
    Ok(finding.into_check(format!("{count} to height {}, {made_again} blocks made again", span.height)))
}

/// The row of a block, made again; `None` if it cannot be.
fn again(view: &View<'_>, height: u32, damages: &mut Damages) -> Result<Option<TweakRow>, PipelineError> {
    match make_again(view, height) {
        Err(PipelineError::Read(error)) => damages.take(error, Tweaks::NAME, None).map(|()| None),
        made => made,
    }
}
