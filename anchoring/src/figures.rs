//! Metrics of the anchorer.

use cairn_metrics::{
    ANCHOR_TRANSACTIONS, ANCHORER, ANCHORS_LEFT, FAILING_ROUNDS, FEES_OF_DAY, HASHES_WAITING, OLDEST_UNANCHORED,
    OPEN_BATCHES, STUCK_BATCHES, WALLET, WALLET_FRAGMENTED,
};
use cairn_state::WalletState;
use prometheus::{IntCounterVec, IntGauge, IntGaugeVec, Registry};

use crate::decide::Reason;

/// Metrics of the anchorer.
#[derive(Clone, Debug)]
pub struct Figures {
    pub(crate) is_holder: IntGauge,
    pub(crate) oldest: IntGauge,
    pub(crate) waiting: IntGauge,
    pub(crate) open_batches: IntGauge,
    pub(crate) anchors_left: IntGauge,
    pub(crate) stuck: IntGauge,
    pub(crate) is_fragmented: IntGauge,
    pub(crate) fees_of_day: IntGauge,
    pub(crate) failures: IntGauge,
    wallet: IntGaugeVec,
    pub(crate) transactions: IntCounterVec,
}

impl Figures {
    /// Registers the metrics.
    ///
    /// # Errors
    /// Fails if the registry already has metrics with these names.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let transactions = ANCHOR_TRANSACTIONS.counters(registry)?;
        // Shown from the start: an increase from nothing to 1 would not be seen as one.
        for reason in Reason::ALL {
            transactions.with_label_values(&[reason.name()]);
        }
        Ok(Figures {
            is_holder: ANCHORER.gauge(registry)?,
            oldest: OLDEST_UNANCHORED.gauge(registry)?,
            waiting: HASHES_WAITING.gauge(registry)?,
            open_batches: OPEN_BATCHES.gauge(registry)?,
            anchors_left: ANCHORS_LEFT.gauge(registry)?,
            stuck: STUCK_BATCHES.gauge(registry)?,
            is_fragmented: WALLET_FRAGMENTED.gauge(registry)?,
            fees_of_day: FEES_OF_DAY.gauge(registry)?,
            failures: FAILING_ROUNDS.gauge(registry)?,
            wallet: WALLET.gauges(registry)?,
            transactions,
        })
    }

    pub(crate) fn wallet_is(&self, state: WalletState) {
        for of in [
            WalletState::Ready,
            WalletState::WalletMissing,
            WalletState::Locked,
            WalletState::Empty,
            WalletState::Limit,
        ] {
            self.wallet.with_label_values(&[of.name()]).set(i64::from(of == state));
        }
    }
}
