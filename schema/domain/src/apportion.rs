//! Sharing out amounts so that no satoshi is lost.

use cairn_model::Sats;

/// Shares an amount out in proportion to weights, by the largest remainder (Hamilton's method): each share is rounded
/// down, and the remaining satoshis go, one each, to the shares with the largest remainders; among equal ones, to the
/// first. The shares add up to the amount. Without any weight nothing can be shared out: all shares are zero.
#[must_use]
pub fn apportion(amount: Sats, weights: &[Sats]) -> Vec<Sats> {
    let all: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    if all == 0 {
        return vec![0; weights.len()];
    }
    let product = |weight: &Sats| u128::from(amount) * u128::from(*weight);
    // No share is larger than the amount.
    let mut shares: Vec<Sats> = weights.iter().map(|weight| (product(weight) / all) as Sats).collect();
    let left = amount - shares.iter().sum::<Sats>();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(product(&weights[*at]) % all));
    for at in order.into_iter().take(left as usize) {
        shares[at] += 1;
    }
    shares
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::apportion;

    #[test]
    fn what_is_left_goes_to_the_largest_remainders() {
        for (amount, weights, shares) in [
            (10, &[1, 1, 1][..], &[4, 3, 3][..]),
            (10, &[1, 1, 2], &[3, 2, 5]),
            (7, &[5], &[7]),
            (7, &[], &[]),
            (7, &[0, 0], &[0, 0]),
            (0, &[3, 4], &[0, 0]),
            (2, &[1, 8, 1], &[0, 2, 0]),
            (u64::MAX, &[u64::MAX, u64::MAX], &[u64::MAX / 2 + 1, u64::MAX / 2]),
        ] {
            assert_eq!(apportion(amount, weights), shares, "{amount} {weights:?}");
        }
    }

    proptest! {
        #[test]
        fn shares_add_up_and_are_less_than_one_off(amount: u64, weights in vec(0..u64::MAX / 64, 1..40)) {
            let (shares, all) = (apportion(amount, &weights), weights.iter().map(|w| u128::from(*w)).sum::<u128>());
            if all > 0 {
                prop_assert_eq!(shares.iter().map(|share| u128::from(*share)).sum::<u128>(), u128::from(amount));
            }
            for (share, weight) in shares.iter().zip(&weights) {
                let exact = u128::from(amount) * u128::from(*weight);
                prop_assert!(all == 0 || exact.abs_diff(u128::from(*share) * all) < all);
            }
        }
    }
}
