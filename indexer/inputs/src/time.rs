//! Times as files write them.

use jiff::{
    civil::{Date, DateTime, Time},
    fmt::strtime,
    tz::{AmbiguousOffset, Offset, TimeZone},
};

use crate::{
    number::{NumberStyle, number},
    report::Code,
};

/// How a file writes times.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum TimeFormat {
    /// Digits are seconds, milliseconds or microseconds since 1970, by their size; else ISO 8601.
    Any,
    /// Seconds, milliseconds or microseconds since 1970, by their size: seconds have up to 11 digits, milliseconds up
    /// to 14.
    UnixAny,
    /// In units since 1970; the number is the units in a second.
    Unix(i64),
    /// ISO 8601: a date, perhaps with a time, perhaps with `Z`, `UTC` or an offset. A space may stand for the T.
    Iso,
    /// Conversion specifications as of `strftime`.
    Pattern(String),
}

/// Seconds since 1970 (UTC) of a time; local times without an offset are in `zone`, else in UTC.
///
/// # Errors
/// Fails if the text is not a time, is a local time that clocks skip or show twice, or has fractions of a second.
pub(crate) fn seconds(text: &str, format: &TimeFormat, zone: Option<&TimeZone>) -> Result<i64, Code> {
    let text = text.trim();
    let has_digits_only = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match format {
        TimeFormat::Any if has_digits_only => from_unix(text, None),
        TimeFormat::Any | TimeFormat::Iso => from_iso(text, zone),
        TimeFormat::UnixAny => from_unix(text, None),
        TimeFormat::Unix(units) => from_unix(text, Some(*units)),
        TimeFormat::Pattern(pattern) => from_pattern(text, pattern, zone),
    }
}

fn from_unix(text: &str, units: Option<i64>) -> Result<i64, Code> {
    let value = if text.bytes().all(|byte| byte.is_ascii_digit()) {
        text.parse::<i64>().map_err(|_| Code::BadTime)?
    } else {
        // 1.6094592e12, or 1609459200.0.
        let number = number(text, NumberStyle::PLAIN).map_err(|_| Code::BadTime)?;
        if number.scale() != 0 {
            return Err(Code::Misaligned);
        }
        i64::try_from(number.mantissa()).map_err(|_| Code::BadTime)?
    };
    let units = units.unwrap_or(match value {
        ..100_000_000_000 => 1,
        100_000_000_000..100_000_000_000_000 => 1_000,
        _ => 1_000_000,
    });
    if value % units == 0 { Ok(value / units) } else { Err(Code::Misaligned) }
}

/// Two or four digits.
fn digits<T: TryFrom<u16>>(bytes: &[u8]) -> Result<T, Code> {
    let mut value = 0u16;
    for byte in bytes {
        let digit = char::from(*byte).to_digit(10).and_then(|digit| u16::try_from(digit).ok()).ok_or(Code::BadTime)?;
        value = value.checked_mul(10).and_then(|value| value.checked_add(digit)).ok_or(Code::BadTime)?;
    }
    T::try_from(value).map_err(|_| Code::BadTime)
}

fn from_iso(text: &str, zone: Option<&TimeZone>) -> Result<i64, Code> {
    let (date, rest) = text.as_bytes().split_first_chunk::<10>().ok_or(Code::BadTime)?;
    if date[4] != date[7] || !matches!(date[4], b'-' | b'/') {
        return Err(Code::BadTime);
    }
    let date = Date::new(digits(&date[..4])?, digits(&date[5..7])?, digits(&date[8..])?).map_err(|_| Code::BadTime)?;
    let Some((b'T' | b' ', rest)) = rest.split_first() else {
        return if rest.is_empty() { from_local(date.to_datetime(Time::midnight()), zone) } else { Err(Code::BadTime) };
    };
    let (clock, rest) = rest.split_first_chunk::<5>().ok_or(Code::BadTime)?;
    if clock[2] != b':' {
        return Err(Code::BadTime);
    }
    let (mut second, mut is_whole, mut rest) = (0, true, rest);
    if let [b':', tens, ones, after @ ..] = rest {
        (second, rest) = (digits(&[*tens, *ones])?, after);
        if let [b'.', after @ ..] = rest {
            let places = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if places == 0 {
                return Err(Code::BadTime);
            }
            is_whole = after[..places].iter().all(|byte| *byte == b'0');
            rest = &after[places..];
        }
    }
    let time = Time::new(digits(&clock[..2])?, digits(&clock[3..])?, second, 0).map_err(|_| Code::BadTime)?;
    let local = date.to_datetime(time);
    let seconds = match rest.trim_ascii_start() {
        [] => from_local(local, zone)?,
        b"Z" | b"z" | b"UTC" | b"GMT" => from_local(local, None)?,
        [sign @ (b'+' | b'-'), offset @ ..] => {
            let (hours, minutes) = match offset {
                [a, b] => ([*a, *b], [b'0', b'0']),
                [a, b, c, d] | [a, b, b':', c, d] => ([*a, *b], [*c, *d]),
                _ => return Err(Code::BadTime),
            };
            let (hours, minutes) = (digits::<i64>(&hours)?, digits::<i64>(&minutes)?);
            if hours > 18 || minutes > 59 {
                return Err(Code::BadTime);
            }
            let offset = hours * 3_600 + minutes * 60;
            from_local(local, None)? + if *sign == b'+' { -offset } else { offset }
        }
        _ => return Err(Code::BadTime),
    };
    if is_whole { Ok(seconds) } else { Err(Code::Misaligned) }
}

fn from_pattern(text: &str, pattern: &str, zone: Option<&TimeZone>) -> Result<i64, Code> {
    let parsed = strtime::parse(pattern, text).map_err(|_| Code::BadTime)?;
    if parsed.offset().is_some() || parsed.timestamp().is_some() {
        let timestamp = parsed.to_timestamp().map_err(|_| Code::BadTime)?;
        return if timestamp.subsec_nanosecond() == 0 { Ok(timestamp.as_second()) } else { Err(Code::Misaligned) };
    }
    let date = parsed.to_date().map_err(|_| Code::BadTime)?;
    let time = if parsed.hour().is_some() { parsed.to_time().map_err(|_| Code::BadTime)? } else { Time::midnight() };
    if time.subsec_nanosecond() != 0 {
        return Err(Code::Misaligned);
    }
    from_local(date.to_datetime(time), zone)
}

/// A pattern can be used if what it writes, it reads.
pub(crate) fn is_pattern(pattern: &str) -> bool {
    let time = DateTime::constant(2024, 11, 20, 22, 0, 0, 0);
    let written = time.to_zoned(TimeZone::UTC).ok().and_then(|time| strtime::format(pattern, &time).ok());
    let expected = Offset::UTC.to_timestamp(time).map(|timestamp| timestamp.as_second());
    let day =
        Offset::UTC.to_timestamp(time.date().to_datetime(Time::midnight())).map(|timestamp| timestamp.as_second());
    let read = written.and_then(|text| from_pattern(&text, pattern, None).ok());
    read.is_some() && (read == expected.ok() || read == day.ok())
}

fn from_local(local: DateTime, zone: Option<&TimeZone>) -> Result<i64, Code> {
    let offset = match zone.map(|zone| zone.to_ambiguous_timestamp(local).offset()) {
        None => Offset::UTC,
        Some(AmbiguousOffset::Unambiguous { offset }) => offset,
        Some(AmbiguousOffset::Gap { .. }) => return Err(Code::SkippedTime),
        Some(AmbiguousOffset::Fold { .. }) => return Err(Code::AmbiguousTime),
    };
    offset.to_timestamp(local).map(|timestamp| timestamp.as_second()).map_err(|_| Code::BadTime)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// 2024-11-20 00:00 UTC.
    const DAY: i64 = 1_732_060_800;

    fn iso(text: &str) -> Result<i64, Code> {
        seconds(text, &TimeFormat::Iso, None)
    }

    #[test]
    fn iso_dates_and_times() {
        for text in [
            "2024-11-20",
            "2024/11/20",
            "2024-11-20 00:00",
            "2024-11-20T00:00:00",
            "2024-11-20 00:00:00.000",
            "2024-11-20 00:00:00 UTC",
            "2024-11-20T00:00:00Z",
            "2024-11-20 00:00:00+00:00",
            "2024-11-20T01:00:00+01:00",
            "2024-11-19T19:00:00-0500",
            "2024-11-20 02 +02".replace("02 ", "02:00 ").as_str(),
        ] {
            assert_eq!(iso(text), Ok(DAY), "{text}");
        }
        assert_eq!(iso("1969-12-31 23:59:59"), Ok(-1));
        assert_eq!(iso("2024-02-29"), Ok(1_709_164_800));
        assert_eq!(iso("2024-11-20 00:00:00.5"), Err(Code::Misaligned));
        for text in [
            "",
            "2024",
            "2024-13-01",
            "2023-02-29",
            "2024-11-20x",
            "2024-11-20 ",
            "2024-11-20 24:00",
            "2024-11-20 0:00",
            "2024-11-20 00:00:60",
            "2024-11-20 00:00 EST",
            "2024-11-20 00:00+99:00",
            "2024-11/20",
            "20.11.2024",
            "2024-11-20 00:00:00.",
            "٢٠٢٤-11-20",
        ] {
            assert_eq!(
                iso(text.trim_start()).map(|_| text),
                if text == "2024-11-20 " { Ok(text) } else { Err(Code::BadTime) }
            );
        }
    }

    #[test]
    fn unix_times_by_their_size() {
        let any = |text| seconds(text, &TimeFormat::Any, None);
        for text in ["1732060800", "1732060800000", "1732060800000000"] {
            assert_eq!(any(text), Ok(DAY));
        }
        assert_eq!(any("1732060800001"), Err(Code::Misaligned));
        assert_eq!(any("99999999999999999999"), Err(Code::BadTime));
        let unix = |text, units| seconds(text, &TimeFormat::Unix(units), None);
        assert_eq!(unix("1732060800000", 1_000), Ok(DAY));
        assert_eq!(unix("1.7320608e12", 1_000), Ok(DAY));
        assert_eq!(unix("1732060800.0", 1), Ok(DAY));
        assert_eq!(unix("1732060800.5", 1), Err(Code::Misaligned));
        assert_eq!(unix("2024-11-20", 1), Err(Code::BadTime));
        assert_eq!(seconds("", &TimeFormat::UnixAny, None), Err(Code::BadTime));
    }

    #[test]
    fn patterns() {
        let read = |text, pattern: &str| seconds(text, &TimeFormat::Pattern(pattern.to_owned()), None);
        assert_eq!(read("20/11/2024 00:00", "%d/%m/%Y %H:%M"), Ok(DAY));
        assert_eq!(read("Nov 20, 2024", "%b %d, %Y"), Ok(DAY));
        assert_eq!(read("11/20/2024", "%m/%d/%Y"), Ok(DAY));
        assert_eq!(read("11/20/2024 01:00 +0100", "%m/%d/%Y %H:%M %z"), Ok(DAY));
        assert_eq!(read("20/11/2024", "%m/%d/%Y"), Err(Code::BadTime));
        for pattern in ["%d/%m/%Y %H:%M", "%b %d, %Y", "%Y%m%d", "%d.%m.%y", "%m/%d/%Y %I:%M %p", "%s"] {
            assert!(is_pattern(pattern), "{pattern}");
        }
        for pattern in ["", "text", "%H:%M", "%d/%m", "%Q%Q", "%"] {
            assert!(!is_pattern(pattern), "{pattern}");
        }
    }

    #[test]
    fn local_times() {
        let zone = TimeZone::get("America/New_York").unwrap();
        let local = |text| seconds(text, &TimeFormat::Iso, Some(&zone));
        assert_eq!(local("2024-11-19 19:00"), Ok(DAY));
        assert_eq!(local("2024-07-01 20:00"), iso("2024-07-02 00:00"));
        // An offset in the text is more than a zone.
        assert_eq!(local("2024-11-20 00:00Z"), Ok(DAY));
        assert_eq!(local("2024-03-10 02:30"), Err(Code::SkippedTime));
        assert_eq!(local("2024-11-03 01:30"), Err(Code::AmbiguousTime));
        assert_eq!(local("2024-11-03 00:30"), iso("2024-11-03 04:30"));
        assert_eq!(local("2024-11-03 02:30"), iso("2024-11-03 07:30"));
    }

    proptest! {
        #[test]
        fn every_second_is_read_back(second in -2_000_000_000i64..4_000_000_000) {
            let timestamp = jiff::Timestamp::from_second(second).unwrap();
            prop_assert_eq!(iso(&timestamp.to_string()), Ok(second));
        }

        #[test]
        fn no_text_panics(text in "[-+0-9:TZ ./a-z]{0,40}", any in ".{0,20}", pattern in "[%a-zA-Z0-9 /:.-]{0,12}") {
            let zone = TimeZone::get("Europe/London").unwrap();
            for format in [TimeFormat::Any, TimeFormat::UnixAny, TimeFormat::Unix(1_000), TimeFormat::Iso] {
                let (_, _) = (seconds(&text, &format, Some(&zone)), seconds(&any, &format, None));
            }
            let (_, _) = (seconds(&text, &TimeFormat::Pattern(pattern.clone()), Some(&zone)), is_pattern(&pattern));
        }
    }
}
