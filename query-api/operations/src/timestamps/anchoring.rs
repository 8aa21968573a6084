//! Whether hashes can be anchored at present.

use crate::operation::prelude::*;
use cairn_state::{AnchorerReport, NewTimestamp, State, StateError, SubmittedTimestamp, TimestampState, WalletState};

/// Seconds after which a client may ask again.
const RETRY_AFTER_SECS: u32 = 60;

/// Why hashes cannot be anchored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum AnchoringReason {
    /// No process with a wallet anchors: none is configured, it does not run, or its node does not answer.
    WalletMissing,
    /// The wallet is locked.
    Locked,
    /// The wallet cannot pay for the next anchor.
    Empty,
    /// The spending limit of the day is reached, or too many hashes wait.
    Limit,
}

impl AnchoringReason {
    pub(super) fn name(self) -> &'static str {
        match self {
            AnchoringReason::WalletMissing => "wallet_missing",
            AnchoringReason::Locked => "locked",
            AnchoringReason::Empty => "empty",
            AnchoringReason::Limit => "limit",
        }
    }

    fn detail(self) -> &'static str {
        match self {
            AnchoringReason::WalletMissing => {
                "no process with a wallet anchors hashes for this server; its operator can configure one"
            }
            AnchoringReason::Locked => "the wallet that pays for anchors is locked; its operator must unlock it",
            AnchoringReason::Empty => "the wallet that pays for anchors cannot pay for the next one",
            AnchoringReason::Limit => "the daily limit of the wallet is reached, or too many hashes wait",
        }
    }

    /// 503 `anchoring_unavailable`.
    pub(super) fn error(self) -> ApiError {
        let error = ApiError::unavailable(ErrorCode::AnchoringUnavailable, self.detail(), RETRY_AFTER_SECS);
        error.with("reason", self.name())
    }
}

/// The report of the process that anchors, if it can anchor.
pub(super) fn judged(report: Option<AnchorerReport>, now: u64) -> Result<AnchorerReport, AnchoringReason> {
    let report = report.filter(|report| report.is_fresh(now)).ok_or(AnchoringReason::WalletMissing)?;
    match report.wallet {
        WalletState::Ready => Ok(report),
        WalletState::WalletMissing => Err(AnchoringReason::WalletMissing),
        WalletState::Locked => Err(AnchoringReason::Locked),
        WalletState::Empty => Err(AnchoringReason::Empty),
        WalletState::Limit => Err(AnchoringReason::Limit),
    }
}

/// Reads whether hashes of the network can be anchored.
///
/// # Errors
/// Fails if the service state cannot be read.
pub(super) fn anchoring(
    ctx: &Ctx<'_>,
    network: &'static str,
) -> Result<Result<AnchorerReport, AnchoringReason>, ApiError> {
    let report = ctx.with_state(|state| state.anchorer_report(network))?;
    Ok(judged(report, ctx.now_ms / 1_000))
}

/// Accepts a hash if hashes can be anchored at present. A known one is answered even if not.
///
/// # Errors
/// Fails if the service state fails.
pub(super) async fn accept(
    state: &State,
    new: NewTimestamp,
    now: u64,
) -> Result<Result<SubmittedTimestamp, AnchoringReason>, StateError> {
    if let Err(reason) = judged(state.recent_anchorer_report(new.network).await?, now) {
        let known = state.timestamp(new.network, &new.hash).await?;
        let known = known.filter(|record| record.state() != TimestampState::Failed);
        return Ok(known.map(|record| SubmittedTimestamp { record, is_new: false }).ok_or(reason));
    }
    match state.submit_timestamp(new, now).await {
        Err(StateError::TooManyTimestamps) => Ok(Err(AnchoringReason::Limit)),
        submitted => submitted.map(Ok),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(wallet: WalletState) -> Option<AnchorerReport> {
        let (anchor_vsize, interval_secs, reported_at) = (180, 600, 1_000);
        Some(AnchorerReport {
            wallet,
            anchors_left: None,
            anchor_vsize,
            interval_secs,
            next_anchor_at: None,
            reported_at,
        })
    }

    #[test]
    fn only_a_fresh_report_of_a_ready_wallet_counts() {
        let end = 1_000 + AnchorerReport::FRESH_SECS;
        assert!(judged(report(WalletState::Ready), end).is_ok());
        assert_eq!(judged(report(WalletState::Ready), end + 1), Err(AnchoringReason::WalletMissing));
        assert_eq!(judged(None, 1_000), Err(AnchoringReason::WalletMissing));
        for wallet in [WalletState::WalletMissing, WalletState::Locked, WalletState::Empty, WalletState::Limit] {
            assert_eq!(judged(report(wallet), end).map_err(AnchoringReason::name), Err(wallet.name()));
        }
    }
}
