//! Metrics of the anchorer.

use cairn_state::WalletState;
use prometheus::{IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry};

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
        let gauge = |name: &str, help: &str| {
            let gauge = IntGauge::with_opts(Opts::new(format!("cairn_timestamps_{name}"), help))?;
            registry.register(Box::new(gauge.clone()))?;
            Ok::<_, prometheus::Error>(gauge)
        };
        let wallet = Opts::new("cairn_timestamps_wallet", "1 for the state that the wallet has, 0 for the others.");
        let wallet = IntGaugeVec::new(wallet, &["state"])?;
        registry.register(Box::new(wallet.clone()))?;
        let transactions = Opts::new("cairn_timestamps_transactions_total", "Signed transactions, by their reason.");
        let transactions = IntCounterVec::new(transactions, &["reason"])?;
        registry.register(Box::new(transactions.clone()))?;
        Ok(Figures {
            is_holder: gauge("anchorer", "1 if this process anchors; 0 if another one has the lease.")?,
            oldest: gauge(
                "oldest_unanchored_seconds",
                "Seconds since the oldest hash that is in no block was handed in, or since its batch was made; 0 without such a hash.",
            )?,
            waiting: gauge("waiting", "Hashes that wait for a batch, counted up to the size of a batch.")?,
            open_batches: gauge("open_batches", "Batches that are not final.")?,
            anchors_left: gauge("anchors_left", "Anchors that the wallet can pay for; -1 if unknown.")?,
            stuck: gauge(
                "stuck_batches",
                "Batches that need a transaction with a higher fee than limits and coins allow.",
            )?,
            is_fragmented: gauge(
                "wallet_fragmented",
                "1 if the coins of the wallet are too small for an anchor that can be proven.",
            )?,
            fees_of_day: gauge("fees_sats_24h", "Fees of the transactions of the last 24 hours, in satoshis.")?,
            failures: gauge("failing_rounds", "Rounds in a row that ended with an error.")?,
            wallet,
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
