//! Log lines on standard error.

use tracing_subscriber::{EnvFilter, fmt, layer::SubscriberExt, util::SubscriberInitExt};

use crate::{
    config::{LogFormat, Logging},
    exit::Failure,
    progress::Screen,
};

pub(crate) fn start(logging: &Logging, screen: &Screen) -> Result<(), Failure> {
    let wrong = |error: tracing_subscriber::filter::ParseError| Failure::usage(format!("not a log filter: {error}"));
    let mut filter = EnvFilter::builder().parse(&logging.log).map_err(wrong)?;
    if !logging.log.contains("rmcp") {
        // rmcp logs a warning with the client's text for each invalid message, and an error for each client that
        // disconnects. Show them only if the filter names rmcp. Server errors are logged by the callers.
        filter = filter.add_directive("rmcp=off".parse().map_err(wrong)?);
    }
    if !logging.log.contains("object_store") {
        // It logs each retry of a request. A request that fails in the end is an error of ours.
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
