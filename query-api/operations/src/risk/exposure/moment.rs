//! The two clocks of an answer: the chain up to a block, and the claims as they were known.

use cairn_domain::claims::At;
use cairn_http::Location;
use cairn_model::{day_of, last_second};
use cairn_reader::AsOf;
use cairn_tables::{claims::ListVersion, events::EventRow, headers::Headers};

use super::parameters::LabelsAsOf;
use crate::context::{BlockRef, block_ref};
use crate::operation::prelude::*;

/// Which documents of claims count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Known {
    /// All; with a time, only claims that were asserted by then.
    All(Option<u32>),
    /// Those that were retrieved by this time.
    Until(u32),
    /// Those up to this sequence number of the ledger.
    Seq(u64),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    /// The chain that counts.
    pub(crate) chain: AsOf,
    /// The time at which claims must hold, in seconds since 1970.
    pub(crate) time: u32,
    /// The documents that count.
    pub(crate) known: Known,
}

/// The moment of the labels, as an answer has it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LabelsMoment {
    /// Time at which claims must hold.
    time: String,
    /// Sequence number of the ledger of input events up to which documents count; null if a time decides.
    seq: Option<u64>,
    /// `known_by`: only documents that were retrieved by then. `asserted_by`: only claims that were asserted by then,
    /// from all documents that are known today.
    rule: &'static str,
}

impl Moment {
    /// Today: the tip, and all claims that hold at the end of the day, so that answers do not change every second.
    pub(crate) fn now(ctx: &Ctx<'_>) -> Result<Self, ApiError> {
        Moment::resolve(ctx, None, None)
    }

    /// The moment of a request. Each clock defaults to the moment of the other one.
    pub(crate) fn resolve(
        ctx: &Ctx<'_>,
        as_of: Option<Height>,
        labels_as_of: Option<LabelsAsOf>,
    ) -> Result<Self, ApiError> {
        let view = ctx.view()?;
        let height = as_of.map(|height| ctx.as_of(Some(height))).transpose()?;
        let (time, known) = match (labels_as_of, height) {
            (Some(LabelsAsOf::Time(time)), _) => (time, Known::Until(time)),
            (Some(LabelsAsOf::Seq(seq)), _) => (received_at(view, seq)?, Known::Seq(seq)),
            (None, Some(height)) => {
                let time = view.chain().get(height).map(|brief| brief.mono_time);
                let time = time.ok_or_else(|| lacks::<Headers>(format!("block {height}")))?;
                (time, Known::All(Some(time)))
            }
            (None, None) => (last_second(day_of(ctx.now())), Known::All(None)),
        };
        let height = match (height, labels_as_of) {
            (Some(height), _) => height,
            (None, None) => view.tip().height,
            (None, Some(_)) => view.chain().height_at(time).ok_or_else(|| {
                ApiError::new(ErrorCode::BlockNotFound, "labels_as_of is before the first block; give as_of, too")
            })?,
        };
        let chain = view.as_of(height).ok_or_else(|| lacks::<Headers>(format!("block {height}")))?;
        Ok(Moment { chain, time, known })
    }

    pub(crate) fn is_tip(&self, view: &View<'_>) -> bool {
        self.chain.height == view.tip().height
    }

    /// The moment for the judgement over claims.
    pub(crate) fn at(&self) -> At {
        match self.known {
            Known::Until(time) => At { time, known_until: Some(time) },
            Known::All(_) | Known::Seq(_) => At::time(self.time),
        }
    }

    /// True if a document counts that was retrieved at a time; `seq` looks its sequence number up.
    pub(crate) fn knows(
        &self,
        version: &ListVersion,
        seq: impl FnOnce() -> Result<Option<u64>, ApiError>,
    ) -> Result<bool, ApiError> {
        match self.known {
            Known::All(_) => Ok(true),
            Known::Until(time) => Ok(version.retrieved_at <= time),
            Known::Seq(until) => Ok(seq()?.is_some_and(|seq| seq <= until)),
        }
    }

    pub(crate) fn block(&self, view: &View<'_>) -> Result<BlockRef, ApiError> {
        block_ref(view, self.chain.height)
    }

    pub(crate) fn labels(&self) -> LabelsMoment {
        let (seq, rule) = match self.known {
            Known::All(_) => (None, "asserted_by"),
            Known::Until(_) => (None, "known_by"),
            Known::Seq(seq) => (Some(seq), "known_by"),
        };
        LabelsMoment { time: rfc3339(self.time), seq, rule }
    }
}

/// When the index took an event of the ledger, in seconds since 1970.
fn received_at(view: &View<'_>, seq: u64) -> Result<u32, ApiError> {
    let newest = view.tip().seq;
    if seq == 0 || seq > newest {
        let message = format!("the ledger has the sequence numbers 1 to {newest}; this is {seq}");
        return Err(ApiError::validation(Location::Query, "labels_as_of", message));
    }
    let document = match view.ledger().event(seq)? {
        Some((_, EventRow::Quotes { document, .. } | EventRow::Claims { document, .. })) => Some(document),
        Some((_, EventRow::Listing { document, .. })) => Some(document),
        Some((_, row)) => return Ok(taken(&row).unwrap_or(u32::MAX)),
        None => None,
    };
    let row = document.map(|document| view.ledger().event(document)).transpose()?.flatten();
    Ok(row.and_then(|(_, row)| taken(&row)).unwrap_or(u32::MAX))
}

/// When the index took a document or a withdrawal.
fn taken(row: &EventRow) -> Option<u32> {
    match row {
        EventRow::Document { received_at, .. }
        | EventRow::Withdrawal { received_at, .. }
        | EventRow::Contest { received_at, .. } => Some(*received_at),
        _ => None,
    }
}
