//! Configuration of a backend.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use cairn_model::Network;
use rustls::pki_types::{CertificateDer, pem::PemObject};

use crate::{
    BackendKind, ConfigError, InvoiceStore, Invoices, Secret, Simulated,
    base_url::BaseUrl,
    core_lightning::{self, CoreLightning},
    daemon::Daemon,
    http::{Authorization, Http},
    lnd::{self, Lnd},
    phoenixd::Phoenixd,
    tls::Trust,
};

/// Time-out of a call, unless the operator sets another.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(2);
/// Shortest time-out.
pub const MIN_TIMEOUT: Duration = Duration::from_millis(100);
/// Longest time-out.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_CREDENTIAL_BYTES: u64 = 4_096;
const MAX_CERTIFICATE_BYTES: u64 = 64 << 10;

/// A macaroon, rune, password or key, or the file that has it.
#[derive(Clone, Debug)]
pub enum Credential {
    /// The credential: a macaroon in hex, a rune, phoenixd's password, or the key of the simulated node in hex.
    Value(Secret),
    /// A file with it. LND's macaroon files are binary; they are taken as they are.
    File(PathBuf),
}

/// Configuration of a backend.
#[derive(Clone, Debug)]
pub struct BackendConfig {
    /// Kind of backend.
    pub kind: BackendKind,
    /// Network that the node must be on.
    pub network: Network,
    /// URL of the daemon; unused by simulated invoices.
    pub url: Option<String>,
    /// The credential.
    pub credential: Option<Credential>,
    /// File in PEM with the certificates to trust, and no others; without it, those of the machine.
    pub certificate: Option<PathBuf>,
    /// Allows http to other machines.
    pub allows_http: bool,
    /// Puts channels that are not public into invoices. A node with such channels only needs it.
    pub names_private_channels: bool,
    /// Time-out of a call.
    pub timeout: Duration,
}

impl BackendConfig {
    /// Creates the backend. Files are read now; the daemon is not asked yet. `store` is for simulated invoices.
    pub fn to_backend(&self, store: Option<Arc<dyn InvoiceStore>>) -> Result<Box<dyn Invoices>, ConfigError> {
        let credential = self.credential.as_ref().ok_or(ConfigError::NoCredential(self.kind))?;
        let secret = self.secret(credential)?;
        type Wrap = fn(Daemon) -> Box<dyn Invoices>;
        let (header, value, wrap): (_, _, Wrap) = match self.kind {
            BackendKind::Simulated => {
                let store = store.ok_or(ConfigError::NoStore)?;
                return Ok(Box::new(Simulated::new(self.network, &secret, store)?));
            }
            BackendKind::Lnd => (lnd::HEADER, secret.expose().to_owned(), |daemon| Box::new(Lnd(daemon))),
            BackendKind::CoreLightning => {
                (core_lightning::HEADER, secret.expose().to_owned(), |daemon| Box::new(CoreLightning(daemon)))
            }
            BackendKind::Phoenixd => {
                let user_and_password = STANDARD.encode(format!(":{}", secret.expose()));
                ("authorization", format!("Basic {user_and_password}"), |daemon| Box::new(Phoenixd(daemon)))
            }
        };
        if !(MIN_TIMEOUT..=MAX_TIMEOUT).contains(&self.timeout) {
            return Err(ConfigError::Timeout(self.timeout));
        }
        let base = BaseUrl::new(self.url.as_deref().unwrap_or_default(), self.allows_http)?;
        let authorization = Authorization::new(header, value, secret)?;
        let trust = match &self.certificate {
            Some(path) => Trust::Only(certificates(path)?),
            None => Trust::Machine,
        };
        let http = Http::new(self.kind.name(), base, authorization, trust, self.timeout)?;
        Ok(wrap(Daemon { http, network: self.network, names_private_channels: self.names_private_channels }))
    }

    /// Reads the credential, in the form in which it is sent.
    fn secret(&self, credential: &Credential) -> Result<Secret, ConfigError> {
        let bytes = match credential {
            Credential::Value(secret) => secret.expose().as_bytes().to_vec(),
            Credential::File(path) => read(path, MAX_CREDENTIAL_BYTES)?,
        };
        let text = String::from_utf8(bytes.clone()).map(|text| text.trim().to_owned()).ok();
        let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let text = match (self.kind, text) {
            (BackendKind::Lnd, Some(text)) if is_hex(&text) => text,
            (BackendKind::Lnd, _) if matches!(credential, Credential::File(_)) => hex::encode(bytes),
            (BackendKind::Lnd, _) => return Err(ConfigError::BadCredential("a macaroon's value is hexadecimal")),
            (_, Some(text)) => text,
            (_, None) => return Err(ConfigError::BadCredential("it is not text")),
        };
        if text.is_empty() {
            return Err(ConfigError::BadCredential("it is empty"));
        }
        Ok(Secret::new(text))
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ConfigError> {
    let bytes = read(path, MAX_CERTIFICATE_BYTES)?;
    let bad = |reason: &str| ConfigError::File { path: path.to_owned(), reason: reason.to_owned() };
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    match read {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) => Err(bad("it has no certificate in PEM")),
        Err(error) => Err(bad(&format!("a certificate is malformed: {error}"))),
    }
}

fn read(path: &Path, max_bytes: u64) -> Result<Vec<u8>, ConfigError> {
    let bad = |reason: String| ConfigError::File { path: path.to_owned(), reason };
    let file = fs::File::open(path).map_err(|error| bad(error.to_string()))?;
    let mut bytes = Vec::new();
    file.take(max_bytes + 1).read_to_end(&mut bytes).map_err(|error| bad(error.to_string()))?;
    if bytes.len() as u64 > max_bytes {
        return Err(bad(format!("it is longer than {max_bytes} bytes")));
    }
    Ok(bytes)
}
