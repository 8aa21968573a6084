//! The payment that a request has.

use std::time::Duration;

use cairn_http::{ApiError, Call, ErrorCode, GivingBack, Receipt, TakenPayment};
use cairn_state::{ChallengeLease, Redeeming, Release, Releasing, State};
use tokio::{runtime::Handle, time::timeout};

/// How long the database may take at each step.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// A challenge that this request alone may use.
#[derive(Debug)]
pub(crate) struct LeasedChallenge {
    /// `None` once it is redeemed or given back.
    pub(crate) lease: Option<ChallengeLease>,
    pub(crate) price_sats: u64,
    /// For a request that panics.
    pub(crate) state: State,
    pub(crate) runtime: Handle,
    /// When it was taken, in seconds since 1970.
    pub(crate) now: u64,
}

impl TakenPayment for LeasedChallenge {
    fn price_sats(&self) -> u64 {
        self.price_sats
    }

    fn redeem(mut self: Box<Self>, call: &Call<'_>) -> Result<Receipt, ApiError> {
        let Some(lease) = self.lease.take() else { return Err(ApiError::internal()) };
        let now = call.now_ms / 1_000;
        let redeem = || call.with_state_within(PATIENCE, async |state| state.redeem_challenge(&lease, now).await);
        // Repeating it changes nothing, and a connection to the database may just have broken.
        match redeem().or_else(|_| redeem()) {
            Ok(Redeeming::Done) => Ok(Receipt::default()),
            Ok(Redeeming::LeaseLost) => {
                let detail = "the request took so long that its payment is in use by another one";
                Err(ApiError::new(ErrorCode::PaymentInUse, detail).retryable(Some(1)))
            }
            Err(error) => {
                tracing::error!(challenge = lease.challenge_id, "it is not known whether a challenge is redeemed");
                Err(error)
            }
        }
    }

    fn give_back(mut self: Box<Self>, why: GivingBack, call: &Call<'_>) -> Option<&'static str> {
        let lease = self.lease.take()?;
        let why = match why {
            GivingBack::Ours => Release::Ours,
            GivingBack::NotFound => Release::NotFound,
        };
        let now = call.now_ms / 1_000;
        let released =
            call.with_state_within(PATIENCE, async |state| state.release_challenge(&lease, why, now).await).ok()?;
        match released {
            Releasing::Open => Some("pending"),
            Releasing::Redeemed => Some("redeemed"),
            Releasing::LeaseLost => None,
        }
    }
}

impl Drop for LeasedChallenge {
    fn drop(&mut self) {
        let Some(lease) = self.lease.take() else { return };
        let release = self.state.release_challenge(&lease, Release::Ours, self.now);
        // Otherwise it ends by its time.
        drop(self.runtime.block_on(timeout(PATIENCE, release)));
    }
}
