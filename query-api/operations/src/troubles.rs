//! Parts that do not work at present, in this process and in the one that writes the index.

use cairn_http::Metric;
use cairn_link::IndexSource;
use cairn_metrics::{TROUBLE, TROUBLE_SINCE};
use cairn_model::{Part, Trouble};
use parking_lot::RwLock;
use schemars::JsonSchema;
use serde::Serialize;

use crate::values::rfc3339_ms;

/// The troubles of the serving process, for health and metrics.
#[derive(Default, Debug)]
pub struct TroubleSlot(RwLock<Vec<Trouble>>);

impl TroubleSlot {
    /// A part does not work. If it did not work before, it is since then.
    pub fn set(&self, part: Part, error: &str, next: &str, now: u64) {
        let mut all = self.0.write();
        let since = all.iter().find(|trouble| trouble.part == part).map_or(now, |before| before.since);
        all.retain(|trouble| trouble.part != part);
        all.push(Trouble::new(part, error, next, since));
    }

    /// A part works. Returns since when it had not.
    pub fn clear(&self, part: Part) -> Option<u64> {
        let mut all = self.0.write();
        let at = all.iter().position(|trouble| trouble.part == part)?;
        Some(all.swap_remove(at).since)
    }

    fn all(&self) -> Vec<Trouble> {
        self.0.read().clone()
    }
}

/// All troubles: those that the writer reports, and those of this process.
pub(crate) fn all_troubles(index: &dyn IndexSource, own: &TroubleSlot) -> Vec<Trouble> {
    index.troubles().iter().cloned().chain(own.all()).collect()
}

/// A part of the service that does not work at present. Indexed data is still served.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "HealthTrouble")]
pub(crate) struct TroubleRow {
    /// `node`, `zmq` (its news, for which it is polled instead), `mempool` (unconfirmed transactions only),
    /// `block_files`, `index`, `disk` (that of the index), `indexer` (the process that writes the index) or `state`
    /// (the database of the service state).
    part: &'static str,
    /// Reason in one line.
    reason: String,
    /// Time since which the part does not work.
    since: String,
    /// Remedy that the service tries.
    next: String,
}

impl TroubleRow {
    /// The rows of troubles, in their order.
    pub(crate) fn all(troubles: &[Trouble]) -> Vec<Self> {
        let row = |trouble: &Trouble| TroubleRow {
            part: trouble.part.name(),
            reason: trouble.reason.clone(),
            since: since(trouble),
            next: trouble.next.clone(),
        };
        troubles.iter().map(row).collect()
    }
}

pub(crate) fn since(trouble: &Trouble) -> String {
    rfc3339_ms(trouble.since.saturating_mul(1_000))
}

/// The component of `/api/health/full` that a part belongs to; `None`: it has no row.
pub(crate) fn component(part: Part) -> Option<&'static str> {
    match part {
        Part::Node | Part::Zmq => Some("node"),
        Part::Mempool => Some("mempool"),
        Part::BlockFiles | Part::Index | Part::Disk | Part::Indexer => Some("index"),
        Part::State => None,
    }
}

/// Lines for operators: what does not work although the service is ready.
pub(crate) fn remarks(troubles: &[Trouble]) -> String {
    let line = |trouble: &Trouble| {
        format!("{}: {} (since {}; {})\n", trouble.part.name(), trouble.reason, since(trouble), trouble.next)
    };
    troubles.iter().map(line).collect()
}

/// The metrics: for each part whether it does not work, and since when.
pub(crate) fn readings(troubles: &[Trouble]) -> [Metric; 2] {
    let of = |part: Part| troubles.iter().find(|trouble| trouble.part == part);
    [
        Metric {
            name: TROUBLE.name,
            help: TROUBLE.help,
            grows: false,
            label: Some("part"),
            values: Part::ALL.map(|part| (part.name(), of(part).is_some().into())).to_vec(),
        },
        Metric {
            name: TROUBLE_SINCE.name,
            help: TROUBLE_SINCE.help,
            grows: false,
            label: Some("part"),
            values: Part::ALL.map(|part| (part.name(), of(part).map_or(0, |trouble| trouble.since))).to_vec(),
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_listed_once_and_since_it_stopped_working() {
        let slot = TroubleSlot::default();
        slot.set(Part::State, "locked", "asks", 100);
        slot.set(Part::State, "missing", "asks", 200);
        let all = slot.all();
        assert_eq!(all, [Trouble::new(Part::State, "missing", "asks", 100)]);
        assert_eq!(remarks(&all), "state: missing (since 1970-01-01T00:01:40.000Z; asks)\n");
        let [is, since] = readings(&all);
        assert!(is.values.contains(&("state", 1)) && is.values.contains(&("node", 0)));
        assert!(since.values.contains(&("state", 100)) && since.values.contains(&("node", 0)));
        assert_eq!((slot.clear(Part::State), slot.clear(Part::State)), (Some(100), None));
        assert!(slot.all().is_empty());
    }
}
