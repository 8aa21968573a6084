//! Times in headers.

use std::time::Duration;

use cairn_model::DAY_SECS;

/// Longest time that a server can make us wait.
const LONGEST: Duration = Duration::from_secs(DAY_SECS as u64);

/// A date as HTTP writes it, for example `Sun, 06 Nov 1994 08:49:37 GMT`, in seconds since 1970.
pub(crate) fn http_date(text: &str) -> Option<u32> {
    let time = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
    u32::try_from(time.as_second()).ok()
}

/// The value of Retry-After: seconds, or a date, which is compared with that of the answer. At most a day.
pub(crate) fn retry_after(text: &str, date: Option<u32>) -> Option<Duration> {
    let seconds = match text.parse::<u64>() {
        Ok(seconds) => seconds,
        Err(_) => {
            let now = date.unwrap_or_else(|| u32::try_from(cairn_clock::now_secs()).unwrap_or(u32::MAX));
            u64::from(http_date(text)?.saturating_sub(now))
        }
    };
    Some(Duration::from_secs(seconds).min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read() {
        assert_eq!(http_date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(http_date("yesterday"), None);
        let seconds = |text, date| retry_after(text, date).map(|wait| wait.as_secs());
        assert_eq!(seconds("120", None), Some(120));
        assert_eq!(seconds("0", None), Some(0));
        assert_eq!(seconds("999999999", None), Some(86_400));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_700)), Some(77));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_800)), Some(0));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:49:37 GMT", None), Some(0));
        assert_eq!((seconds("soon", None), seconds("-1", None)), (None, None));
    }
}
