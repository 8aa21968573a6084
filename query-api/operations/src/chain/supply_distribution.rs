//! `GET /v1/chain/supply-distribution`.

use cairn_domain::{AGE_CLASSES, LONG_TERM_DAYS, TOP_BAND, age_class, balance_band};
use cairn_model::day_of;
use cairn_reader::{BornOn, ReadError};
use cairn_tables::{
    script_days::{BANDS, NO_ADDRESS},
    sums::Sums,
};

use crate::{
    context::{BlockRef, block_ref},
    operation::prelude::*,
    values::{Decimal, date},
};

pub(crate) struct SupplyDistribution;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct SupplyDistributionInput {
    /// Height of a block: the answer is for the end of its day (UTC, monotone block time). Default: the newest block.
    #[schemars(example = 100)]
    as_of: Option<Height>,
}

/// The supply by age and by balance.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SupplyDistributionOutput {
    /// Block at which the supply is counted: the last one of the requested day.
    as_of: BlockRef,
    /// Day of that block, as YYYY-MM-DD (UTC, monotone block time). Ages are counted in whole days up to this day.
    date: String,
    /// Sum of all unspent coins, without unspendable outputs (OP_RETURN) and the genesis block's.
    supply_sats: u64,
    supply_btc: Btc,
    coins: u64,
    /// Coins by age.
    by_age: Vec<AgeClass>,
    /// Coins that are at least `from_days` old.
    long_term: LongTerm,
    /// Scripts by balance.
    by_balance: ByBalance,
    /// Clusters by balance: scripts that transactions show to have one owner count as one holder.
    by_cluster: ByCluster,
}

/// Coins of a class of age.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AgeClass {
    /// Minimum age in days.
    from_days: u64,
    /// Age in days at which the next class begins; null for the last class.
    to_days: Option<u64>,
    coins: u64,
    sats: u64,
    btc: Btc,
    /// Share of the supply, from 0 to 1, rounded down.
    share: Decimal<6>,
}

/// Coins that are at least `from_days` old.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LongTerm {
    /// Minimum age in days.
    from_days: u32,
    coins: u64,
    sats: u64,
    btc: Btc,
    /// Share of the supply, from 0 to 1, rounded down.
    share: Decimal<6>,
}

/// Holders by balance. A holder is a scriptPubKey with a balance above zero, whether it has an address or not.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ByBalance {
    holders: u64,
    /// Number of holders without an address.
    without_address: u64,
    /// Holders by balance, in powers of ten.
    bands: Vec<Band>,
}

/// Clusters by balance. A script that was never spent together with others is a cluster of its own.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ByCluster {
    /// Number of clusters with a balance above zero.
    holders: u64,
    /// Clusters by balance, in powers of ten.
    bands: Vec<ClusterBand>,
}

/// Clusters in a band of balances.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ClusterBand {
    /// Minimum balance.
    from_sats: u64,
    /// Balance at which the next band begins; null for the last.
    to_sats: Option<u64>,
    holders: u64,
    /// Sum of the balances in the band.
    sats: u64,
    btc: Btc,
    /// Share of the supply, from 0 to 1, rounded down.
    share: Decimal<6>,
}

/// Holders in a band of balances.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Band {
    /// Minimum balance.
    from_sats: u64,
    /// Balance at which the next band begins; null for the last.
    to_sats: Option<u64>,
    holders: u64,
    /// Sum of the balances in the band.
    sats: u64,
    btc: Btc,
    /// Share of the supply, from 0 to 1, rounded down.
    share: Decimal<6>,
    /// Holders in the band without an address: bare public keys, bare multisig, and non-standard scripts.
    without_address: HeldBy,
}

/// Number and balance of some holders.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HeldBy {
    holders: u64,
    /// Sum of the balances.
    sats: u64,
}

impl Operation for SupplyDistribution {
    const INFO: Info = Info {
        summary: "Distribution of the supply: coins by age, holders by balance",
        description: "All unspent coins by age (twelve classes from under a day to over ten years, and those held for \
            155 days or longer); all scripts with a balance by powers of ten, from 1 satoshi to 100,000 BTC and more; \
            and the same by cluster, where scripts that transactions spend from together count as one holder. `as_of` \
            selects an earlier day. Each of the three sums equals the set of unspent coins exactly. Holders are not \
            people: one owner may have many scripts and clusters, and one script may hold the coins of many.",
        errors: &[ErrorCode::BlockNotFound],
        tool: Tool::reads(
            "asked how bitcoin is distributed: the age of coins, long-term holders, how many addresses hold how much",
            "one address (wallet_overview), or hash rate and halving (network_intelligence)",
        ),
        cost: Cost::Heavy,
        ..index_get("supply_distribution", "/v1/chain/supply-distribution", "chain")
    };
    type Input = SupplyDistributionInput;
    type Output = SupplyDistributionOutput;

    fn run(ctx: &Ctx<'_>, input: SupplyDistributionInput) -> Result<SupplyDistributionOutput, ApiError> {
        let view = ctx.view()?;
        let height = ctx.as_of(input.as_of)?;
        // Below the tip every height has a block.
        let last = view.days().last_of_day(height).unwrap_or(height);
        let day = view.chain().get(last).map_or(0, |block| day_of(block.mono_time));
        let (births, scripts) = (view.days().supply_by_birth(day)?, view.days().scripts(day)?);
        let clusters = view.days().clusters(day)?;
        let supply: Sats = births.iter().map(|born| born.sats).sum();
        for (holders, sums) in [("scripts", &scripts), ("clusters", &clusters)] {
            let held = (0..BANDS).map(|band| sums.get(BANDS + band)).sum::<i128>();
            if held != i128::from(supply) {
                let what = format!("{holders} hold {held} sats, but {supply} are unspent");
                return Err(ReadError::Broken(what).into());
            }
        }
        let coins = births.iter().map(|born| born.coins).sum();
        Ok(SupplyDistributionOutput {
            as_of: block_ref(view, last)?,
            date: date(day),
            supply_sats: supply,
            supply_btc: Btc::of(supply),
            coins,
            by_age: by_age(&births, day, supply),
            long_term: long_term(&births, day, supply),
            by_balance: by_balance(&scripts, supply)?,
            by_cluster: by_cluster(&clusters, supply)?,
        })
    }
}

/// In millionths.
fn share(sats: Sats, supply: Sats) -> Decimal<6> {
    Decimal((i128::from(sats) * 1_000_000).checked_div(supply.into()).unwrap_or(0))
}

/// Value and number of some coins.
fn sum<'b>(births: impl Iterator<Item = &'b BornOn>) -> (Sats, u64) {
    births.fold((0, 0), |(sats, coins), born| (sats + born.sats, coins + born.coins))
}

fn by_age(births: &[BornOn], day: u32, supply: Sats) -> Vec<AgeClass> {
    let classes = AGE_CLASSES.iter().enumerate();
    let class = classes.map(|(class, bounds)| {
        let (sats, coins) = sum(births.iter().filter(|born| age_class(day.saturating_sub(born.day)) == class));
        let (from_days, to_days) = (bounds.from, bounds.to);
        AgeClass { from_days, to_days, coins, sats, btc: Btc::of(sats), share: share(sats, supply) }
    });
    class.collect()
}

fn long_term(births: &[BornOn], day: u32, supply: Sats) -> LongTerm {
    let (sats, coins) = sum(births.iter().filter(|born| day.saturating_sub(born.day) >= LONG_TERM_DAYS));
    LongTerm { from_days: LONG_TERM_DAYS, coins, sats, btc: Btc::of(sats), share: share(sats, supply) }
}

/// Sum of the holders of a band; the last band has all above it.
fn total(holders: &Sums, first: u32, band: u32) -> Result<u64, ReadError> {
    let end = if band == TOP_BAND { BANDS } else { band + 1 };
    let sum = (band..end).map(|band| holders.get(first + band)).sum::<i128>();
    u64::try_from(sum).map_err(|_| ReadError::Broken(format!("holders by balance add up to {sum}")))
}

fn by_cluster(clusters: &Sums, supply: Sats) -> Result<ByCluster, ReadError> {
    let band = |band| {
        let (bounds, sats) = (balance_band(band), total(clusters, BANDS, band)?);
        Ok(ClusterBand {
            from_sats: bounds.from,
            to_sats: bounds.to,
            holders: total(clusters, 0, band)?,
            sats,
            btc: Btc::of(sats),
            share: share(sats, supply),
        })
    };
    let bands = (0..=TOP_BAND).map(band).collect::<Result<Vec<ClusterBand>, ReadError>>()?;
    Ok(ByCluster { holders: bands.iter().map(|band| band.holders).sum(), bands })
}

fn by_balance(scripts: &Sums, supply: Sats) -> Result<ByBalance, ReadError> {
    let total = |first: u32, band: u32| total(scripts, first, band);
    let band = |band| {
        let (bounds, sats) = (balance_band(band), total(BANDS, band)?);
        Ok(Band {
            from_sats: bounds.from,
            to_sats: bounds.to,
            holders: total(0, band)?,
            sats,
            btc: Btc::of(sats),
            share: share(sats, supply),
            without_address: HeldBy { holders: total(NO_ADDRESS, band)?, sats: total(NO_ADDRESS + BANDS, band)? },
        })
    };
    let bands = (0..=TOP_BAND).map(band).collect::<Result<Vec<Band>, ReadError>>()?;
    Ok(ByBalance {
        holders: bands.iter().map(|band| band.holders).sum(),
        without_address: bands.iter().map(|band| band.without_address.holders).sum(),
        bands,
    })
}
