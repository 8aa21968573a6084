//! Settings of what is fetched from the network.

use std::collections::BTreeMap;

use cairn_fetch::{Url, live};
use cairn_inputs::Pair;
use clap::{ArgAction, Args};

use crate::exit::Failure;

/// The fetchers of prices.
#[derive(Args, Clone, Debug)]
pub(crate) struct Prices {
    /// Where prices are fetched from, comma-separated: binance, bitstamp, coinbase, ecb, kraken. Closed daily and
    /// hourly candles enter the ledger, and once a minute the price of the moment is the median of all. Default: none,
    /// nothing is fetched.
    #[arg(long, env = "CAIRN_PRICE_SOURCES", value_name = "NAMES", value_delimiter = ',')]
    price_sources: Vec<String>,
    /// Pairs, comma-separated. ecb brings the euro's rates whatever is written here; binance has no USD.
    #[arg(long, env = "CAIRN_PRICE_PAIRS", value_name = "PAIRS", value_delimiter = ',', default_value = "BTC/USD")]
    price_pairs: Vec<Pair>,
    /// Another server for a source: NAME=URL, comma-separated, for example a mirror. The mirror must have the paths of
    /// the source's own server below this URL.
    #[arg(long, env = "CAIRN_PRICE_ENDPOINT", value_name = "NAME=URL", value_delimiter = ',', value_parser = endpoint)]
    price_endpoint: Vec<(String, Url)>,
    #[command(flatten)]
    addresses: Addresses,
}

/// Which addresses are connected to.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Addresses {
    /// If true, prices and files may also be fetched from hosts outside the public network: this machine, private
    /// networks, link-local addresses. A redirect leads to no other such host, and to no other port.
    #[arg(long, env = "CAIRN_ALLOW_PRIVATE_ADDRESSES", value_name = "BOOL", default_value = "false",
        action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) allow_private_addresses: bool,
}

impl Prices {
    /// True if there are sources.
    pub(crate) fn are_fetched(&self) -> bool {
        !self.price_sources.is_empty()
    }

    /// Settings of the fetchers; `None` if they are off.
    pub(crate) fn settings(&self) -> Result<Option<live::Settings>, Failure> {
        if !self.are_fetched() {
            return Ok(None);
        }
        let mut endpoints = BTreeMap::new();
        for (name, url) in &self.price_endpoint {
            if endpoints.insert(name.clone(), url.clone()).is_some() {
                return Err(Failure::usage(format!("--price-endpoint names {name} twice")));
            }
        }
        let settings = live::Settings {
            sources: self.price_sources.clone(),
            pairs: self.price_pairs.clone(),
            endpoints,
            allows_private: self.addresses.allow_private_addresses,
        };
        settings.check()?;
        Ok(Some(settings))
    }
}

/// Parses NAME=URL.
fn endpoint(text: &str) -> Result<(String, Url), String> {
    let (name, url) = text.split_once('=').ok_or("expected NAME=URL, for example kraken=https://mirror.example")?;
    Ok((name.to_owned(), url.parse::<Url>().map_err(|error| error.to_string())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_read() {
        let (name, url) = endpoint("kraken=https://mirror.example/k?a=b").unwrap();
        assert_eq!((name.as_str(), url.shown().as_str()), ("kraken", "https://mirror.example/k?a=b"));
        for text in ["kraken", "kraken=", "kraken=ftp://x", "kraken=https://u:secret@x"] {
            let error = endpoint(text).unwrap_err();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
