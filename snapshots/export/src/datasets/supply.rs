//! `supply_changes`.

use cairn_reader::View;

use crate::{
    Dataset, ExportError,
    columns::{Kind, column},
    dataset::{Scope, Source},
    sink::Sink,
};

pub(super) const SUPPLY_CHANGES: Dataset = Dataset {
    name: "supply_changes",
    about: "Daily changes of the unspent supply, by the day on which its coins were created. The sum of all days up to \
        a day is the supply by age at its end: HODL waves and, with prices, realized capitalization.",
    sorted_by: &["day", "birth_day"],
    columns: &[
        column("day", Kind::Day, "Day of the change, by monotone block time."),
        column("birth_day", Kind::Day, "Day of the block that created the coins."),
        column("change", Kind::Sats, "Value of created coins minus value of spent or overwritten coins."),
        column("coins", Kind::Long, "Number of created coins minus number of spent or overwritten coins."),
    ],
    source: Source::Whole(rows),
};

fn rows(scope: &Scope<'_>, view: &View<'_>, sink: &mut Sink) -> Result<(), ExportError> {
    view.days().supply_changes::<ExportError>(0..=u32::MAX, |day, changes| {
        scope.check()?;
        for change in changes.iter().filter(|change| (change.sats, change.coins) != (0, 0)) {
            sink.rows.day(day);
            sink.rows.day(change.day);
            sink.rows.signed(change.sats);
            sink.rows.signed(change.coins);
            sink.settle()?;
        }
        Ok(())
    })
}
