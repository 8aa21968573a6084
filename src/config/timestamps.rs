//! Timestamps.

use cairn_operations::TimestampConfig;
use clap::{Args, ValueEnum};

/// Timestamps.
#[derive(Args, Clone, Debug)]
pub(crate) struct Timestamps {
    /// Whether clients of OpenTimestamps may use this server as a calendar (/digest, /timestamp/COMMITMENT). It needs
    /// --calendar-url.
    #[arg(long, env = "CAIRN_CALENDAR", value_name = "MODE", default_value = "open")]
    pub(crate) calendar: CalendarMode,
    /// Public URL of the calendar, which pending proofs name: letters, digits and the characters -._/: after http:// or
    /// https://. Keep it for good: clients complete their proofs there. Default: no pending proofs and no calendar.
    #[arg(long, env = "CAIRN_CALENDAR_URL", value_name = "URL", value_parser = calendar_url)]
    pub(crate) calendar_url: Option<String>,
}

/// Whether the calendar is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum CalendarMode {
    /// Nobody may use it.
    Off,
    /// Everybody may use it.
    Open,
}

impl Timestamps {
    pub(crate) fn config(&self) -> TimestampConfig {
        TimestampConfig { calendar: self.calendar == CalendarMode::Open, calendar_url: self.calendar_url.clone() }
    }
}

fn calendar_url(text: &str) -> Result<String, String> {
    match TimestampConfig::is_calendar_url(text) {
        true => Ok(text.to_owned()),
        false => {
            Err("expected http:// or https:// and at most 1,000 letters, digits and characters -._/: in all, for \
            example https://calendar.example"
                .to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_urls_that_proofs_can_name_are_accepted() {
        for good in ["https://calendar.example", "http://127.0.0.1:8080/", "https://a-b.example/c_1"] {
            assert_eq!(calendar_url(good).as_deref(), Ok(good));
        }
        let long = format!("https://{}", "a".repeat(1_000));
        for bad in ["", "calendar.example", "ftp://a.example", "https://", "https://a.example?b", "https://a b", &long]
        {
            assert!(calendar_url(bad).is_err(), "{bad}");
        }
    }
}
