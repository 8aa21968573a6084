//! Chooses coins where the wallet's own choice makes too large a transaction.

use cairn_model::Txid;
use cairn_node::WalletCoin;

use crate::transaction::{INPUT_BYTES, MAX_STRIPPED_BYTES, fee_at, script_sig_bytes};

/// Bytes of a transaction without inputs: numbers, the output with the root (43), and the largest change output (43).
const FIXED_BYTES: usize = 10 + 43 + 43;
/// Virtual bytes of the witness of an input, rounded up.
const WITNESS_VBYTES: u64 = 28;
/// Satoshis that are to remain as change: less is dust for the wallet.
const MIN_CHANGE_SATS: u64 = 1_000;

/// Why no coins can be chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CoinsError {
    /// All confirmed coins together do not pay for an anchor.
    #[error("the confirmed coins of the wallet do not pay for an anchor")]
    Empty,
    /// They would, but too many are needed for a transaction of the allowed size.
    #[error(
        "the coins of the wallet are too small: an anchor of {MAX_STRIPPED_BYTES} bytes cannot spend enough of them"
    )]
    Fragmented,
}

/// Chooses the fewest coins that pay for an anchor at a feerate (satoshis per 1,000 virtual bytes), so that it is small
/// enough: the largest coins first.
pub fn choose_coins(coins: &[WalletCoin], feerate: u64) -> Result<Vec<(Txid, u32)>, CoinsError> {
    let mut usable: Vec<&WalletCoin> = coins.iter().filter(|coin| coin.spendable && coin.confirmations > 0).collect();
    usable.sort_by_key(|coin| (std::cmp::Reverse(coin.amount), coin.txid, coin.vout));
    let (mut chosen, mut bytes, mut vbytes) = (Vec::new(), FIXED_BYTES, FIXED_BYTES as u64 + 1);
    let (mut total, mut all_vbytes) = (0u64, vbytes);
    let mut is_full = false;
    for coin in usable {
        let own = INPUT_BYTES + script_sig_bytes(&coin.script);
        let own_vbytes = own as u64 + WITNESS_VBYTES;
        total = total.saturating_add(coin.amount);
        all_vbytes += own_vbytes;
        if is_full || bytes + own > MAX_STRIPPED_BYTES {
            is_full = true;
            continue;
        }
        bytes += own;
        vbytes += own_vbytes;
        chosen.push((coin.txid, coin.vout));
        if total >= fee_at(feerate, vbytes).saturating_add(MIN_CHANGE_SATS) {
            return Ok(chosen);
        }
    }
    let would_pay = total >= fee_at(feerate, all_vbytes).saturating_add(MIN_CHANGE_SATS);
    Err(if is_full && would_pay { CoinsError::Fragmented } else { CoinsError::Empty })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coin(number: u8, sats: u64) -> WalletCoin {
        let mut script = vec![0, 20];
        script.extend([number; 20]);
        WalletCoin {
            txid: Txid([number; 32]),
            vout: 0,
            script,
            amount: sats,
            confirmations: 1,
            spendable: true,
            safe: true,
        }
    }

    #[test]
    fn the_largest_coins_come_first_and_the_fewest_are_taken() {
        let coins = [coin(1, 2_000), coin(2, 50_000), coin(3, 40_000)];
        assert_eq!(choose_coins(&coins, 1_000), Ok(vec![(Txid([2; 32]), 0)]));
        assert_eq!(choose_coins(&coins, 300_000), Ok(vec![(Txid([2; 32]), 0), (Txid([3; 32]), 0)]));
        assert_eq!(choose_coins(&coins, 1_000_000), Err(CoinsError::Empty));
        assert_eq!(choose_coins(&[], 1_000), Err(CoinsError::Empty));
    }

    #[test]
    fn coins_that_no_anchor_can_hold_are_reported() {
        // 22 inputs fit. Each coin pays for itself and a little more.
        let many: Vec<WalletCoin> = (0..80).map(|number| coin(number, 720)).collect();
        assert_eq!(choose_coins(&many, 10_000), Err(CoinsError::Fragmented));
        let few: Vec<WalletCoin> = (0..20).map(|number| coin(number, 720)).collect();
        assert_eq!(choose_coins(&few, 10_000), Err(CoinsError::Empty));
        let larger: Vec<WalletCoin> = (0..60).map(|number| coin(number, 1_000)).collect();
        assert!(choose_coins(&larger, 10_000).is_ok_and(|chosen| chosen.len() <= 22));
    }

    #[test]
    fn coins_without_confirmation_or_key_are_left() {
        let unconfirmed = WalletCoin { confirmations: 0, ..coin(1, 1_000_000) };
        let watched = WalletCoin { spendable: false, ..coin(2, 1_000_000) };
        assert_eq!(choose_coins(&[unconfirmed, watched], 1_000), Err(CoinsError::Empty));
    }
}
