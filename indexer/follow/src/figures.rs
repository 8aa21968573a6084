//! Metrics of the follower since the start.

use cairn_mempool::MempoolStatus;
use cairn_metrics::{
    BLOCKS_CONNECTED, BLOCKS_DISCONNECTED, MEMPOOL_CORRECTIONS, MEMPOOL_GAPS_REPAIRED, MEMPOOL_SNAPSHOTS,
    REORGANIZATIONS,
};
use prometheus::{IntCounter, Registry};

use crate::FollowError;

pub(crate) struct Figures {
    connected: IntCounter,
    disconnected: IntCounter,
    reorganizations: IntCounter,
    snapshots: IntCounter,
    corrections: IntCounter,
    gaps: IntCounter,
}

impl Figures {
    pub(crate) fn register(registry: &Registry) -> Result<Self, FollowError> {
        Ok(Figures {
            connected: BLOCKS_CONNECTED.counter(registry)?,
            disconnected: BLOCKS_DISCONNECTED.counter(registry)?,
            reorganizations: REORGANIZATIONS.counter(registry)?,
            snapshots: MEMPOOL_SNAPSHOTS.counter(registry)?,
            corrections: MEMPOOL_CORRECTIONS.counter(registry)?,
            gaps: MEMPOOL_GAPS_REPAIRED.counter(registry)?,
        })
    }

    /// Counts connected and disconnected blocks. The disconnected ones belong to one reorganization.
    pub(crate) fn blocks(&self, connected: u64, disconnected: u64) {
        self.connected.inc_by(connected);
        self.disconnected.inc_by(disconnected);
        self.reorganizations.inc_by((disconnected > 0).into());
    }

    /// Adds the growth of the mempool's own counters, which never fall while it is watched.
    pub(crate) fn mempool(&self, status: &MempoolStatus) {
        let corrections = status.corrections.added.saturating_add(status.corrections.removed);
        for (counter, now) in [
            (&self.snapshots, status.reconciliations),
            (&self.corrections, corrections),
            (&self.gaps, status.gaps_repaired),
        ] {
            counter.inc_by(now.saturating_sub(counter.get()));
        }
    }
}

#[cfg(test)]
mod tests {
    use cairn_mempool::Corrections;
    use prometheus::TextEncoder;

    use super::*;

    fn shown(registry: &Registry) -> Vec<String> {
        let text = TextEncoder::new().encode_to_string(&registry.gather()).unwrap_or_default();
        text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
    }

    #[test]
    fn what_happened_is_counted_once() -> Result<(), FollowError> {
        let registry = Registry::new();
        let figures = Figures::register(&registry)?;
        figures.blocks(100, 0);
        figures.blocks(3, 2);
        for (reconciliations, added) in [(1, 5), (1, 5), (4, 6)] {
            let corrections = Corrections { added, removed: 1 };
            figures.mempool(&MempoolStatus { reconciliations, corrections, ..MempoolStatus::default() });
        }
        assert_eq!(
            shown(&registry),
            [
                "cairn_index_blocks_connected_total 103",
                "cairn_index_blocks_disconnected_total 2",
                "cairn_index_reorganizations_total 1",
                "cairn_mempool_corrections_total 7",
                "cairn_mempool_gaps_repaired_total 0",
                "cairn_mempool_snapshots_total 4",
            ]
        );
        assert!(Figures::register(&registry).is_err(), "nobody else counts under these names");
        Ok(())
    }
}
