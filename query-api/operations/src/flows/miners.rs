//! `GET /v1/miner/flows`.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use cairn_events::EntityName;
use cairn_http::{Format, Formatted, Table};
use cairn_reader::FoundScript;

use super::{
    holders::{HOLDER_BLOCKS, MinedBlocks, Pool, Pools},
    outflow::{Outflow, OutflowReader},
};
use crate::{
    definitions::MINER_FLOWS,
    operation::prelude::*,
    parameters::{limit::Limit, since::SinceParam},
    pools::Judge,
    values::date,
    vocabulary::columns::columns,
    window::Window,
};

/// Scripts of a pool that are looked at.
const MAX_HOLDERS: usize = 500;
/// Why a pool's flows are missing.
const OF_MEMBERS: &str = "most of its blocks pay its members in the coinbase: its balance does not show what was mined";
const TOO_MUCH: &str = "too many transactions to read for one answer: ask for a shorter range, or for this pool alone";
const TOO_MANY: &str = "it has too many scripts to read for one answer";

pub(crate) struct MinerFlows;

/// Length of the range.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[schemars(rename = "FlowRange")]
pub(crate) enum Range {
    #[serde(rename = "1d")]
    Day,
    #[default]
    #[serde(rename = "7d")]
    Week,
    #[serde(rename = "30d")]
    Month,
}

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct FlowsInput {
    /// Length of the range up to the newest block: `1d`, `7d` or `30d`.
    #[serde(default)]
    range: Range,
    /// Only this pool, by its name in paths.
    #[schemars(length(min = 1, max = 64))]
    pool: Option<String>,
    /// Maximum number of pools, those that mined most first; the others are counted in `other`.
    #[serde(default)]
    limit: Limit<20, 50>,
    /// `json`, `csv` or `markdown`; the latter two have a row for each pool and day.
    #[serde(default)]
    format: Format,
}

/// Flows of miners.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MinerFlowsOutput")]
pub(crate) struct FlowsOutput {
    range: Range,
    /// First block of the range, by monotone block time.
    since_height: Height,
    /// Number of newest blocks whose coinbases identify the scripts of pools.
    holder_blocks: u32,
    /// True if pool tags or labels are loaded; otherwise no block has a pool.
    lists_loaded: bool,
    /// Pools, the one that mined most first.
    pools: Vec<PoolFlows>,
    /// Blocks of the pools beyond `limit`.
    other: MinedSum,
    /// Blocks of no known pool.
    unidentified: MinedSum,
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
}

/// Number of blocks, and the sum that they pay.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MinedSum {
    block_count: u32,
    mined_sats: u64,
    mined_btc: Btc,
}

impl MinedSum {
    fn of(mined: MinedBlocks) -> Self {
        MinedSum { block_count: mined.blocks, mined_sats: mined.sats, mined_btc: Btc::of(mined.sats) }
    }
}

/// Flows of a pool.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PoolFlows {
    /// Display name of the pool.
    name: String,
    /// Name of the pool in paths.
    slug: String,
    #[serde(flatten)]
    mined: MinedSum,
    /// Outflow of the pool's scripts, without fees and returned sums; null with a reason.
    outflow_sats: Option<u64>,
    outflow_btc: Option<Btc>,
    /// Part of the outflow that went directly to exchanges, by today's labels.
    to_exchange_sats: Option<u64>,
    to_exchange_btc: Option<Btc>,
    /// Current balance of the pool's scripts; null with a reason.
    reserve_sats: Option<u64>,
    reserve_btc: Option<Btc>,
    /// Why outflow and balance are null; otherwise null.
    reason: Option<&'static str>,
    /// Number of scripts of the pool.
    holder_count: usize,
    /// Flows by UTC day (monotone block time), the newest first; days without flows are left out.
    days: Vec<DayFlows>,
}

/// A day of a pool.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MinerFlowsDay")]
pub(crate) struct DayFlows {
    date: String,
    block_count: u32,
    mined_sats: u64,
    outflow_sats: Option<u64>,
    to_exchange_sats: Option<u64>,
}

impl Operation for MinerFlows {
    const INFO: Info = Info {
        summary: "Amounts that mining pools mined, paid out and sent to exchanges, day by day",
        description: "For each pool of the last day, week or month: the sum that its blocks paid, the outflow of its \
            scripts, the part that went to exchanges directly, and the current balance of these scripts. For pools \
            that pay their members in the coinbase, only the mined sum counts. Blocks belong to pools as in pool_list; \
            exchanges are those of today's labels.",
        cost: Cost::Heavy,
        freshness: &[TIP, CLAIMS, LABELS],
        needs_tip: true,
        errors: &[ErrorCode::PoolNotFound],
        tool: Tool::UNLISTED,
        ..index_get("miner_flows", "/v1/miner/flows", "pools")
    };
    type Input = FlowsInput;
    type Output = Formatted<FlowsOutput>;

    fn run(ctx: &Ctx<'_>, input: FlowsInput) -> Result<Formatted<FlowsOutput>, ApiError> {
        let (view, mut judge) = (ctx.view()?, Judge::new(ctx)?);
        let days = match input.range {
            Range::Day => 1,
            Range::Week => 7,
            Range::Month => 30,
        };
        let window = Window::of(view, Some(SinceParam::Days(days)), None)?;
        let Pools { mut pools, unidentified } = Pools::of(&mut judge, view, window.since)?;
        if let Some(asked) = &input.pool {
            let name = asked.trim().to_lowercase();
            pools.retain(|pool, _| pool.as_str() == name);
            if pools.is_empty() {
                let detail = format!(
                    "none of the last {HOLDER_BLOCKS} blocks belongs to a pool with this name; /v1/pools/list has the \
                     names"
                );
                return Err(ctx.missing(ErrorCode::PoolNotFound, detail));
            }
        } else {
            pools.retain(|_, pool| !pool.days.is_empty());
        }
        let mut ranked: Vec<(EntityName, Pool)> = pools.into_iter().collect();
        ranked.sort_by(|a, b| Reverse(a.1.mined().sats).cmp(&Reverse(b.1.mined().sats)).then_with(|| a.0.cmp(&b.0)));
        let others = ranked.split_off(ranked.len().min(input.limit.get() as usize));
        let mut reading = OutflowReader::default();
        let mut rows = Vec::new();
        for (name, pool) in ranked {
            rows.push(flows(ctx, view, &judge, &mut reading, (name, pool), window.first)?);
        }
        let sum = |all: &mut dyn Iterator<Item = MinedBlocks>| {
            let mut sum = MinedBlocks::default();
            all.for_each(|of| sum.add(of.blocks, of.sats));
            MinedSum::of(sum)
        };
        let object = |pools| {
            Ok(FlowsOutput {
                range: input.range,
                since_height: window.since,
                holder_blocks: HOLDER_BLOCKS.min(view.tip().height),
                lists_loaded: judge.is_loaded()?,
                pools,
                other: sum(&mut others.iter().map(|(_, pool)| pool.mined())),
                unidentified: sum(&mut unidentified.values().copied()),
                definition: MINER_FLOWS,
            })
        };
        input.format.answer(rows, object, |pools| Ok(table(pools)))
    }
}

/// The flows of a pool from a transaction on.
fn flows(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    judge: &Judge<'_, '_>,
    reading: &mut OutflowReader,
    (pool, facts): (EntityName, Pool),
    first: TxNum,
) -> Result<PoolFlows, ApiError> {
    let mined = facts.mined();
    let mut reason = facts.is_of_members().then_some(OF_MEMBERS);
    if reason.is_none() && facts.holders.len() > MAX_HOLDERS {
        reason = Some(TOO_MANY);
    }
    let mut found: Vec<FoundScript> = Vec::new();
    if reason.is_none() {
        for hash in &facts.holders {
            ctx.work.poll()?;
            found.extend(view.scripts().find_hash(hash)?.map(|(script, _)| script));
        }
    }
    let left = match reason {
        None => reading.outflow(ctx, view, &found, first)?,
        Some(_) => None,
    };
    reason = reason.or(left.is_none().then_some(TOO_MUCH));
    let total = left.as_ref().map(|days| {
        days.values().fold(Outflow::default(), |sum, day| Outflow {
            sats: sum.sats.saturating_add(day.sats),
            to_exchange: sum.to_exchange.saturating_add(day.to_exchange),
        })
    });
    let reserve = |scripts: &[FoundScript]| -> Sats {
        scripts.iter().map(|of| of.totals.balance()).fold(0, Sats::saturating_add)
    };
    let knows_holders = !matches!(reason, Some(OF_MEMBERS | TOO_MANY));
    let reserve = knows_holders.then(|| reserve(&found));
    Ok(PoolFlows {
        name: judge.name(&pool),
        slug: pool.to_string(),
        mined: MinedSum::of(mined),
        outflow_sats: total.map(|left| left.sats),
        outflow_btc: total.map(|left| Btc::of(left.sats)),
        to_exchange_sats: total.map(|left| left.to_exchange),
        to_exchange_btc: total.map(|left| Btc::of(left.to_exchange)),
        reserve_sats: reserve,
        reserve_btc: reserve.map(Btc::of),
        reason,
        holder_count: facts.holders.len(),
        days: by_day(&facts.days, left.as_ref()),
    })
}

fn by_day(mined: &BTreeMap<u32, MinedBlocks>, left: Option<&BTreeMap<u32, Outflow>>) -> Vec<DayFlows> {
    let days: BTreeSet<u32> = mined.keys().chain(left.into_iter().flat_map(BTreeMap::keys)).copied().collect();
    let row = |day: u32| {
        let mined = mined.get(&day).copied().unwrap_or_default();
        let left = left.map(|left| left.get(&day).copied().unwrap_or_default());
        DayFlows {
            date: date(day),
            block_count: mined.blocks,
            mined_sats: mined.sats,
            outflow_sats: left.map(|left| left.sats),
            to_exchange_sats: left.map(|left| left.to_exchange),
        }
    };
    days.into_iter().rev().map(row).collect()
}

struct DayOfPool(String, DayFlows);

columns! { DayOfPool {
    date: |of| of.1.date,
    pool: |of| of.0,
    block_count: |of| of.1.block_count,
    mined_sats: |of| of.1.mined_sats,
    outflow_sats: |of| of.1.outflow_sats,
    to_exchange_sats: |of| of.1.to_exchange_sats,
} }

fn table(pools: Vec<PoolFlows>) -> Table {
    let days = |pool: PoolFlows| pool.days.into_iter().map(move |day| DayOfPool(pool.slug.clone(), day));
    Table::new(pools.into_iter().flat_map(days))
}
