//! The log filter.

use tracing_subscriber::EnvFilter;

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Checks a log filter, and returns it without spaces around commas. A word alone must be a level: the library takes
/// any other word for the name of a crate whose lines alone are logged, so a mistyped level would switch off the log.
///
/// # Errors
/// Returns the mistake, with the levels.
pub(crate) fn filter(text: &str) -> Result<String, String> {
    let allowed = || format!("the levels are {}; for one crate: warn,cairn_http=debug", LEVELS.join(", "));
    let is_level = |word: &str| LEVELS.iter().any(|level| level.eq_ignore_ascii_case(word));
    // A comma may stand within the fields of a span; leave filters with a bracket to the library.
    let text = match text.contains(['[', '{']) {
        true => text.to_owned(),
        false => text.split(',').map(str::trim).collect::<Vec<_>>().join(","),
    };
    for word in text.split(',').filter(|_| !text.contains(['[', '{'])) {
        match word.rsplit_once('=') {
            None if !is_level(word) => return Err(format!("not a log filter: {word:?} is not a level; {}", allowed())),
            Some((_, level)) if !is_level(level) => {
                return Err(format!("not a log filter: {level:?} in {word:?} is not a level; {}", allowed()));
            }
            _ => (),
        }
    }
    let parsed = EnvFilter::builder().parse(&text);
    parsed.map(|_| text.clone()).map_err(|error| format!("not a log filter: {error}; {}", allowed()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_alone_is_a_level() {
        for good in [
            "info",
            "OFF",
            "warn,cairn_http=debug",
            "warn, cairn_http=trace",
            "cairn_http=debug",
            "[request{a=1}]=info",
        ] {
            assert_eq!(filter(good), Ok(good.replace(", ", ",")));
        }
        for wrong in
            ["", "loud", "inof", "info,loud", "info,", "cairn_http", "cairn_http=loud", "no=such=filter", "[x=y"]
        {
            let says = |error: &String| error.contains("the levels are off, error, warn, info, debug, trace");
            assert!(filter(wrong).is_err_and(|error| says(&error)), "{wrong}");
        }
    }
}
