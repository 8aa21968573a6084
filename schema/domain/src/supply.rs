//! How the supply is divided: coins by age, holders by balance.

/// From one number up to another, which is not included; `None` for no end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// The least.
    pub from: u64,
    /// Above the greatest.
    pub to: Option<u64>,
}

/// Days at which the classes of age begin: a day, a week, 1, 3 and 6 months of 30 days, 1, 2, 3, 5, 7 and 10 years of
/// 365 days. These are the bands of the field's "HODL waves".
const AGES: [u32; 12] = [0, 1, 7, 30, 90, 180, 365, 730, 1_095, 1_825, 2_555, 3_650];

/// Classes of coins by age in whole days: days of monotone block time from the block that made them to the one that is
/// asked about.
pub const AGE_CLASSES: [Bounds; AGES.len()] = {
    let mut classes = [Bounds { from: 0, to: None }; AGES.len()];
    let mut at = 0;
    while at < AGES.len() {
        let to = if at + 1 < AGES.len() { Some(AGES[at + 1] as u64) } else { None };
        classes[at] = Bounds { from: AGES[at] as u64, to };
        at += 1;
    }
    classes
};

/// Age in days from which a coin counts as held long-term: the usual threshold of the field.
pub const LONG_TERM_DAYS: u32 = 155;

/// The class of an age in days, as index into [`AGE_CLASSES`].
#[must_use]
pub fn age_class(days: u32) -> usize {
    AGES.partition_point(|from| *from <= days) - 1
}

/// The last band of balances, which has no end: from 100,000 BTC.
pub const TOP_BAND: u32 = 13;

/// The band of balances of that number: from 10^number up to 10^(number + 1) satoshis; numbers up to [`TOP_BAND`].
#[must_use]
pub fn balance_band(number: u32) -> Bounds {
    let number = number.min(TOP_BAND);
    Bounds { from: 10u64.pow(number), to: (number < TOP_BAND).then(|| 10u64.pow(number + 1)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_follow_each_other_without_a_gap() {
        let bands: Vec<Bounds> = (0..=TOP_BAND).map(balance_band).collect();
        for classes in [&AGE_CLASSES[..], &bands] {
            for pair in classes.windows(2) {
                assert_eq!(pair[0].to, Some(pair[1].from));
            }
            assert_eq!(classes.last().map(|last| last.to), Some(None));
        }
        assert_eq!((bands[0].from, bands[13].from), (1, 100_000 * 100_000_000));
    }

    #[test]
    fn every_age_is_in_its_class() {
        for days in 0..4_000 {
            let class = AGE_CLASSES[age_class(days)];
            assert!(class.from <= days.into() && class.to.is_none_or(|to| u64::from(days) < to), "{days}");
        }
    }
}
