//! The section of `/api/health/full` about claims.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use cairn_domain::claims::STALE_AFTER;
use cairn_events::Slug;
use cairn_reader::{SourceShare, Volume};
use cairn_tables::claims::{ListDocument, ListKey, ListSize};

use super::week_volume::Week;
use crate::{operation::prelude::*, values::Decimal};

const MAX_DOCUMENTS: usize = 10_000;
const MAX_LISTED: usize = 50;
const PENDING: &str = "claims are being imported; try again in a moment";

/// Claims about addresses.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "HealthClaimDetails")]
pub(crate) struct ClaimDetails {
    /// Number of loaded lists of claims; `cairn labels status` prints each.
    lists: usize,
    /// Time at which the newest document of any list was retrieved.
    as_of: String,
    /// Age in seconds above which the claims are stale.
    pub(super) stale_after_seconds: u32,
    /// Number of labelled scripts: those with an uncontested direct claim of level 40 or more and without a conflict.
    /// Null while claims are being imported.
    labelled_scripts: Option<u64>,
    /// Share of the sum of all unspent coins that these scripts hold, rounded down.
    labelled_share_of_coins: Option<Decimal<6>>,
    /// Why the two fields above are null; otherwise null.
    labelled_reason: Option<&'static str>,
    /// Share of the input value of 1,008 blocks that these scripts spent, rounded down. Null until computed; the first
    /// request starts the computation.
    labelled_share_of_week_volume: Option<Decimal<6>>,
    /// Height of the newest of these blocks: the tip, or one shortly before.
    week_volume_as_of_height: Option<u32>,
    /// Why the two fields above are null; otherwise null.
    week_volume_reason: Option<&'static str>,
    /// Sources, the one that labels the most coins first.
    sources: Vec<SourceDetails>,
    /// Number of sources that are not listed, for lack of space.
    sources_omitted: usize,
}

/// Claims of a source.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "HealthClaimSource")]
pub(crate) struct SourceDetails {
    source: String,
    lists: usize,
    /// Number of claims in the newest document of each list.
    claims: u64,
    /// Time at which the source's newest document was retrieved.
    as_of: String,
    age_seconds: u32,
    /// True if that document is more than 365 days old.
    stale: bool,
    /// Number of labelled scripts that this source labels, alone or with others.
    labelled_scripts: Option<u64>,
    /// Share of the sum of all unspent coins that these scripts hold, rounded down.
    labelled_share_of_coins: Option<Decimal<6>>,
    /// Share of the input value of 1,008 blocks that these scripts spent, rounded down.
    labelled_share_of_week_volume: Option<Decimal<6>>,
}

#[derive(Default)]
struct SourceClaims<'d> {
    /// The newest document of each list.
    lists: BTreeMap<&'d ListKey, (&'d ListDocument, ListSize)>,
}

impl SourceClaims<'_> {
    fn newest(&self) -> u32 {
        self.lists.values().map(|(of, _)| of.version.retrieved_at).max().unwrap_or_default()
    }
}

/// How much is labelled, and of how much.
struct Shares {
    all: Vec<SourceShare>,
    supply: Sats,
}

impl Shares {
    /// `None` while claims are being worked in.
    fn find(view: &View<'_>) -> Result<Option<Self>, ApiError> {
        if !view.labels().are_settled()? {
            return Ok(None);
        }
        Ok(Some(Shares { all: view.labels().shares()?, supply: view.days().unspent()? }))
    }

    fn sums(&self, source: Option<&Slug>) -> (u64, Sats) {
        let found = self.all.iter().find(|share| share.source.as_ref() == source);
        found.map_or((0, 0), |share| (share.scripts, share.unspent))
    }

    fn part(&self, sats: Sats) -> Decimal<6> {
        Decimal((i128::from(sats) * 1_000_000).checked_div(self.supply.into()).unwrap_or(0))
    }
}

/// The age of the newest list in seconds, and the details; `None` if there is no list.
pub(super) fn claims_loaded(ctx: &Ctx<'_>) -> Result<Option<(u32, ClaimDetails)>, ApiError> {
    let Some(view) = ctx.index else { return Ok(None) };
    let documents = view.claims().lists(MAX_DOCUMENTS)?;
    let Some(newest) = documents.iter().map(|(of, _)| of.version.retrieved_at).max() else { return Ok(None) };
    let lists: BTreeSet<_> = documents.iter().map(|(of, _)| &of.list).collect();
    let mut sources: BTreeMap<&Slug, SourceClaims<'_>> = BTreeMap::new();
    for (of, size) in &documents {
        let newest = sources.entry(&of.list.source).or_default().lists.entry(&of.list).or_insert((of, *size));
        if newest.0.version < of.version {
            *newest = (of, *size);
        }
    }
    let shares = Shares::find(view)?;
    let week = match (&shares, ctx.prices.reader) {
        (None, _) | (_, None) => Err(PENDING),
        (Some(_), Some(reader)) => ctx.volume.get(reader, view),
    };
    let spent = |sats: &dyn Fn(&Volume) -> Sats| {
        let of = |week: &Week| Decimal(week.volume.millionths(sats(&week.volume)).into());
        week.as_ref().ok().map(of)
    };
    let of = |source: Option<&Slug>| shares.as_ref().map(|shares| (shares.sums(source), shares));
    let mut by_coins: Vec<(&Slug, &SourceClaims<'_>)> =
        sources.iter().map(|(source, loaded)| (*source, loaded)).collect();
    by_coins.sort_by_key(|(source, _)| (Reverse(of(Some(source)).map(|((_, sats), _)| sats)), *source));
    let listed = by_coins.iter().take(MAX_LISTED).map(|(source, loaded)| {
        let (as_of, found) = (loaded.newest(), of(Some(source)));
        let age_seconds = ctx.now().saturating_sub(as_of);
        SourceDetails {
            source: source.to_string(),
            lists: loaded.lists.len(),
            claims: loaded.lists.values().map(|(_, size)| u64::from(size.claims)).sum(),
            as_of: rfc3339(as_of),
            age_seconds,
            stale: age_seconds > STALE_AFTER,
            labelled_scripts: found.map(|((scripts, _), _)| scripts),
            labelled_share_of_coins: found.map(|((_, sats), shares)| shares.part(sats)),
            labelled_share_of_week_volume: spent(&|volume| volume.by_source.get(*source).copied().unwrap_or(0)),
        }
    });
    let all = of(None);
    let details = ClaimDetails {
        lists: lists.len(),
        as_of: rfc3339(newest),
        stale_after_seconds: STALE_AFTER,
        labelled_scripts: all.map(|((scripts, _), _)| scripts),
        labelled_share_of_coins: all.map(|((_, sats), shares)| shares.part(sats)),
        labelled_reason: if all.is_none() { Some(PENDING) } else { None },
        labelled_share_of_week_volume: spent(&|volume| volume.labelled),
        week_volume_as_of_height: week.as_ref().ok().map(|week| week.height),
        week_volume_reason: week.as_ref().err().copied(),
        sources: listed.collect(),
        sources_omitted: by_coins.len().saturating_sub(MAX_LISTED),
    };
    Ok(Some((ctx.now().saturating_sub(newest), details)))
}
