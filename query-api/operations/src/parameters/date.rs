//! Days as parameters.

use cairn_http::{BadText, TextFormat};
use jiff::{Unit, civil::Date};

use crate::parsed::{parsed, schema};

pub(crate) const DATE: TextFormat =
    TextFormat::trimmed("date", |_, text, _| parse(text).map(drop).map_err(BadText::new));

/// A day (UTC), in days since 1970-01-01; negative before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct DateParam(i32);

impl DateParam {
    /// Days since 1970-01-01. Earlier days have no blocks and count as 1970-01-01.
    pub(crate) fn day(self) -> u32 {
        self.0.try_into().unwrap_or(0)
    }

    /// True for days before 1970-01-01.
    pub(crate) fn is_before_all(self) -> bool {
        self.0 < 0
    }
}

/// Parses YYYY-MM-DD only: no time, no sign, no other calendar.
pub(crate) fn parse(text: &str) -> Result<DateParam, &'static str> {
    let expected = "expected a calendar date as YYYY-MM-DD";
    let bytes = text.as_bytes();
    let formed = bytes.len() == 10
        && bytes.iter().enumerate().all(|(at, b)| if matches!(at, 4 | 7) { *b == b'-' } else { b.is_ascii_digit() });
    let date: Date = text.parse::<Date>().ok().filter(|_| formed).ok_or(expected)?;
    let since = Date::constant(1970, 1, 1).until((Unit::Day, date)).map_err(|_| expected)?;
    Ok(DateParam(since.get_days()))
}

parsed!(DateParam, parse);

schema!(inline DateParam, "Date", {"type": "string", "format": DATE.name});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::date;

    #[test]
    fn days_read_back_as_they_are_written() {
        for day in [0, 1, 59, 14_247, 18_321, 19_782, 49_710] {
            let read = parse(&date(day)).unwrap();
            assert_eq!((read.day(), read.is_before_all()), (day, false));
        }
        let early = parse("0001-01-01").unwrap();
        assert!(early.is_before_all() && early.day() == 0 && early < parse("1969-12-31").unwrap());
        assert!(parse("9999-12-31").unwrap() > parse("2024-02-29").unwrap());
    }

    #[test]
    fn what_is_no_day_is_refused() {
        for text in [
            "",
            "2024",
            "2024-1-1",
            "2023-02-29",
            "2024-13-01",
            "2024-00-10",
            "2024-01-32",
            "20240101",
            "2024-01-01Z",
            "2024-01-01T00:00:00Z",
            "+2024-01-1",
            "-024-01-01",
            "2024/01/01",
            " 2024-01-1",
            "２０２４",
            "today",
            "1704067200",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
