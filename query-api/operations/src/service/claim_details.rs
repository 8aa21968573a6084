//! The section of `/api/health/full` about claims.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use cairn_domain::claims::STALE_AFTER;
use cairn_events::Slug;
use cairn_http::ApiError;
use cairn_model::Sats;
use cairn_reader::{SourceShare, View, Volume};
use cairn_tables::claims::{ListDocument, ListKey, ListSize};
use schemars::JsonSchema;
use serde::Serialize;

use super::week_volume::Week;
use crate::{
    context::Ctx,
    values::{Decimal, rfc3339},
};

/// Documents of lists that are looked at.
const MAX_DOCUMENTS: usize = 10_000;
/// Sources that are listed.
const MAX_LISTED: usize = 50;
const PENDING: &str = "claims are being worked in; ask again in a moment";

/// Claims about addresses.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "HealthClaimDetails")]
pub(crate) struct ClaimDetails {
    /// Lists of claims that are loaded; `cairn labels status` prints each.
    lists: usize,
    /// When the newest document of any of them was retrieved.
    as_of: String,
    /// Age in seconds above which it is stale.
    pub(super) stale_after_seconds: u32,
    /// Scripts that are labelled: by a direct claim from level 40 on that nobody contests, without a conflict of votes.
    /// Null while claims are being worked in.
    labelled_scripts: Option<u64>,
    /// Part of all unspent coins that these scripts hold, rounded down.
    labelled_share_of_coins: Option<Decimal<6>>,
    /// Why the two are null; null if they are not.
    labelled_reason: Option<&'static str>,
    /// Part of the inputs of 1,008 blocks that these scripts spent, by value, rounded down. Null until computed; the
    /// first request starts the computation.
    labelled_share_of_week_volume: Option<Decimal<6>>,
    /// The newest of these blocks: the tip, or one shortly before.
    week_volume_as_of_height: Option<u32>,
    /// Why the two are null; null if they are not.
    week_volume_reason: Option<&'static str>,
    /// By source, those that label most coins first.
    sources: Vec<SourceDetails>,
    /// Sources that are not listed for lack of room.
    sources_omitted: usize,
}

/// Claims of a source.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "HealthClaimSource")]
pub(crate) struct SourceDetails {
    source: String,
    lists: usize,
    /// Claims of the newest document of each list.
    claims: u64,
    /// When its newest document was retrieved.
    as_of: String,
    age_seconds: u32,
    /// True if that is more than 365 days ago.
    stale: bool,
    /// Labelled scripts of which it is one of those that label them.
    labelled_scripts: Option<u64>,
    /// Part of all unspent coins that these hold, rounded down.
    labelled_share_of_coins: Option<Decimal<6>>,
    /// Part of the inputs of 1,008 blocks that these spent, by value, rounded down.
    labelled_share_of_week_volume: Option<Decimal<6>>,
}

/// Loaded claims of a source.
#[derive(Default)]
struct Loaded<'d> {
    /// The newest document of each list.
    lists: BTreeMap<&'d ListKey, (&'d ListDocument, ListSize)>,
}

impl Loaded<'_> {
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

    fn of(&self, source: Option<&Slug>) -> (u64, Sats) {
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
    let mut sources: BTreeMap<&Slug, Loaded<'_>> = BTreeMap::new();
    for (of, size) in &documents {
        let newest = sources.entry(&of.list.source).or_default().lists.entry(&of.list).or_insert((of, *size));
        if newest.0.version < of.version {
            *newest = (of, *size);
        }
    }
    let shares = Shares::find(view)?;
    let week = match (&shares, ctx.prices.reader) {
        (None, _) | (_, None) => Err(PENDING),
        (Some(_), Some(reader)) => ctx.volume.of(reader, view),
    };
    let spent = |sats: &dyn Fn(&Volume) -> Sats| {
        let of = |week: &Week| Decimal(week.volume.millionths(sats(&week.volume)).into());
        week.as_ref().ok().map(of)
    };
    let of = |source: Option<&Slug>| shares.as_ref().map(|shares| (shares.of(source), shares));
    let mut by_coins: Vec<(&Slug, &Loaded<'_>)> = sources.iter().map(|(source, loaded)| (*source, loaded)).collect();
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
