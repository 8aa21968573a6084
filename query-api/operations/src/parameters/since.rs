//! Since when, as a parameter: a height, a day, a time, or a number of days.

use cairn_http::{BadText, TextFormat};
use cairn_model::{DAY_SECS, Height};
use cairn_reader::View;

use super::time;

use crate::parsed::{parsed, schema};

/// Heights, days, moments and numbers of days.
pub(crate) const SINCE: TextFormat =
    TextFormat::trimmed("height-date-time-or-days", |_, text, _| parse(text).map(drop).map_err(BadText::new));

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SinceParam {
    Height(Height),
    /// This many days before the newest block.
    Days(u32),
    /// This time, in seconds since 1970.
    Time(u32),
}

/// Most bytes of the parameter: more than any moment has.
const MAX_BYTES: usize = 40;
const MAX_DAYS: u32 = 36_500;

fn parse(text: &str) -> Result<SinceParam, &'static str> {
    const EXPECTED: &str =
        "expected a height, a date as YYYY-MM-DD, a time as in RFC 3339, or days before the newest block as in 30d";
    if text.len() > MAX_BYTES {
        return Err(EXPECTED);
    }
    let number = |digits: &str| {
        let digits = Some(digits).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        digits.and_then(|digits| digits.parse::<u32>().ok())
    };
    if let Some(height) = number(text) {
        return Ok(SinceParam::Height(height));
    }
    if let Some(days) = text.strip_suffix('d').and_then(number) {
        let fits = (1..=MAX_DAYS).contains(&days);
        return if fits { Ok(SinceParam::Days(days)) } else { Err("allowed are 1d to 36500d") };
    }
    time::parse(text).map(|time| SinceParam::Time(time.start)).map_err(|_| EXPECTED)
}

impl SinceParam {
    /// The first block from then on; one above the tip if there is none. Times are monotone block times.
    pub(crate) fn height(self, view: &View<'_>) -> Height {
        let time = match self {
            SinceParam::Height(height) => return height.min(view.tip().height.saturating_add(1)),
            SinceParam::Days(days) => view.tip().mono_time.saturating_sub(days.saturating_mul(DAY_SECS)),
            SinceParam::Time(time) => time,
        };
        let before = time.checked_sub(1).and_then(|before| view.chain().height_at(before));
        before.map_or(0, |height| height.saturating_add(1))
    }
}

parsed!(SinceParam, parse);

schema!(inline SinceParam, "Since", {"type": "string", "format": SINCE.name, "maxLength": MAX_BYTES, "minLength": 1});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heights_days_and_times_are_told_apart() {
        assert_eq!(parse("0"), Ok(SinceParam::Height(0)));
        assert_eq!(parse("840000"), Ok(SinceParam::Height(840_000)));
        assert_eq!(parse("30d"), Ok(SinceParam::Days(30)));
        assert_eq!(parse("2024-01-01"), Ok(SinceParam::Time(1_704_067_200)));
        assert_eq!(parse("2024-01-01T00:00:01Z"), Ok(SinceParam::Time(1_704_067_201)));
        for text in [
            "",
            "d",
            "-1",
            "+5",
            "0d",
            "36501d",
            "99999999999",
            "1 d",
            "30D",
            "now",
            "2024-13-01",
            "\u{661}d",
            &"0".repeat(41),
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
