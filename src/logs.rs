//! Log lines on standard error.

use tracing_subscriber::{EnvFilter, fmt, layer::SubscriberExt, util::SubscriberInitExt};

use crate::{
    config::{LogFormat, Logging},
    exit::Failure,
    progress::Screen,
};

/// Levels of the log, as a filter names them.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Checks a log filter. A word alone must be a level: the library takes any other word for the name of a crate whose lines
/// alone are logged, so a mistyped level would switch off the log.
///
/// # Errors
/// What is wrong, with the levels.
pub(crate) fn filter(text: &str) -> Result<String, String> {
    let allowed = || format!("the levels are {}; for one crate: warn,cairn_http=debug", LEVELS.join(", "));
    let is_level = |word: &str| LEVELS.iter().any(|level| level.eq_ignore_ascii_case(word));
    // A comma may stand within the fields of a span; what has a bracket is left to the library.
    let words = text.split(',').map(str::trim).filter(|_| !text.contains(['[', '{']));
    for word in words {
        match word.rsplit_once('=') {
            None if !is_level(word) => return Err(format!("not a log filter: {word:?} is no level; {}", allowed())),
            Some((_, level)) if !is_level(level) => {
                return Err(format!("not a log filter: {level:?} in {word:?} is no level; {}", allowed()));
            }
            _ => (),
        }
    }
    let parsed = EnvFilter::builder().parse(text);
    parsed.map(|_| text.to_owned()).map_err(|error| format!("not a log filter: {error}; {}", allowed()))
}

/// Starts logging.
///
/// # Errors
/// The filter is invalid.
pub(crate) fn start(logging: &Logging, screen: &Screen) -> Result<(), Failure> {
    let wrong = |error: tracing_subscriber::filter::ParseError| Failure::usage(format!("not a log filter: {error}"));
    let mut filter = EnvFilter::builder().parse(&logging.log).map_err(wrong)?;
    if !logging.log.contains("rmcp") {
        // rmcp logs a warning with the client's text for each invalid message, and an error for each client that
        // disconnects. Show them only if the filter names rmcp. Server errors are logged by the callers.
        filter = filter.add_directive("rmcp=off".parse().map_err(wrong)?);
    }
    if !logging.log.contains("object_store") {
        // It reports each repeated request. What fails in the end is an error of ours.
        filter = filter.add_directive("object_store=warn".parse().map_err(wrong)?);
    }
    let registry = tracing_subscriber::registry().with(filter);
    let writer = screen.clone();
    let started = match logging.log_format {
        LogFormat::Text => {
            let colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
            registry.with(fmt::layer().with_writer(writer).with_target(false).with_ansi(colours)).try_init()
        }
        LogFormat::Json => registry.with(fmt::layer().json().flatten_event(true).with_writer(writer)).try_init(),
    };
    started.map_err(|e| Failure::new(crate::exit::Exit::Other, format!("log: {e}")))
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
            "[request{a=1,b=2}]=info",
        ] {
            assert_eq!(filter(good), Ok(good.to_owned()));
        }
        for wrong in
            ["", "loud", "inof", "info,loud", "info,", "cairn_http", "cairn_http=loud", "no=such=filter", "[x=y"]
        {
            let says = |error: &String| error.contains("the levels are off, error, warn, info, debug, trace");
            assert!(filter(wrong).is_err_and(|error| says(&error)), "{wrong}");
        }
    }
}
