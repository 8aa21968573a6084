//! Connections whose errors show that nothing was sent. Everything that can fail before the first byte of a request
//! happens here: the look-up of the name, the connection, and the handshake of TLS.

use thiserror::Error;
use ureq::{
    Error as HttpError, Timeout,
    config::Config,
    http::Uri,
    unversioned::{
        resolver::{ResolvedSocketAddrs, Resolver},
        transport::{ConnectionDetails, Connector, NextTimeout, Transport},
    },
};

/// A connector or a resolver, with its errors marked as [`NotConnected`].
#[derive(Debug)]
pub(crate) struct BeforeSending<P>(pub(crate) P);

/// There was no connection, for this reason.
#[derive(Debug, Error)]
#[error("{0}")]
pub(crate) struct NotConnected(pub(crate) String);

impl<In: Transport, C: Connector<In>> Connector<In> for BeforeSending<C> {
    type Out = C::Out;

    fn connect(&self, details: &ConnectionDetails<'_>, chained: Option<In>) -> Result<Option<C::Out>, HttpError> {
        self.0.connect(details, chained).map_err(not_connected)
    }
}

impl<R: Resolver> Resolver for BeforeSending<R> {
    fn resolve(&self, uri: &Uri, config: &Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, HttpError> {
        self.0.resolve(uri, config, timeout).map_err(not_connected)
    }
}

fn not_connected(error: HttpError) -> HttpError {
    let why = match error {
        HttpError::HostNotFound => "its host name is unknown".to_owned(),
        HttpError::Timeout(Timeout::Resolve) => "no address for its name in time".to_owned(),
        HttpError::Timeout(_) => "no connection in time".to_owned(),
        HttpError::Io(error) => {
            // An error of TLS travels as one of the system.
            let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
            tls.map_or_else(|| error.to_string(), ToString::to_string)
        }
        other => other.to_string(),
    };
    HttpError::Other(Box::new(NotConnected(why)))
}
