//! Configuration of the server.

use std::time::Duration;

use ipnet::IpNet;

use crate::{
    contract::{
        mode::{AccessMode, X402Gate},
        pass::{CheckoutPause, PassOffer},
    },
    traces::sink::Traces,
};

/// Configuration of the server, independent of its operations.
#[derive(Clone, Debug)]
pub struct HttpConfig {
    /// Public URL of the service: scheme and host, without a trailing slash.
    pub base_url: String,
    /// Whether calls are sold.
    pub access_mode: AccessMode,
    /// Name of the Lightning backend that makes the invoices of sold calls; `None`: calls are not sold over Lightning.
    pub lightning: Option<&'static str>,
    /// Whether calls can be paid by x402; it has effect in live mode.
    pub x402: X402Gate,
    /// The pass that the checkout sells in live mode; `None`: the operator has set no price.
    pub pass: Option<PassOffer>,
    /// True if conditional access (transaction pages after the first) needs a wallet session.
    pub gates_enabled: bool,
    /// How long a valid session or key is cached without asking the service state. A revocation may take this long.
    pub session_cache: Duration,
    /// Time limit to receive a request, to answer it, and to send the answer. Also the idle limit of a connection.
    pub request_timeout: Duration,
    /// Largest request body in bytes.
    pub max_body_bytes: usize,
    /// Maximum number of requests of a cost class that run at the same time (a quarter of it for heavy requests).
    /// Further requests wait within the time limit.
    pub max_concurrent_reads: usize,
    /// Maximum number of waiting requests. Further requests get 503 at once.
    pub max_queued_requests: usize,
    /// Maximum number of open connections. Further connections get 503 and are closed.
    pub max_connections: usize,
    /// Maximum number of open connections of a client (an IPv4 address or an IPv6 /64). Does not apply to trusted
    /// proxies.
    pub max_connections_per_client: usize,
    /// Maximum number of open streams of events and websockets. Beyond it, a client whose network has fewer than
    /// another takes the place of one of the other's.
    pub max_streams: usize,
    /// Maximum number of open streams of events and websockets of a client.
    pub max_streams_per_client: usize,
    /// Rate limit of a client in units per minute: a light request costs 1, a standard one 2, a heavy one 10. 0: no
    /// limit.
    pub rate_limit: u32,
    /// Networks of proxies that may name the client.
    pub trusted_proxies: Vec<IpNet>,
    /// The header in which they name the client.
    pub forwarded_header: ForwardedHeader,
    /// Requests that take at least this long are logged; `None`: none.
    pub slow_request: Option<Duration>,
    /// Takes the spans of requests; `None`: requests are not traced.
    pub traces: Option<Traces>,
    /// True if agents' tools may call operations whose input is private.
    pub private_tools: bool,
    /// Origins of web pages that may use `/mcp/` and send requests that change something, besides pages of this machine
    /// and of the host of the base URL. `*`: all.
    pub browser_origins: Vec<String>,
    /// Versions of the Model Context Protocol at `/mcp/`, newest first; empty if it is not mounted.
    pub mcp_versions: Vec<String>,
}

impl HttpConfig {
    /// True if the Model Context Protocol is served.
    #[must_use]
    pub fn speaks_mcp(&self) -> bool {
        !self.mcp_versions.is_empty()
    }

    /// True if clients have a rate limit.
    #[must_use]
    pub fn limits_clients(&self) -> bool {
        self.rate_limit > 0
    }

    /// Returns the pass that is sold now.
    ///
    /// # Errors
    /// Returns the reason if none is.
    pub fn pass_for_sale(&self) -> Result<&PassOffer, CheckoutPause> {
        match &self.pass {
            _ if self.access_mode == AccessMode::Beta => Err(CheckoutPause::Beta),
            None => Err(CheckoutPause::NoPrice),
            Some(offer) if offer.methods.is_empty() => Err(CheckoutPause::NoMethod),
            Some(offer) => Ok(offer),
        }
    }

    /// Returns how the pass that is sold now can be paid; empty if none is.
    #[must_use]
    pub fn pass_methods(&self) -> Vec<&'static str> {
        self.pass_for_sale().map_or_else(|_| Vec::new(), |offer| offer.methods.iter().map(|way| way.name()).collect())
    }

    /// `checkout_buy_path` of health and catalogs.
    #[must_use]
    pub fn checkout_buy_path(&self) -> &'static str {
        match self.pass_for_sale() {
            Ok(_) => "open",
            Err(CheckoutPause::Beta) => "paused_during_public_beta",
            Err(_) => "not_for_sale",
        }
    }
}

impl Default for HttpConfig {
    fn default() -> Self {
        HttpConfig {
            base_url: "http://127.0.0.1:8080".to_owned(),
            access_mode: AccessMode::Beta,
            lightning: None,
            x402: X402Gate::Off,
            pass: None,
            gates_enabled: true,
            session_cache: Duration::from_secs(30),
            request_timeout: Duration::from_secs(20),
            max_body_bytes: 1 << 20,
            max_concurrent_reads: 32,
            max_queued_requests: 256,
            max_connections: 4096,
            max_connections_per_client: 512,
            max_streams: 2048,
            max_streams_per_client: 64,
            rate_limit: 6000,
            trusted_proxies: Vec::new(),
            forwarded_header: ForwardedHeader::default(),
            slow_request: Some(Duration::from_secs(1)),
            traces: None,
            private_tools: false,
            browser_origins: Vec::new(),
            mcp_versions: Vec::new(),
        }
    }
}

/// The header in which proxies in front of the server name the client. Only one of the two is read: a proxy sets one of
/// them and passes on the other as the client sent it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ForwardedHeader {
    /// `X-Forwarded-For`.
    #[default]
    XForwardedFor,
    /// `Forwarded` (RFC 7239).
    Forwarded,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::pass::PassMethod;

    #[test]
    fn the_pass_is_sold_in_live_mode_with_a_price_and_a_way_to_pay() {
        let of = |access_mode, methods: Option<&[PassMethod]>| {
            let pass = methods.map(|methods| PassOffer { price_sats: 1, methods: methods.to_vec() });
            let config = HttpConfig { access_mode, pass, ..HttpConfig::default() };
            let sold = config.pass_for_sale().map(|_| ()).map_err(CheckoutPause::code);
            (sold, config.checkout_buy_path(), config.pass_methods())
        };
        let both = [PassMethod::Lightning, PassMethod::Onchain];
        let beta = "paused_during_public_beta";
        assert_eq!(of(AccessMode::Beta, Some(&both)), (Err("public_beta"), beta, vec![]));
        assert_eq!(of(AccessMode::Live, None), (Err("no_price"), "not_for_sale", vec![]));
        assert_eq!(of(AccessMode::Live, Some(&[])), (Err("no_payment_method"), "not_for_sale", vec![]));
        assert_eq!(of(AccessMode::Live, Some(&both)), (Ok(()), "open", vec!["lightning", "onchain"]));
    }
}
