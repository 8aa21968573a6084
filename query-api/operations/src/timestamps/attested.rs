//! The attestations of a proof, and what the chain says about them.

use std::collections::{BTreeMap, BTreeSet};

use cairn_tables::headers::{HeaderRow, Headers};
use cairn_timestamps::{Attestation, Proof};

use crate::{context::confirmations, operation::prelude::*};

/// Kind of an attestation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum AttestationKind {
    /// A Bitcoin block; on another network than main, a block of that network.
    Bitcoin,
    /// A Litecoin block.
    Litecoin,
    /// An Ethereum block.
    Ethereum,
    /// The promise of a calendar.
    Pending,
    /// A kind that this server does not know.
    Unknown,
}

/// State of an attestation on this chain. Attestations are listed in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum AttestationState {
    /// The proof leads to the Merkle root of the block.
    Verified,
    /// The proof leads to something else than the Merkle root of the block.
    Mismatch,
    /// The index has no block of this height yet.
    HeightUnknown,
    /// The calendar has not added a block to this proof.
    Pending,
    /// The attestation is of another chain, or of an unknown kind. It was not checked.
    Foreign,
}

/// An attestation.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TimestampAttestation {
    kind: AttestationKind,
    pub(super) state: AttestationState,
    /// True if the state is `verified`.
    verified: bool,
    /// Height of the block that the attestation names; null if it names none.
    pub(super) height: Option<u64>,
    /// Merkle root that the proof leads to, as block explorers show it; null unless it leads to 32 bytes of a Bitcoin
    /// attestation.
    computed_root: Option<String>,
    /// Merkle root in the header of the block at this height; null without such a block.
    header_root: Option<String>,
    /// Time in the header of the block; null without such a block.
    block_time: Option<String>,
    block_time_unix: Option<u32>,
    /// Number of confirmations of the block; null without such a block.
    pub(super) confirmations: Option<u32>,
    /// Address of the calendar; null unless the kind is `pending`. It is text from the proof.
    calendar: Option<String>,
    /// The 8 bytes of an unknown kind in hexadecimal; null for other kinds.
    tag: Option<String>,
}

/// An attestation, and the 32 bytes that it is about.
struct Found {
    attestation: Attestation,
    root: Option<[u8; 32]>,
}

/// Checks all attestations of a proof: those that hold come first, the lowest block first. Reads one row for each block
/// that a Bitcoin attestation names.
///
/// # Errors
/// Fails if the index cannot be read, or if the work exceeds the limits of a request.
pub(super) fn check(ctx: &Ctx<'_>, view: &View<'_>, proof: &Proof) -> Result<Vec<TimestampAttestation>, ApiError> {
    let (mut found, mut heights) = (Vec::new(), BTreeSet::new());
    let tip = view.tip().height;
    proof.attested(|attestation, message| {
        ctx.work.read(message.len())?;
        if let Attestation::Bitcoin { height } = attestation {
            heights.extend(indexed(*height, tip));
        }
        found.push(Found { attestation: attestation.clone(), root: message.try_into().ok() });
        Ok::<(), ApiError>(())
    })?;
    let headers = headers(view, heights)?;
    let row = |found: Found| TimestampAttestation::new(ctx, view, found, &headers);
    let mut all = found.into_iter().map(row).collect::<Result<Vec<_>, ApiError>>()?;
    all.sort_by_key(|row| (row.state, row.kind, row.height));
    Ok(all)
}

/// The height, if the index has a block there.
fn indexed(height: u64, tip: Height) -> Option<Height> {
    Height::try_from(height).ok().filter(|height| *height <= tip)
}

pub(super) fn headers(view: &View<'_>, heights: BTreeSet<Height>) -> Result<BTreeMap<Height, HeaderRow>, ApiError> {
    let heights: Vec<Height> = heights.into_iter().collect();
    let rows = view.headers(&heights)?;
    let pairs = heights.into_iter().zip(rows);
    pairs.map(|(height, row)| Ok((height, row.ok_or_else(|| lacks::<Headers>(format!("block {height}")))?))).collect()
}

impl TimestampAttestation {
    fn new(
        ctx: &Ctx<'_>,
        view: &View<'_>,
        Found { attestation, root }: Found,
        headers: &BTreeMap<Height, HeaderRow>,
    ) -> Result<Self, ApiError> {
        ctx.work.keep(size_of::<Self>() + 200)?;
        let of = |kind, state| TimestampAttestation {
            kind,
            state,
            verified: state == AttestationState::Verified,
            height: None,
            computed_root: None,
            header_root: None,
            block_time: None,
            block_time_unix: None,
            confirmations: None,
            calendar: None,
            tag: None,
        };
        Ok(match attestation {
            Attestation::Bitcoin { height } => {
                let block = indexed(height, view.tip().height).and_then(|at| Some((at, headers.get(&at)?)));
                let state = match block {
                    None => AttestationState::HeightUnknown,
                    Some((_, header)) if root == Some(header.merkle_root()) => AttestationState::Verified,
                    Some(_) => AttestationState::Mismatch,
                };
                TimestampAttestation {
                    height: Some(height),
                    computed_root: root.map(shown),
                    header_root: block.map(|(_, header)| shown(header.merkle_root())),
                    block_time: block.map(|(_, header)| rfc3339(header.time())),
                    block_time_unix: block.map(|(_, header)| header.time()),
                    confirmations: block.map(|(at, _)| confirmations(view.tip(), at)),
                    ..of(AttestationKind::Bitcoin, state)
                }
            }
            Attestation::Litecoin { height } => {
                let row = of(AttestationKind::Litecoin, AttestationState::Foreign);
                TimestampAttestation { height: Some(height), ..row }
            }
            Attestation::Ethereum { height } => {
                let row = of(AttestationKind::Ethereum, AttestationState::Foreign);
                TimestampAttestation { height: Some(height), ..row }
            }
            Attestation::Pending { uri } => {
                TimestampAttestation { calendar: Some(uri), ..of(AttestationKind::Pending, AttestationState::Pending) }
            }
            Attestation::Unknown { tag, .. } => {
                let row = of(AttestationKind::Unknown, AttestationState::Foreign);
                TimestampAttestation { tag: Some(hex::encode(tag)), ..row }
            }
        })
    }
}

/// A Merkle root as block explorers show it: with its bytes reversed.
fn shown(mut root: [u8; 32]) -> String {
    root.reverse();
    hex::encode(root)
}
