//! `daily` and `balance_bands`.

use cairn_reader::View;
use cairn_tables::{
    daily::Measure,
    script_days::{ACTIVE, BANDS, NO_ADDRESS, RECEIVERS, SENDERS},
};

use crate::{
    Dataset, ExportError,
    columns::{Kind, column},
    dataset::{Scope, Source},
    sink::Sink,
};

pub(super) const DAILY: Dataset = Dataset {
    name: "daily",
    about: "Sums over the blocks of each day with blocks. A coin-second is one satoshi that is unspent for one second.",
    sorted_by: &["day"],
    columns: &[
        column("day", Kind::Day, "Day, by monotone block time."),
        column("blocks", Kind::Long, "Number of blocks."),
        column("transactions", Kind::Long, "Number of transactions, including coinbases."),
        column("created_coins", Kind::Long, "Number of created coins: spendable outputs."),
        column("created", Kind::Sats, "Value of the created coins."),
        column("spent_coins", Kind::Long, "Number of spent coins."),
        column("spent", Kind::Sats, "Value of the spent coins."),
        column("overwritten_coins", Kind::Long, "Number of overwritten coins (BIP 30)."),
        column("overwritten", Kind::Sats, "Value of the overwritten coins."),
        column("fee", Kind::Sats, "Fees of all transactions."),
        column(
            "coin_seconds_destroyed",
            Kind::Wide,
            "Sum over the spent coins of value in satoshis times age in seconds.",
        ),
        column("senders", Kind::Long, "Number of scripts that sent."),
        column("receivers", Kind::Long, "Number of scripts that received."),
        column("active", Kind::Long, "Number of scripts that sent or received."),
        column("to_others", Kind::Sats, "Value paid to scripts in clusters that the transaction does not spend from."),
    ],
    source: Source::Whole(daily),
};

pub(super) const BALANCE_BANDS: Dataset = Dataset {
    name: "balance_bands",
    about: "Daily changes of the number of scripts and clusters in each band of balances, and of their total balances. \
        The sum of all days up to a day is the state at its end.",
    sorted_by: &["day", "band"],
    columns: &[
        column("day", Kind::Day, "Day of the change, by monotone block time."),
        column(
            "band",
            Kind::Int,
            "Band of balances: at least 10^band satoshis and less than 10^(band + 1); the last band has no upper \
            limit.",
        ),
        column("scripts", Kind::Long, "Change of the number of scripts."),
        column("scripts_balance", Kind::Sats, "Change of the total balance of these scripts."),
        column("scripts_without_address", Kind::Long, "Change of the number of these scripts that have no address."),
        column(
            "clusters",
            Kind::Long,
            "Change of the number of clusters, including scripts that are their own cluster.",
        ),
        column("clusters_balance", Kind::Sats, "Change of the total balance of these clusters."),
    ],
    source: Source::Whole(bands),
};

/// Position in `cluster_days` of the value that transactions paid to others.
const TO_OTHERS: u32 = 2 * BANDS;

fn daily(scope: &Scope<'_>, view: &View<'_>, sink: &mut Sink) -> Result<(), ExportError> {
    for (day, sums) in view.days().sums(0..=u32::MAX)? {
        scope.check()?;
        let of = |measure: Measure| measure.of(&sums.blocks);
        let rows = &mut sink.rows;
        rows.day(day);
        rows.signed(of(Measure::Blocks));
        rows.signed(of(Measure::Txs));
        for (coins, sats) in [
            (Measure::CreatedCoins, Measure::CreatedSats),
            (Measure::SpentCoins, Measure::SpentSats),
            (Measure::OverwrittenCoins, Measure::OverwrittenSats),
        ] {
            rows.signed(of(coins));
            rows.signed(of(sats));
        }
        rows.signed(of(Measure::FeeSats));
        rows.wide(of(Measure::Destroyed));
        [SENDERS, RECEIVERS, ACTIVE].into_iter().for_each(|position| rows.signed(sums.scripts.get(position)));
        rows.signed(sums.clusters.get(TO_OTHERS));
        sink.settle()?;
    }
    Ok(())
}

fn bands(scope: &Scope<'_>, view: &View<'_>, sink: &mut Sink) -> Result<(), ExportError> {
    for (day, sums) in view.days().sums(0..=u32::MAX)? {
        scope.check()?;
        for band in 0..BANDS {
            let (scripts, clusters) = (&sums.scripts, &sums.clusters);
            let values = [
                scripts.get(band),
                scripts.get(BANDS + band),
                scripts.get(NO_ADDRESS + band),
                clusters.get(band),
                clusters.get(BANDS + band),
            ];
            if values == [0; 5] {
                continue;
            }
            sink.rows.day(day);
            sink.rows.number(band);
            values.into_iter().for_each(|value| sink.rows.signed(value));
            sink.settle()?;
        }
    }
    Ok(())
}
