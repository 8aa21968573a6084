//! Ages of the coins that a script has.

use cairn_model::{DAY_SECS, Outpoint};
use cairn_reader::FoundScript;
use cairn_tables::block_log::BlockLog;

use crate::{operation::prelude::*, values::Decimal};

const MAX_COINS: u64 = 1_000;

/// Ages of the unspent coins in days before the tip (monotone block time).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CoinAge {
    /// Mean age, weighted by amount: the sum of amount × age, divided by the sum of the amounts.
    mean_days: Decimal<1>,
    /// Full days of the oldest coin.
    oldest_days: u32,
    /// Full days of the youngest coin.
    youngest_days: u32,
}

/// The ages of the confirmed coins, or the reason why they are unknown. One row read for each coin.
pub(super) fn coin_age(
    view: &View<'_>,
    script: Option<&FoundScript>,
) -> Result<Result<CoinAge, &'static str>, ApiError> {
    let Some(script) = script.filter(|script| script.totals.coin_count() > 0) else { return Ok(Err("no_coins")) };
    if script.totals.coin_count() > MAX_COINS {
        return Ok(Err("too_many_coins"));
    }
    let first = Outpoint { tx_num: TxNum(0), vout: 0 };
    let now = view.tip().mono_time;
    let (mut weighted, mut sum) = (0_u128, 0_u128);
    let (mut oldest, mut youngest) = (0, u32::MAX);
    for (at, sats) in view.scripts().coins(script.id, first, MAX_COINS as usize)? {
        let born = view.chain().height_of(at.tx_num).and_then(|height| view.chain().get(height));
        let born = born.ok_or_else(|| lacks::<BlockLog>(format!("transaction {}", at.tx_num.0)))?;
        let age = now.saturating_sub(born.mono_time);
        weighted += u128::from(sats) * u128::from(age);
        sum += u128::from(sats);
        oldest = oldest.max(age);
        youngest = youngest.min(age);
    }
    // Coins of 0 satoshis have no weight.
    if sum == 0 {
        return Ok(Err("no_amount"));
    }
    let tenths = weighted * 10 / (sum * u128::from(DAY_SECS));
    Ok(Ok(CoinAge {
        mean_days: Decimal(i128::try_from(tenths).unwrap_or(i128::MAX)),
        oldest_days: oldest / DAY_SECS,
        youngest_days: youngest / DAY_SECS,
    }))
}
