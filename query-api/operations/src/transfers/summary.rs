//! `GET /v1/pulse/summary`.

use cairn_domain::{dormancy::MOVEMENT_SATS, transfers::LARGE_SATS};
use cairn_model::DAY_SECS;
use cairn_reader::{ReadError, Transfer};
use cairn_tables::{ages::DormantRow, transfers::GatheredRow};

use crate::{
    operation::prelude::*,
    parameters::since::SinceParam,
    values::Decimal,
    window::{BoundedScan, ScanStep, Window},
};

pub(crate) struct PulseSummary;

/// It takes no parameter.
pub(crate) type SummaryInput = cairn_http::NoInput;

/// All scanners at a glance.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PulseSummaryOutput")]
pub(crate) struct SummaryOutput {
    /// First block of the 24 hours before the newest one, by monotone block time.
    since_height: Height,
    /// Number of blocks in these 24 hours.
    block_count: u32,
    /// Number of transactions in these blocks.
    tx_count: u64,
    /// Transactions that pay 100 BTC or more to others.
    whales: Whales,
    /// Transactions whose coins of a year and more are worth 10 BTC or more together.
    dormant: DormantScanner,
    /// Transactions that gather ten coins or more.
    consolidations: Consolidations,
    /// `watched` if the scanners also see unconfirmed transactions; otherwise `absent`, with a reason.
    mempool: &'static str,
    mempool_reason: Option<&'static str>,
}

/// The state of a scanner.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ScannerState")]
pub(crate) struct State {
    /// `live`; or `rebuilding`, without sums, while the index rebuilds its tables.
    status: &'static str,
    /// Operation with more details.
    path: &'static str,
    /// First block of the sums; above `since_height` if there are too many transactions to add up.
    covered_from_height: Option<Height>,
}

/// Large amounts.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "WhaleScanner")]
pub(crate) struct Whales {
    #[serde(flatten)]
    state: State,
    count: Option<u64>,
    /// Sum that these transactions pay to others.
    net_external_sats: Option<u64>,
    net_external_btc: Option<Btc>,
    /// Largest sum that one of them pays to others.
    largest_sats: Option<u64>,
    /// Number of CoinJoins that pay 100 BTC or more; they are not whale alerts.
    coinjoin_count: Option<u64>,
}

/// Old coins.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DormantScanner {
    #[serde(flatten)]
    state: State,
    count: Option<u64>,
    /// Sum of the old coins of these transactions.
    old_sats: Option<u64>,
    old_btc: Option<Btc>,
    /// Coin-days that these coins destroyed, in bitcoin-days.
    coin_days_destroyed: Option<Decimal<8>>,
}

/// Consolidations: transactions that gather many coins.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ConsolidationScanner")]
pub(crate) struct Consolidations {
    #[serde(flatten)]
    state: State,
    count: Option<u64>,
    input_count: Option<u64>,
    /// Sum of the inputs.
    value_sats: Option<u64>,
    value_btc: Option<Btc>,
}

impl Operation for PulseSummary {
    const INFO: Info = Info {
        summary: "Movements of the last 24 hours: large amounts, old coins, gathered coins",
        description: "The scanners of /v1/pulse at a glance: for each, the number of its transactions in the 24 hours \
            before the newest block, the sums that they move, and whether it is up to date. Confirmed transactions \
            only.",
        freshness: &[TIP, MEMPOOL],
        tool: Tool::reads(
            "asked what happened on the chain in the last day",
            "single transactions (pulse_whales, pulse_dormant)",
        ),
        ..and_mempool(index_get("pulse_summary", "/v1/pulse/summary", "pulse"))
    };
    type Input = SummaryInput;
    type Output = SummaryOutput;

    fn run(ctx: &Ctx<'_>, _: SummaryInput) -> Result<SummaryOutput, ApiError> {
        let view = ctx.view()?;
        let window = Window::of(view, Some(SinceParam::Days(1)), None)?;
        let mempool_reason = ctx.pool.as_ref().err().map(|absent| absent.reason());
        Ok(SummaryOutput {
            since_height: window.since,
            block_count: window.until.saturating_sub(window.since),
            tx_count: window.end.0.saturating_sub(window.first.0),
            whales: whales(ctx, view, window)?,
            dormant: dormant(ctx, view, window)?,
            consolidations: consolidations(ctx, view, window)?,
            mempool: if mempool_reason.is_none() { "watched" } else { "absent" },
            mempool_reason,
        })
    }
}

/// Shows the rows of a window, as many as one answer may look through.
fn sum<R: Copy>(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    (window, path): (Window, &'static str),
    mut older: impl FnMut() -> Result<Option<(TxNum, R)>, ApiError>,
    mut show: impl FnMut(R),
) -> Result<State, ApiError> {
    let mut scan = BoundedScan::back_to(window.first);
    loop {
        let covered_from_height = match scan.next(&ctx.work, &mut older, |_| true)? {
            ScanStep::Tx(_, row) => {
                show(row);
                continue;
            }
            ScanStep::End => window.since,
            ScanStep::Enough(last) => view.chain().height_of(last).unwrap_or_default().saturating_add(1),
        };
        return Ok(State { status: "live", path, covered_from_height: Some(covered_from_height) });
    }
}

/// Returns the begun walk; `None` while its tables are rebuilt.
fn begun<W>(walk: Result<Option<W>, ReadError>) -> Result<Option<Option<W>>, ApiError> {
    match walk {
        Ok(walk) => Ok(Some(walk)),
        Err(ReadError::Unfinished(_) | ReadError::StageVersion { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

const fn rebuilding(path: &'static str) -> State {
    State { status: "rebuilding", path, covered_from_height: None }
}

fn whales(ctx: &Ctx<'_>, view: &View<'_>, window: Window) -> Result<Whales, ApiError> {
    const PATH: &str = "/v1/pulse/whales";
    let Some(mut walk) = begun(view.movements().transfers_before(window.end))? else {
        let (count, sats) = (None, None);
        return Ok(Whales {
            state: rebuilding(PATH),
            count,
            net_external_sats: sats,
            net_external_btc: None,
            largest_sats: sats,
            coinjoin_count: count,
        });
    };
    let (mut count, mut sats, mut largest, mut coinjoins) = (0, 0u64, 0, 0);
    let older = || Ok(walk.as_mut().map(|walk| walk.older()).transpose()?.flatten().map(|of| (of.tx_num, of)));
    let state = sum(ctx, view, (window, PATH), older, |of: Transfer| {
        if of.coinjoin {
            coinjoins += 1;
        } else if of.net_external >= LARGE_SATS {
            count += 1;
            sats = sats.saturating_add(of.net_external);
            largest = of.net_external.max(largest);
        }
    })?;
    Ok(Whales {
        state,
        count: Some(count),
        net_external_sats: Some(sats),
        net_external_btc: Some(Btc::of(sats)),
        largest_sats: Some(largest),
        coinjoin_count: Some(coinjoins),
    })
}

fn dormant(ctx: &Ctx<'_>, view: &View<'_>, window: Window) -> Result<DormantScanner, ApiError> {
    const PATH: &str = "/v1/pulse/dormant";
    let Some(mut walk) = begun(view.movements().dormant_before(window.end))? else {
        let (count, old_sats) = (None, None);
        return Ok(DormantScanner {
            state: rebuilding(PATH),
            count,
            old_sats,
            old_btc: None,
            coin_days_destroyed: None,
        });
    };
    let of_row = |row: &DormantRow| {
        let sats = row.0.iter().map(|of| of.sats).fold(0, u64::saturating_add);
        (sats, row.0.iter().map(|of| of.destroyed).fold(0, u128::saturating_add))
    };
    let (mut count, mut sats, mut destroyed) = (0, 0u64, 0u128);
    let older = || {
        let row = walk.as_mut().map(|walk| walk.older()).transpose()?.flatten();
        Ok(row.map(|(tx_num, row)| (tx_num, of_row(&row))))
    };
    let state = sum(ctx, view, (window, PATH), older, |(old, of)| {
        if old >= MOVEMENT_SATS {
            count += 1;
            sats = sats.saturating_add(old);
            destroyed = destroyed.saturating_add(of);
        }
    })?;
    let coin_days = (destroyed / u128::from(DAY_SECS)).cast_signed();
    Ok(DormantScanner {
        state,
        count: Some(count),
        old_sats: Some(sats),
        old_btc: Some(Btc::of(sats)),
        coin_days_destroyed: Some(Decimal(coin_days)),
    })
}

fn consolidations(ctx: &Ctx<'_>, view: &View<'_>, window: Window) -> Result<Consolidations, ApiError> {
    const PATH: &str = "/v1/pulse/consolidations";
    let Some(mut walk) = begun(view.movements().consolidations_before(window.end))? else {
        let (count, value_sats) = (None, None);
        return Ok(Consolidations { state: rebuilding(PATH), count, input_count: count, value_sats, value_btc: None });
    };
    let (mut count, mut inputs, mut sats) = (0, 0u64, 0u64);
    let older = || Ok(walk.as_mut().map(|walk| walk.older()).transpose()?.flatten());
    let state = sum(ctx, view, (window, PATH), older, |row: GatheredRow| {
        count += 1;
        inputs = inputs.saturating_add(row.inputs.into());
        sats = sats.saturating_add(row.sats);
    })?;
    Ok(Consolidations {
        state,
        count: Some(count),
        input_count: Some(inputs),
        value_sats: Some(sats),
        value_btc: Some(Btc::of(sats)),
    })
}
