//! Reports of the process that anchors about its wallet: servers accept hashes only while it can anchor them.

use crate::{
    State, StateError,
    keys::to_stored,
    pool::on,
    timestamps::lease::{AnchorLease, under_lease},
};

/// State of the wallet that pays for anchors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WalletState {
    /// It can pay for the next anchor.
    Ready,
    /// The node has no wallet of the configured name, or does not answer.
    WalletMissing,
    /// It is encrypted and locked.
    Locked,
    /// It cannot pay for the next anchor.
    Empty,
    /// The spending limit of the day is reached.
    Limit,
}

impl WalletState {
    const ALL: [WalletState; 5] =
        [WalletState::Ready, WalletState::WalletMissing, WalletState::Locked, WalletState::Empty, WalletState::Limit];

    /// Its name in small letters.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            WalletState::Ready => "ready",
            WalletState::WalletMissing => "wallet_missing",
            WalletState::Locked => "locked",
            WalletState::Empty => "empty",
            WalletState::Limit => "limit",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

/// A report. All times are in seconds since 1970.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AnchorerReport {
    /// State of the wallet.
    pub wallet: WalletState,
    /// Number of anchors that the wallet can pay for at the present feerate; `None` if unknown.
    pub anchors_left: Option<u32>,
    /// Expected virtual size of an anchor.
    pub anchor_vsize: u32,
    /// Interval between anchors, in seconds.
    pub interval_secs: u32,
    /// When the hashes that wait are to be anchored; `None` if nothing waits.
    pub next_anchor_at: Option<u64>,
    /// When it was made.
    pub reported_at: u64,
}

impl AnchorerReport {
    /// Age in seconds up to which a report counts. The process that anchors reports more often.
    pub const FRESH_SECS: u64 = 120;

    /// True if the process that anchors still ran a moment before `now`.
    #[must_use]
    pub fn is_fresh(&self, now: u64) -> bool {
        now.saturating_sub(self.reported_at) <= Self::FRESH_SECS
    }
}

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
        let failed = || StateError::database("cannot publish the report of the anchorer");
        under_lease!(self, lease, "cannot publish the report of the anchorer", tx => {
            let publish = sqlx::query(PUBLISH).bind(&lease.network).bind(lease.fence).bind(report.wallet.name());
            let publish = publish.bind(report.anchors_left.map(i64::from)).bind(i64::from(report.anchor_vsize));
            let publish = publish.bind(i64::from(report.interval_secs)).bind(next).bind(at);
            publish.execute(&mut *tx).await.map_err(failed())?;
        });
        Ok(())
    }

    /// The last report of the process that anchors; `None` before the first one. See [`AnchorerReport::is_fresh`].
    pub async fn anchorer_report(&self, network: &str) -> Result<Option<AnchorerReport>, StateError> {
        self.ready().await?;
        let row: Option<(String, Option<i64>, i64, i64, Option<i64>, i64)> =
            on!(&self.reads, pool => sqlx::query_as(READ).bind(network).fetch_optional(pool).await)
                .map_err(StateError::database("cannot read the report of the anchorer"))?;
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
