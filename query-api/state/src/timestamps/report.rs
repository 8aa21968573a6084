//! How reports of the process that anchors are published and read.

use std::time::Instant;

use crate::{
    State, StateError,
    keys::to_stored,
    pool::sql,
    timestamps::{
        anchorer::{AnchorerReport, WalletState},
        lease::AnchorLease,
    },
};

const PUBLISH: &str = "INSERT INTO timestamp_reports (network, fence, wallet, anchors_left, anchor_vsize, interval_secs, \
    next_anchor_at, reported_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (network) DO UPDATE SET \
    fence = excluded.fence, wallet = excluded.wallet, anchors_left = excluded.anchors_left, \
    anchor_vsize = excluded.anchor_vsize, interval_secs = excluded.interval_secs, \
    next_anchor_at = excluded.next_anchor_at, reported_at = excluded.reported_at";
const READ: &str = "SELECT wallet, anchors_left, anchor_vsize, interval_secs, next_anchor_at, reported_at \
    FROM timestamp_reports WHERE network = $1";

impl State {
    /// Publishes a report of the process that anchors. It replaces the one before.
    ///
    /// # Errors
    /// Fails if another process holds the lease.
    pub async fn report_anchorer(&self, lease: &AnchorLease, report: &AnchorerReport) -> Result<(), StateError> {
        let (next, at) = (report.next_anchor_at.map(to_stored).transpose()?, to_stored(report.reported_at)?);
        let what = "cannot publish the report of the anchorer";
        let mut tx = self.begin_under(lease, what).await?;
        let publish = sql(PUBLISH).bind(&lease.network).bind(lease.fence).bind(report.wallet.name());
        let publish = publish.bind(report.anchors_left.map(i64::from)).bind(i64::from(report.anchor_vsize));
        let publish = publish.bind(i64::from(report.interval_secs)).bind(next).bind(at);
        publish.run(&mut tx, what).await?;
        tx.commit(what).await?;
        self.timestamps.forget_report();
        Ok(())
    }

    /// The last report of the process that anchors, as it was up to a quarter of a second ago: for requests that come
    /// thousands of times in a second. See [`State::anchorer_report`].
    pub async fn recent_anchorer_report(&self, network: &str) -> Result<Option<AnchorerReport>, StateError> {
        if let Some(report) = self.timestamps.report(network) {
            return Ok(report);
        }
        let began = Instant::now();
        let report = self.anchorer_report(network).await?;
        self.timestamps.put_report(began, network, report.as_ref());
        Ok(report)
    }

    /// The last report of the process that anchors; `None` before the first one. See [`AnchorerReport::is_fresh`].
    pub async fn anchorer_report(&self, network: &str) -> Result<Option<AnchorerReport>, StateError> {
        self.ready().await?;
        let row: Option<(String, Option<i64>, i64, i64, Option<i64>, i64)> =
            sql(READ).bind(network).first(&self.reads, "cannot read the report of the anchorer").await?;
        let Some((wallet, left, vsize, interval, next, at)) = row else { return Ok(None) };
        let bad = || StateError::Row("the report of the anchorer is invalid".to_owned());
        let number = |number: i64| u32::try_from(number).map_err(|_| bad());
        let time = |time: i64| u64::try_from(time).map_err(|_| bad());
        Ok(Some(AnchorerReport {
            wallet: WalletState::named(&wallet).ok_or_else(bad)?,
            anchors_left: left.map(number).transpose()?,
            anchor_vsize: number(vsize)?,
            interval_secs: number(interval)?,
            next_anchor_at: next.map(time).transpose()?,
            reported_at: time(at)?,
        }))
    }
}
