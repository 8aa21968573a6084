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
    about: "Sums over the blocks of each day that has blocks. A coin-second is one satoshi that is unspent for one second.",
    sorted_by: &["day"],
    columns: &[
        column("day", Kind::Day, "Day, by monotone block time."),
        column("blocks", Kind::Long, "Blocks."),
        column("transactions", Kind::Long, "Transactions, with coinbases."),
        column("created_coins", Kind::Long, "Coins made: outputs that somebody can spend."),
        column("created", Kind::Sats, "Their value."),
        column("spent_coins", Kind::Long, "Coins spent."),
        column("spent", Kind::Sats, "Their value."),
        column("overwritten_coins", Kind::Long, "Coins overwritten (BIP 30)."),
        column("overwritten", Kind::Sats, "Their value."),
        column("fee", Kind::Sats, "Fees."),
        column("coin_seconds_destroyed", Kind::Wide, "Satoshis of each spent coin times its age in seconds."),
        column("senders", Kind::Long, "Scripts that sent."),
        column("receivers", Kind::Long, "Scripts that received."),
        column("active", Kind::Long, "Scripts that did either."),
        column("to_others", Kind::Sats, "Paid to scripts of clusters that the transaction does not spend from."),
    ],
    source: Source::Whole(daily),
};

pub(super) const BALANCE_BANDS: Dataset = Dataset {
    name: "balance_bands",
    about: "How the number of scripts, and of clusters, with a balance in a band changed on each day, and what they hold. The sum over \
        all days up to one is how it is at its end.",
    sorted_by: &["day", "band"],
    columns: &[
        column("day", Kind::Day, "Day of the change, by monotone block time."),
        column("band", Kind::Int, "A balance of 10^band satoshis and more, below the next; the last band has no end."),
        column("scripts", Kind::Long, "Change of the number of scripts."),
        column("scripts_balance", Kind::Sats, "Change of their balances together."),
        column("scripts_without_address", Kind::Long, "Number of these scripts without an address."),
        column(
            "clusters",
            Kind::Long,
            "Change of the number of clusters, with scripts that are clusters of their own.",
        ),
        column("clusters_balance", Kind::Sats, "Change of their balances together."),
    ],
    source: Source::Whole(bands),
};

/// Position in `cluster_days` of the sums that transactions paid to others.
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
