//! Time has one rule: days, years, ages and `since` use the monotone block time, the running maximum of header
//! times along the chain.

/// Monotone block time in seconds since 1970 (UTC): the running maximum of header times. It never runs backwards.
pub type MonoTime = u32;

/// Seconds of a day.
pub const DAY_SECS: u32 = 86_400;

/// Days since 1970-01-01 (UTC) of a time in seconds.
#[must_use]
pub fn day_of(time: u32) -> u32 {
    time / DAY_SECS
}

/// The last second of a day since 1970-01-01 (UTC); `u32::MAX` if it is later.
#[must_use]
pub fn last_second(day: u32) -> u32 {
    day.saturating_mul(DAY_SECS).saturating_add(DAY_SECS - 1)
}

/// A day since 1970-01-01 (UTC) as a date, for example 2009-01-03.
#[must_use]
pub fn date(day: u32) -> String {
    // Years begin in March here, so that the day that only leap years have comes last. Day 0 begins the cycle of 400
    // years of the year 0, on its first of March.
    let days = u64::from(day) + 719_468;
    let (cycle, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let march_month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    format!("{:04}-{month:02}-{of_month:02}", cycle * 400 + year + u64::from(month <= 2))
}

/// The date (UTC) of a time in seconds since 1970.
#[must_use]
pub fn date_of(time: u32) -> String {
    date(day_of(time))
}

/// A time in seconds since 1970 (UTC) as in RFC 3339, for example 2009-01-03T18:15:05Z.
#[must_use]
pub fn rfc3339(time: u32) -> String {
    let second = time % DAY_SECS;
    format!("{}T{:02}:{:02}:{:02}Z", date_of(time), second / 3_600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (time, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_231_006_505, "2009-01-03T18:15:05Z"),
            (1_709_164_800, "2024-02-29T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (1_735_689_600, "2025-01-01T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (u32::MAX, "2106-02-07T06:28:15Z"),
        ] {
            assert_eq!(rfc3339(time), text);
            assert_eq!(date_of(time), text[..10]);
            assert_eq!(date(day_of(time)), text[..10]);
        }
    }

    #[test]
    fn a_day_ends_with_its_last_second() {
        assert_eq!(
            [0, 1, 49_709, 49_710, u32::MAX].map(last_second),
            [86_399, 172_799, 4_294_943_999, u32::MAX, u32::MAX]
        );
    }
}
