//! Whether calls are sold, and the Lightning node that makes their invoices. The settings of x402 have a file of their
//! own.

use std::{path::PathBuf, time::Duration};

use cairn_http::{AccessMode, PassMethod, PassOffer, looks_secret};
use cairn_lightning::{BackendConfig, BackendKind, ConfigError, Credential, Secret};
use cairn_model::Network;
use clap::{ArgAction, Args, ValueEnum};

use super::{
    private_key::{bare_key, text_of},
    state::Hidden,
    whole,
    x402::X402,
};
use crate::exit::Failure;

/// Sold calls.
#[derive(Args, Clone, Debug)]
pub(crate) struct Access {
    /// Whether calls are sold. beta: everything is free. live: a call of a premium operation must be paid, or made with
    /// a key or a wallet session.
    #[arg(long, env = "CAIRN_ACCESS_MODE", value_name = "MODE", value_enum, default_value = "beta")]
    access_mode: Mode,
    /// Price of a pass of 31 days, in satoshis. In live mode the checkout sells it over --lightning, and on chain with
    /// --payments-descriptor. Default: passes are not sold.
    #[arg(long, env = "CAIRN_PASS_PRICE_SATS", value_name = "SATS", value_parser = whole::<u64>(546..=1_000_000_000))]
    pass_price_sats: Option<u64>,
    #[command(flatten)]
    pub(crate) lightning: Lightning,
    #[command(flatten)]
    pub(crate) x402: X402,
}

/// Modes of access.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    /// Everything is free.
    Beta,
    /// Calls are sold.
    Live,
}

/// The Lightning node that makes the invoices of sold calls.
#[derive(Args, Clone, Debug)]
pub(crate) struct Lightning {
    /// Lightning node that makes the invoices of sold calls. simulated: invoices for regtest, which `cairn access pay`
    /// pays. Default: calls are not sold over Lightning.
    #[arg(long, env = "CAIRN_LIGHTNING", value_name = "BACKEND", value_enum)]
    lightning: Option<Backend>,
    /// URL of the Lightning node's REST interface, for example https://127.0.0.1:8080. http is allowed for this machine
    /// only.
    #[arg(long, env = "CAIRN_LIGHTNING_URL", value_name = "URL")]
    lightning_url: Option<String>,
    /// File with the credential of the Lightning node: LND's macaroon file, a rune of Core Lightning, or the limited
    /// password of phoenixd. It needs no right to spend. Private keys are refused.
    #[arg(long, env = "CAIRN_LIGHTNING_CREDENTIAL_FILE", value_name = "FILE")]
    lightning_credential_file: Option<PathBuf>,
    /// The credential itself in place of a file; a macaroon in hexadecimal digits. Set it in the environment or in
    /// cairn.toml: other users can see the command line.
    #[arg(long, env = "CAIRN_LIGHTNING_CREDENTIAL", value_name = "CREDENTIAL", hide_env_values = true)]
    lightning_credential: Option<Hidden>,
    /// File with the certificate of the Lightning node (PEM), for example LND's tls.cert: only this one is trusted.
    /// Default: the certificates that this machine trusts.
    #[arg(long, env = "CAIRN_LIGHTNING_CERTIFICATE", value_name = "FILE")]
    lightning_certificate: Option<PathBuf>,
    /// If true, invoices name channels that are not public. A node without public channels needs it.
    #[arg(long, env = "CAIRN_LIGHTNING_PRIVATE_CHANNELS", value_name = "BOOL", default_value = "false",
        action = ArgAction::Set)]
    lightning_private_channels: bool,
    /// Timeout of a request to the Lightning node in milliseconds.
    #[arg(long, env = "CAIRN_LIGHTNING_TIMEOUT_MS", value_name = "MS", default_value = "2000",
        value_parser = whole::<u32>(100..=30_000))]
    lightning_timeout_ms: u32,
}

/// Kinds of Lightning nodes.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Backend {
    /// LND.
    Lnd,
    /// Core Lightning.
    CoreLightning,
    /// phoenixd.
    Phoenixd,
    /// Simulated invoices on regtest.
    Simulated,
}

impl Access {
    pub(crate) fn mode(&self) -> AccessMode {
        match self.access_mode {
            Mode::Beta => AccessMode::Beta,
            Mode::Live => AccessMode::Live,
        }
    }

    /// Returns the pass that is sold, and how it is paid; `None` if no price is set. `takes_onchain` is true if there
    /// is a descriptor for payments.
    pub(crate) fn pass(&self, takes_onchain: bool) -> Option<PassOffer> {
        let over_lightning = self.lightning.kind().map(|_| PassMethod::Lightning);
        let methods = over_lightning.into_iter().chain(takes_onchain.then_some(PassMethod::Onchain));
        self.pass_price_sats.map(|price_sats| PassOffer { price_sats, methods: methods.collect() })
    }

    /// Returns the name of the backend that makes the invoices of sold calls; `None` if none are sold over Lightning.
    pub(crate) fn sold_over(&self) -> Option<&'static str> {
        self.lightning.kind().filter(|_| self.mode().is_live()).map(BackendKind::name)
    }

    /// Checks the settings without asking the Lightning node. `network` is that of the index, if it is known.
    ///
    /// # Errors
    /// Fails if a private key is in them; in live mode also if they give no Lightning backend or no terms of x402.
    pub(crate) fn check(&self, network: Option<Network>) -> Result<(), Failure> {
        self.lightning.refuse_private_keys()?;
        self.x402.refuse_private_keys()?;
        if self.mode().is_live() {
            self.lightning.check(network)?;
            self.x402.seller()?;
        }
        Ok(())
    }
}

impl Lightning {
    /// Returns the kind of backend; `None` if none is set.
    pub(crate) fn kind(&self) -> Option<BackendKind> {
        self.lightning.map(|backend| match backend {
            Backend::Lnd => BackendKind::Lnd,
            Backend::CoreLightning => BackendKind::CoreLightning,
            Backend::Phoenixd => BackendKind::Phoenixd,
            Backend::Simulated => BackendKind::Simulated,
        })
    }

    /// Checks the settings without asking the node. `network` is that of the index, if it is known.
    ///
    /// # Errors
    /// Fails if they give no backend, or if a private key is in them.
    pub(crate) fn check(&self, network: Option<Network>) -> Result<(), Failure> {
        self.refuse_private_keys()?;
        let Some(kind) = self.kind() else { return Ok(()) };
        if kind != BackendKind::Simulated {
            // The network of a daemon is compared when it is asked.
            let config = self.daemon(kind, network.unwrap_or(Network::Main))?;
            return config.to_backend(None).map(drop).map_err(lightning_failure);
        }
        if self.credential()?.is_some() {
            let message = "simulated invoices take no credential: their key comes from the service state";
            return Err(Failure::usage(message).hint("remove lightning_credential and lightning_credential_file"));
        }
        match network {
            Some(network) if network != Network::Regtest => {
                Err(lightning_failure(ConfigError::SimulatedNetwork(network)))
            }
            _ => Ok(()),
        }
    }

    /// Returns the URL of the node, for messages.
    pub(crate) fn url(&self) -> &str {
        self.lightning_url.as_deref().unwrap_or("-")
    }

    /// Returns the configuration of a daemon.
    ///
    /// # Errors
    /// Fails if there are two credentials.
    pub(crate) fn daemon(&self, kind: BackendKind, network: Network) -> Result<BackendConfig, Failure> {
        Ok(BackendConfig {
            kind,
            network,
            url: self.lightning_url.clone(),
            credential: self.credential()?,
            certificate: self.lightning_certificate.clone(),
            allows_http: false,
            names_private_channels: self.lightning_private_channels,
            timeout: Duration::from_millis(self.lightning_timeout_ms.into()),
        })
    }

    fn credential(&self) -> Result<Option<Credential>, Failure> {
        match (&self.lightning_credential, &self.lightning_credential_file) {
            (Some(_), Some(_)) => {
                Err(Failure::usage("lightning_credential and lightning_credential_file are both set; one is allowed")
                    .hint("remove one of them; `cairn config` shows where each was set"))
            }
            (Some(Hidden(text)), None) => Ok(Some(Credential::Value(Secret::new(text.as_str())))),
            (None, file) => Ok(file.clone().map(Credential::File)),
        }
    }

    /// Refuses private keys and recovery phrases in place of a credential.
    fn refuse_private_keys(&self) -> Result<(), Failure> {
        // LND's macaroons are binary. A file that cannot be read is reported when it is used.
        let in_file = self.lightning_credential_file.as_ref().and_then(|path| text_of(path).ok());
        let credential = self.lightning_credential.as_ref().map(|Hidden(text)| text);
        for (key, text) in [
            ("lightning_credential", credential),
            ("lightning_credential_file", in_file.as_ref()),
            ("lightning_url", self.lightning_url.as_ref()),
        ] {
            if text.is_some_and(|text| looks_secret(text) || self.is_bare_key(text)) {
                let message = format!("{key} looks like a private key or a recovery phrase, which Cairn never takes");
                return Err(Failure::usage(message).hint(self.instead_of_key()));
            }
        }
        Ok(())
    }

    /// True if a text has the form of a private key in hex. phoenixd's own passwords have it too.
    fn is_bare_key(&self, text: &str) -> bool {
        bare_key(text) && self.lightning != Some(Backend::Phoenixd)
    }

    /// Returns what to do about a private key.
    fn instead_of_key(&self) -> String {
        let credential = match self.lightning {
            Some(Backend::Lnd) => "a macaroon with invoices:read invoices:write info:read",
            Some(Backend::CoreLightning) => "a rune for the methods invoice, listinvoices and getinfo",
            Some(Backend::Phoenixd) => "the password http-password-limited-access of phoenix.conf",
            Some(Backend::Simulated) => return "remove it: simulated invoices need no credential".to_owned(),
            None => "a credential of the Lightning node that cannot spend",
        };
        format!("consider it as leaked, and give {credential}")
    }
}

/// Converts an error of a configuration, and names the settings.
pub(crate) fn lightning_failure(error: ConfigError) -> Failure {
    let hint = match &error {
        ConfigError::Url(_) => Some("set --lightning-url, CAIRN_LIGHTNING_URL or lightning_url"),
        ConfigError::NoCredential(_) | ConfigError::BadCredential(_) => {
            Some("set --lightning-credential-file, or CAIRN_LIGHTNING_CREDENTIAL")
        }
        ConfigError::File { .. } | ConfigError::Tls(_) => {
            Some("correct --lightning-credential-file or --lightning-certificate")
        }
        ConfigError::SimulatedNetwork(_) => Some("set --lightning to lnd, core-lightning or phoenixd"),
        ConfigError::Timeout(_) | ConfigError::NoStore => None,
    };
    hint.into_iter().fold(Failure::usage(error.to_string()), Failure::hint)
}

#[cfg(test)]
impl Access {
    #[allow(clippy::unwrap_used)]
    pub(crate) fn of_flags(flags: &[&str]) -> Self {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            access: Access,
        }
        <Line as clap::Parser>::try_parse_from([&["cairn"], flags].concat()).unwrap().access
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;
    use crate::exit::Exit;

    const XPRV: &str = "xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHi";
    const WIF: &str = "KwDiBf89QgGbjEhKnhXJuH7LrciVrZi3qYjgd9M7rFU73sVHnoWn";
    const PHRASE: &str =
        "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about";
    const HEX: &str = "e126f68f7eafcc8b74f54d269fe206be715000f94dac067d1c04a8ca3b2db734";

    fn refused(flags: &[&str], network: Option<Network>) -> String {
        let failure = Access::of_flags(flags).check(network).unwrap_err();
        assert_eq!(failure.exit, Exit::Usage);
        failure.to_string()
    }

    #[test]
    fn a_backend_has_effect_in_live_mode_only() {
        assert_eq!((Access::of_flags(&[]).sold_over(), Access::of_flags(&[]).mode()), (None, AccessMode::Beta));
        assert_eq!(Access::of_flags(&["--lightning", "lnd"]).sold_over(), None);
        // Even an incomplete one: it is not used.
        Access::of_flags(&["--lightning", "lnd"]).check(None).unwrap();
        for name in ["lnd", "core-lightning", "phoenixd", "simulated"] {
            assert_eq!(Access::of_flags(&["--access-mode", "live", "--lightning", name]).sold_over(), Some(name));
        }
        assert_eq!(Access::of_flags(&["--access-mode", "live"]).sold_over(), None);
        Access::of_flags(&["--access-mode", "live"]).check(Some(Network::Main)).unwrap();
    }

    #[test]
    fn a_pass_has_a_price_and_ways_to_pay() {
        let of = |flags: &[&str], takes_onchain| {
            let pass = Access::of_flags(flags).pass(takes_onchain);
            pass.map(|PassOffer { price_sats, methods }| (price_sats, methods))
        };
        assert_eq!(of(&["--lightning", "lnd"], true), None);
        let price = ["--pass-price-sats", "9000"];
        assert_eq!(of(&price, false), Some((9_000, vec![])));
        assert_eq!(of(&price, true), Some((9_000, vec![PassMethod::Onchain])));
        let both = of(&["--pass-price-sats", "9000", "--lightning", "lnd"], true);
        assert_eq!(both, Some((9_000, vec![PassMethod::Lightning, PassMethod::Onchain])));
    }

    #[test]
    fn incomplete_settings_name_what_is_missing() {
        let live = |args: &[&str]| refused(&[&["--access-mode", "live", "--lightning"], args].concat(), None);
        let said = live(&["lnd", "--lightning-url", "https://127.0.0.1:8080"]);
        assert!(said.contains("lnd needs a credential") && said.contains("--lightning-credential-file"), "{said}");
        let said = live(&["phoenixd", "--lightning-credential", "hunter2"]);
        assert!(said.contains("--lightning-url") && !said.contains("hunter2"), "{said}");
        let said = live(&["phoenixd", "--lightning-credential", "hunter2", "--lightning-credential-file", "x"]);
        assert!(said.contains("both set") && !said.contains("hunter2"), "{said}");
        let said = live(&["lnd", "--lightning-credential-file", "/nonexistent/invoice.macaroon"]);
        assert!(said.contains("/nonexistent/invoice.macaroon"), "{said}");
    }

    #[test]
    fn simulated_invoices_are_for_regtest() {
        let simulated = ["--access-mode", "live", "--lightning", "simulated"];
        Access::of_flags(&simulated).check(Some(Network::Regtest)).unwrap();
        Access::of_flags(&simulated).check(None).unwrap();
        let said = refused(&simulated, Some(Network::Signet));
        assert!(said.contains("on regtest only, not on signet") && said.contains("lnd, core-lightning"), "{said}");
        let said = refused(&[&simulated[..], &["--lightning-credential", "abcd"]].concat(), None);
        assert!(said.contains("take no credential"), "{said}");
    }

    #[test]
    fn private_keys_are_refused_and_not_repeated() {
        for backend in ["lnd", "core-lightning", "phoenixd", "simulated"] {
            for (key, is_refused) in [(XPRV, true), (WIF, true), (PHRASE, true), (HEX, backend != "phoenixd")] {
                let checked = Access::of_flags(&["--lightning", backend, "--lightning-credential", key]).check(None);
                assert_eq!(checked.is_err(), is_refused, "{backend}: {key}");
                let said = checked.err().map(|failure| failure.to_string()).unwrap_or_default();
                assert!(!said.contains(key), "{said}");
                assert!(said.is_empty() || said.contains("lightning_credential looks like a private key"), "{said}");
            }
        }
        let folder = cairn_testkit::temp_dir();
        let file = folder.path().join("credential");
        let path = file.to_str().unwrap();
        let of_file = |bytes: &[u8]| {
            fs::write(&file, bytes).unwrap();
            Access::of_flags(&["--lightning", "lnd", "--lightning-credential-file", path]).check(None)
        };
        let said = of_file(format!("{WIF}\n").as_bytes()).unwrap_err().to_string();
        assert!(said.contains("lightning_credential_file looks like") && said.contains("invoices:read"), "{said}");
        // A binary macaroon may have as many words as a recovery phrase.
        let mut macaroon = b"\x02\x01\x03lnd\xff".to_vec();
        macaroon.extend(b"address read write info read invoices read write macaroon read write onchain read write");
        of_file(&macaroon).unwrap();
        of_file(b"0201036c6e64\n").unwrap();
    }

    #[test]
    fn nothing_shows_the_credential() {
        let access = Access::of_flags(&["--lightning", "phoenixd", "--lightning-credential", "hunter2"]);
        let config = access.lightning.daemon(BackendKind::Phoenixd, Network::Main).unwrap();
        assert!(!format!("{access:?} {config:?}").contains("hunter2"));
    }
}
