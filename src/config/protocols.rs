//! Other protocols over the same index, each on a listener of its own.

use std::{net::SocketAddr, path::PathBuf};

use cairn_electrum::{Options, Tls, TlsError};
use clap::Args;

use super::{listener, values::whole};
use crate::exit::Failure;

/// Other protocols.
#[derive(Args, Clone, Default, Debug)]
pub(crate) struct Protocols {
    /// Address and port at which the HTTP API of Esplora is served, at the root and below /api. Default: not served.
    #[arg(long, env = "CAIRN_ESPLORA", value_name = "ADDR:PORT", value_parser = listener::address)]
    pub(crate) esplora: Option<SocketAddr>,

    /// Address and port at which the HTTP API of Esplora is served together with the routes that mempool.space's
    /// backend asks of its electrs. Only its operator should reach it. Default: not served.
    #[arg(long, env = "CAIRN_ESPLORA_INTERNAL", value_name = "ADDR:PORT", value_parser = listener::address)]
    pub(crate) esplora_internal: Option<SocketAddr>,

    /// Address and port at which the Electrum protocol is served over TCP. Default: not served.
    #[arg(long, env = "CAIRN_ELECTRUM", value_name = "ADDR:PORT", value_parser = listener::address)]
    pub(crate) electrum: Option<SocketAddr>,

    /// Address and port at which the Electrum protocol is served over TLS. Default: not served.
    #[arg(long, env = "CAIRN_ELECTRUM_TLS", value_name = "ADDR:PORT", value_parser = listener::address)]
    pub(crate) electrum_tls: Option<SocketAddr>,

    /// File of the certificates for --electrum-tls, in PEM: the server's own first.
    #[arg(long, env = "CAIRN_ELECTRUM_TLS_CERT", value_name = "FILE")]
    pub(crate) electrum_tls_cert: Option<PathBuf>,

    /// File of the private key for --electrum-tls, in PEM.
    #[arg(long, env = "CAIRN_ELECTRUM_TLS_KEY", value_name = "FILE")]
    pub(crate) electrum_tls_key: Option<PathBuf>,

    /// Longest history, in transactions, that the Electrum protocol lists or subscribes to. Default: 10000, since
    /// clients refuse messages above about 1 MB.
    #[arg(long, env = "CAIRN_ELECTRUM_MAX_HISTORY", value_name = "TRANSACTIONS", value_parser = whole::<u32>(1..=u32::MAX.into()))]
    pub(crate) electrum_max_history: Option<u32>,
}

impl Protocols {
    /// Returns certificate and key of the Electrum protocol over TLS; `None` if it is not served.
    ///
    /// # Errors
    /// Fails if they cannot be read or used.
    pub(crate) fn electrum_tls(&self) -> Result<Option<(SocketAddr, Tls)>, Failure> {
        let Some(address) = self.electrum_tls else { return Ok(None) };
        let (Some(cert), Some(key)) = (&self.electrum_tls_cert, &self.electrum_tls_key) else {
            let failure = Failure::usage("--electrum-tls needs a certificate and a private key");
            return Err(failure.hint("set --electrum-tls-cert and --electrum-tls-key"));
        };
        let tls = Tls::from_files(cert, key);
        let failed = |error: TlsError| {
            let hint = format!("check --electrum-tls-cert {} and --electrum-tls-key {}", cert.display(), key.display());
            Failure::usage(format!("the Electrum protocol cannot be served over TLS: {error}")).hint(hint)
        };
        tls.map(|tls| Some((address, tls))).map_err(failed)
    }

    /// True if the Electrum protocol is served.
    pub(crate) fn has_electrum(&self) -> bool {
        self.electrum.is_some() || self.electrum_tls.is_some()
    }

    /// Returns the settings of the Electrum protocol.
    pub(crate) fn electrum_options(&self) -> Options {
        let max_history = self.electrum_max_history.unwrap_or(Options::MAX_HISTORY);
        Options { max_history, ..Options::default() }
    }
}
