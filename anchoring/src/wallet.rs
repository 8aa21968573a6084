//! Whether the wallet can pay for anchors.

use cairn_node::{NodeError, WalletBalances, WalletInfo};
use cairn_state::WalletState;

use crate::transaction::{ANCHOR_VSIZE, fee_at};

/// Satoshis that an anchor leaves as change at least.
const MIN_CHANGE_SATS: u64 = 1_000;

/// The wallet as it was seen in this round.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct WalletLook {
    pub(crate) state: WalletState,
    /// Anchors that it can pay for; `None` if unknown.
    pub(crate) anchors_left: Option<u32>,
    /// Why it cannot be used, for the log.
    pub(crate) reason: Option<String>,
}

impl WalletLook {
    /// A wallet that cannot be used.
    pub(crate) fn unusable(state: WalletState, reason: impl Into<String>) -> Self {
        WalletLook { state, anchors_left: None, reason: Some(reason.into()) }
    }
}

/// Fees of the day, in satoshis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DayFees {
    /// Those of the last 24 hours.
    pub(crate) spent: u64,
    pub(crate) limit: u64,
}

impl DayFees {
    /// True if this many satoshis more are within the limit.
    pub(crate) fn allow(self, more: u64) -> bool {
        self.spent.saturating_add(more) <= self.limit
    }
}

/// Judges the wallet by the node's answers. `feerate` is in satoshis per 1,000 virtual bytes.
pub(crate) fn judge(
    info: Result<WalletInfo, NodeError>,
    balances: impl FnOnce() -> Result<WalletBalances, NodeError>,
    feerate: u64,
    day: DayFees,
) -> WalletLook {
    let info = match info {
        Ok(info) => info,
        // Also without a wallet of this name, or without wallets at all: the words of the node say so.
        Err(error) => return WalletLook::unusable(WalletState::WalletMissing, error.to_string()),
    };
    if info.is_locked() {
        let reason = match info.private_keys_enabled {
            true => "it is locked: unlock it with walletpassphrase, or use a wallet without passphrase",
            false => "it has no private keys",
        };
        return WalletLook::unusable(WalletState::Locked, reason);
    }
    let balance = match balances() {
        Ok(balances) => balances.trusted,
        Err(error) => return WalletLook::unusable(WalletState::WalletMissing, error.to_string()),
    };
    let anchor = fee_at(feerate, ANCHOR_VSIZE.into()).max(1);
    let left = u32::try_from(balance.saturating_sub(MIN_CHANGE_SATS) / anchor).unwrap_or(u32::MAX);
    let (state, reason) = match () {
        () if left == 0 => {
            (WalletState::Empty, Some(format!("it has {balance} sat; an anchor costs {anchor} sat at present")))
        }
        () if !day.allow(anchor) => {
            let DayFees { spent, limit } = day;
            (WalletState::Limit, Some(format!("anchors of the last 24 hours cost {spent} sat of at most {limit} sat")))
        }
        () => (WalletState::Ready, None),
    };
    WalletLook { state, anchors_left: Some(left), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: DayFees = DayFees { spent: 0, limit: 10_000 };

    fn info(unlocked_until: Option<u64>, has_keys: bool) -> Result<WalletInfo, NodeError> {
        Ok(WalletInfo { name: "w".to_owned(), unlocked_until, private_keys_enabled: has_keys })
    }

    fn holding(trusted: u64) -> Result<WalletBalances, NodeError> {
        Ok(WalletBalances { trusted, pending: 0 })
    }

    fn state(info: Result<WalletInfo, NodeError>, trusted: u64, day: DayFees) -> (WalletState, Option<u32>) {
        let look = judge(info, || holding(trusted), 10_000, day);
        assert_eq!(look.reason.is_none(), look.state == WalletState::Ready);
        (look.state, look.anchors_left)
    }

    #[test]
    fn each_trouble_has_its_state() {
        let missing = || Err(NodeError::Rpc { method: "getwalletinfo".into(), code: -18, message: "no".into() });
        assert_eq!(state(missing(), 1_000_000, DAY), (WalletState::WalletMissing, None));
        assert_eq!(state(info(Some(0), true), 1_000_000, DAY), (WalletState::Locked, None));
        assert_eq!(state(info(None, false), 1_000_000, DAY), (WalletState::Locked, None));
        // An anchor costs 1,540 sat here.
        assert_eq!(state(info(None, true), 2_539, DAY), (WalletState::Empty, Some(0)));
        assert_eq!(state(info(Some(9), true), 2_540, DAY), (WalletState::Ready, Some(1)));
        assert_eq!(state(info(None, true), 155_000, DAY), (WalletState::Ready, Some(100)));
        let spent = DayFees { spent: 8_461, ..DAY };
        assert_eq!(state(info(None, true), 155_000, spent), (WalletState::Limit, Some(100)));
        let silent = judge(info(None, true), || Err(NodeError::Stopped), 10_000, DAY);
        assert_eq!(silent.state, WalletState::WalletMissing);
    }
}
