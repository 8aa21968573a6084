//! Times as parameters: a day, or a moment.

use cairn_http::{BadText, TextFormat};
use cairn_model::DAY_SECS;
use jiff::Timestamp;

use super::date;

use crate::parsed::{parsed, schema};

pub(crate) const TIME: TextFormat =
    TextFormat::trimmed("date-or-time", |_, text, _| parse(text).map(drop).map_err(BadText::new));

/// A day (UTC), which begins and ends, or a moment, which does both at once; in seconds since 1970. Earlier times count
/// as 1970-01-01, later ones than the year 2106 as its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TimeParam {
    pub(crate) start: u32,
    /// Its end: of a day the beginning of the next one.
    pub(crate) end: u32,
}

pub(super) fn parse(text: &str) -> Result<TimeParam, &'static str> {
    if let Ok(day) = date::parse(text) {
        let start = day.day().saturating_mul(DAY_SECS);
        let end = if day.is_before_all() { 0 } else { start.saturating_add(DAY_SECS) };
        return Ok(TimeParam { start, end });
    }
    let time: Timestamp = text.parse().map_err(|_| "expected a date as YYYY-MM-DD, or a time as in RFC 3339")?;
    let seconds = u32::try_from(time.as_second().max(0)).unwrap_or(u32::MAX);
    Ok(TimeParam { start: seconds, end: seconds })
}

parsed!(TimeParam, parse);

schema!(inline TimeParam, "DateOrTime", {"type": "string", "format": TIME.name});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_span_and_moments_do_not() {
        let span = |text: &str| parse(text).map(|time| (time.start, time.end)).unwrap();
        assert_eq!(span("2024-01-01"), (1_704_067_200, 1_704_153_600));
        assert_eq!(span("2024-01-01T00:00:00Z"), (1_704_067_200, 1_704_067_200));
        assert_eq!(span("2024-01-01T02:00:00+02:00"), (1_704_067_200, 1_704_067_200));
        assert_eq!(span("2024-01-01T00:00:00.9Z"), (1_704_067_200, 1_704_067_200));
        assert_eq!((span("1969-12-31"), span("1969-12-31T23:00:00Z")), ((0, 0), (0, 0)));
        assert_eq!((span("9999-12-30"), span("2200-01-01T00:00:00Z")), ((u32::MAX, u32::MAX), (u32::MAX, u32::MAX)));
        for text in
            ["", "now", "1704067200", "2024", "2024-1-1", "2024-02-30", "2024-01-01T00:00", "2024-01-01T25:00:00Z"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
