//! The whole answer for one address.

use std::cmp::Reverse;

use cairn_domain::exposure::{Limits, MAX_COINS, MAX_PARTS, MAX_TRANSACTIONS, MAX_TXS, MILLIONTHS, Reached, Stop, Way};
use cairn_http::Location;
use cairn_tables::{block_log::BlockLog, headers::Headers};

use super::{
    claimed::{DirectClaim, Kind},
    moment::Moment,
    output::{
        DirectionExposure, ExaminedCoins, ExposureCaveat, ExposureLimits, ExposureOutput, ExposurePath, LeftOut,
        PathHop, PathSource,
    },
    parameters::{DirectionParam, ExposureInput, Groups, counted_categories},
    reader::ExposureReader,
    rows::{Rows, ppm, split},
    traced::{Choice, History, Traced, traced},
};
use crate::{definitions::EXPOSURE, operation::prelude::*, wallets::subject::Wallet};

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ExposureRequest {
    pub(crate) direction: DirectionParam,
    /// Transactions, 1 to 4.
    pub(crate) depth: u8,
    /// Only these groups.
    pub(crate) groups: Option<Groups>,
    pub(crate) min_share_ppm: u32,
    pub(crate) path_limit: usize,
}

impl ExposureRequest {
    /// Both directions and all groups, with the default limits.
    pub(crate) const fn at_depth(depth: u8) -> Self {
        ExposureRequest { direction: DirectionParam::Both, depth, groups: None, min_share_ppm: 100, path_limit: 10 }
    }
}

/// Runs an operation: looks the address up and computes its answer.
pub(crate) fn answer(ctx: &Ctx<'_>, input: ExposureInput, kind: Kind) -> Result<ExposureOutput, ApiError> {
    let unknown = input.categories.as_ref().filter(|_| kind == Kind::Risk).and_then(Groups::unknown_category);
    if let Some(unknown) = unknown {
        let counted = counted_categories().collect::<Vec<_>>().join(", ");
        let message = format!(
            "{unknown} is not a category; allowed are those of GET /v1/labels/categories and behaviours; without a \
             choice these count: {counted}"
        );
        return Err(ApiError::validation(Location::Query, "categories", message));
    }
    let moment = Moment::resolve(ctx, input.as_of, input.labels_as_of)?;
    let wallet = Wallet::find(ctx.view()?, None, input.address)?;
    let request = ExposureRequest {
        direction: input.direction,
        depth: input.depth,
        groups: input.categories,
        min_share_ppm: input.min_share_ppm,
        path_limit: input.path_limit as usize,
    };
    compute(&mut ExposureReader::new(ctx, moment)?, &wallet, kind, &request)
}

/// The exposure of one address. The reader keeps what it read for the next one.
pub(crate) fn compute(
    reader: &mut ExposureReader<'_>,
    wallet: &Wallet,
    kind: Kind,
    request: &ExposureRequest,
) -> Result<ExposureOutput, ApiError> {
    reader.tidy_up();
    let choice = Choice { kind, groups: request.groups.as_ref() };
    let history = wallet.found.as_ref().map(|found| History::find(reader, found)).transpose()?;
    let mut side = |way: Way, other: DirectionParam| -> Result<Option<DirectionExposure>, ApiError> {
        if request.direction == other {
            return Ok(None);
        }
        Ok(Some(match &history {
            Some(history) => direction(reader, wallet, history, choice, way, request)?,
            None => nothing(way, kind),
        }))
    };
    let sources = side(Way::Sources, DirectionParam::Destinations)?;
    let destinations = side(Way::Destinations, DirectionParam::Sources)?;
    let sides = || sources.iter().chain(&destinations);
    let truncated = reader.is_cut || sides().any(|side| side.truncated);
    let caveat_codes = caveats(&sides().collect::<Vec<_>>(), truncated);
    Ok(ExposureOutput {
        address: wallet.address.clone(),
        direction: request.direction,
        depth: request.depth,
        as_of: reader.moment.block(reader.view)?,
        labels_as_of: reader.moment.labels(),
        seq: reader.view.tip().seq,
        categories: request.groups.as_ref().map(|groups| groups.0.iter().cloned().collect()),
        min_share_ppm: request.min_share_ppm,
        labels_loaded: reader.has_claims(),
        sources,
        destinations,
        limits: ExposureLimits {
            history: MAX_TRANSACTIONS,
            coins: MAX_COINS,
            transactions: MAX_TXS,
            transaction_parts: MAX_PARTS,
            busy_transactions: MAX_TRANSACTIONS,
        },
        truncated,
        untrusted_content: true,
        caveats: caveat_codes.iter().map(ExposureCaveat::sentence).collect(),
        caveat_codes,
        definition: EXPOSURE,
    })
}

/// A direction of a script that the chain does not have.
fn nothing(way: Way, kind: Kind) -> DirectionExposure {
    let (received_sats, sent_sats) = sides_of(way, 0);
    DirectionExposure {
        examined: ExaminedCoins { transactions: 0, of: 0, examined_sats: 0, received_sats, sent_sats, coins: 0 },
        by_category: (kind == Kind::Risk).then(Vec::new),
        by_list: (kind == Kind::Sanctions).then(Vec::new),
        below_min_share: Default::default(),
        mined: Default::default(),
        fees: Default::default(),
        unresolved: Vec::new(),
        paths: Vec::new(),
        truncated: false,
        left_out: LeftOut::default(),
    }
}

/// A sum, as what was received or sent.
fn sides_of(way: Way, sats: Sats) -> (Option<Sats>, Option<Sats>) {
    match way {
        Way::Sources => (Some(sats), None),
        Way::Destinations => (None, Some(sats)),
    }
}

fn direction(
    reader: &mut ExposureReader<'_>,
    wallet: &Wallet,
    history: &History,
    choice: Choice<'_>,
    way: Way,
    request: &ExposureRequest,
) -> Result<DirectionExposure, ApiError> {
    let own = reader.claimed_hash(&wallet.script_hash)?;
    let traced = traced(reader, &history.moves, choice, way, Limits::at_depth(request.depth))?;
    let total = if way == Way::Sources { history.sums.received } else { history.sums.sent };
    let rows = Rows { traced: &traced, choice, own, total, min_share_ppm: request.min_share_ppm };
    let (groups, below_min_share) = rows.groups();
    let unresolved = rows.unresolved();
    let (paths, paths_left_out) = paths(reader, &traced, choice, total, request)?;
    let trace = &traced.trace;
    let (received_sats, sent_sats) = sides_of(way, total);
    let (by_category, by_list) = match choice.kind {
        Kind::Risk => (Some(groups), None),
        Kind::Sanctions => (None, Some(groups)),
    };
    Ok(DirectionExposure {
        examined: ExaminedCoins {
            transactions: history.traced(),
            of: history.sums.tx_count,
            examined_sats: trace.tally.examined,
            received_sats,
            sent_sats,
            coins: trace.coins,
        },
        by_category,
        by_list,
        below_min_share,
        mined: split(&trace.tally.mined),
        fees: split(&trace.tally.fees),
        unresolved,
        paths,
        truncated: trace.is_truncated() || history.traced() < history.sums.tx_count || trace.tally.examined < total,
        left_out: LeftOut { coins: trace.left_out_coins, paths: paths_left_out },
    })
}

/// The ways with the largest haircuts, and the number of the others.
fn paths(
    reader: &ExposureReader<'_>,
    traced: &Traced,
    choice: Choice<'_>,
    total: Sats,
    request: &ExposureRequest,
) -> Result<(Vec<ExposurePath>, u64), ApiError> {
    let haircut = |of: &Reached| Sats::try_from(of.haircut / MILLIONTHS).unwrap_or(Sats::MAX);
    let is_shown =
        |of: &&Reached| ppm(haircut(of).max(of.fifo), total) >= u64::from(request.min_share_ppm) && of.value > 0;
    let mut reached: Vec<&Reached> = traced.trace.reached.iter().filter(is_shown).collect();
    reached.sort_by_key(|of| (Reverse((of.haircut, of.fifo)), of.part.hop, of.coin, of.source));
    reached.truncate(request.path_limit);
    let mut shown = Vec::with_capacity(reached.len());
    for of in reached {
        reader.ctx.work.poll()?;
        shown.extend(path(reader, traced, choice, of, total)?);
    }
    let all = traced.trace.reached.len() as u64 + traced.trace.left_out_paths;
    let left_out = all - shown.len() as u64;
    Ok((shown, left_out))
}

fn path(
    reader: &ExposureReader<'_>,
    traced: &Traced,
    choice: Choice<'_>,
    of: &Reached,
    total: Sats,
) -> Result<Option<ExposurePath>, ApiError> {
    let Some((script, claim)) = traced.claim(of.source, choice) else { return Ok(None) };
    let steps = traced.trace.way(of);
    let at_source = if traced.way == Way::Sources { steps.first() } else { steps.last() };
    let Some(at_source) = at_source else { return Ok(None) };
    let listing = listing(claim, mono_time(reader, at_source.tx)?);
    let in_sats = |millionths: u128| Sats::try_from(millionths / MILLIONTHS).unwrap_or(Sats::MAX);
    let mut hops = Vec::with_capacity(steps.len());
    for step in &steps {
        let found = reader.view.transactions().txid(step.tx)?;
        let (txid, _) = found.ok_or_else(|| lacks::<BlockLog>(format!("transaction {}", step.tx.0)))?;
        hops.push(PathHop {
            txid: txid.to_string(),
            vin: step.vin,
            vout: step.vout,
            value_sats: step.value,
            haircut_sats: in_sats(step.haircut),
            fifo_sats: step.fifo,
        });
    }
    let group = choice.group(claim).map(str::to_owned);
    let (category, list) = match choice.kind {
        Kind::Risk => (group, None),
        Kind::Sanctions => (None, group),
    };
    Ok(Some(ExposurePath {
        source: PathSource {
            claim_id: claim.id.clone(),
            address: script.address.clone(),
            entity: claim.entity.clone(),
            category,
            list,
            listed_at: rfc3339(claim.not_before.unwrap_or(claim.since)),
        },
        listing,
        stop: if !claim.is_flag && claim.is_service() { "service" } else { "source" },
        hop_count: of.part.hop,
        haircut_sats: in_sats(of.haircut),
        fifo_sats: of.fifo,
        poison_sats: of.value,
        share_ppm: ppm(in_sats(of.haircut), total),
        hops,
    }))
}

fn mono_time(reader: &ExposureReader<'_>, tx: TxNum) -> Result<u32, ApiError> {
    let chain = reader.view.chain();
    let found = chain.height_of(tx).and_then(|height| chain.get(height));
    Ok(found.map(|block| block.mono_time).ok_or_else(|| lacks::<Headers>(format!("transaction {}", tx.0)))?)
}

/// Whether a time is before the entry of a claim or after it.
fn listing(claim: &DirectClaim, time: u32) -> &'static str {
    match claim.not_before {
        Some(entry) if time < entry => "before",
        // The entry may be older than the first document that has it.
        _ if time < claim.since => "unknown",
        _ => "after",
    }
}

fn caveats(sides: &[&DirectionExposure], truncated: bool) -> Vec<ExposureCaveat> {
    let stops = |stop: Stop| {
        let name = super::rows::reason(stop);
        sides.iter().any(|side| side.unresolved.iter().any(|row| row.reason == name))
    };
    let rows = |side: &DirectionExposure| side.by_category.iter().chain(&side.by_list).flatten().count();
    let ends_at_service =
        stops(Stop::Service) || sides.iter().flat_map(|side| &side.paths).any(|path| path.stop == "service");
    let before = sides.iter().flat_map(|side| &side.paths).filter(|path| path.listing == "before").count();
    let caveats = [
        (sides.iter().any(|side| rows(side) == 0), ExposureCaveat::ListNotExhaustive {}),
        (truncated, ExposureCaveat::TraversalTruncated {}),
        (stops(Stop::CoinJoin), ExposureCaveat::CoinjoinInPath {}),
        (ends_at_service, ExposureCaveat::ServiceBoundary {}),
        (before > 0, ExposureCaveat::ActivityPreListing { paths: before }),
    ];
    caveats.into_iter().filter(|(holds, _)| *holds).map(|(_, caveat)| caveat).collect()
}

#[cfg(test)]
mod tests {
    use cairn_domain::claims::Strength;
    use cairn_events::ClaimType;

    use super::*;

    fn claim(since: u32, not_before: Option<u32>) -> DirectClaim {
        DirectClaim {
            id: "00:1".to_owned(),
            source: "list".to_owned(),
            authority: "A list".to_owned(),
            origin: "list".to_owned(),
            claim_type: ClaimType::ListedBy,
            is_sanction: true,
            level: 100,
            strength: Strength::Strong,
            entity: None,
            category: Some("sanctioned"),
            is_flag: true,
            entity_category: None,
            since,
            not_before,
        }
    }

    #[test]
    fn a_time_between_entry_and_first_document_is_unknown() {
        let dated = claim(200, Some(100));
        assert_eq!([99, 100, 199, 200].map(|time| listing(&dated, time)), ["before", "unknown", "unknown", "after"]);
        assert_eq!([0, 199, 200].map(|time| listing(&claim(200, None), time)), ["unknown", "unknown", "after"]);
    }
}
