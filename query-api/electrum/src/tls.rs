//! TLS in front of the protocol.

use std::{fmt, path::Path, sync::Arc};

use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem, pem::PemObject},
};
use tokio_rustls::TlsAcceptor;

/// Why TLS cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The file of certificates.
    #[error("the certificates cannot be read: {0}")]
    Certificate(pem::Error),
    /// The file of the key.
    #[error("the private key cannot be read: {0}")]
    Key(pem::Error),
    /// They do not belong together, or their kind is not known.
    #[error("certificate and key cannot be used: {0}")]
    Refused(rustls::Error),
}

/// The certificate and key of a server.
#[derive(Clone)]
pub struct Tls(pub(crate) TlsAcceptor);

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}

impl Tls {
    /// Reads a chain of certificates, that of the server first, and its private key. Both are PEM.
    ///
    /// # Errors
    /// Fails if a file cannot be read, or if they cannot be used together.
    pub fn from_files(certificates: &Path, key: &Path) -> Result<Self, TlsError> {
        let chain = CertificateDer::pem_file_iter(certificates).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let chain = chain.map_err(TlsError::Certificate)?;
        let key = PrivateKeyDer::from_pem_file(key).map_err(TlsError::Key)?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|config| config.with_no_client_auth().with_single_cert(chain, key));
        config.map(|config| Tls(TlsAcceptor::from(Arc::new(config)))).map_err(TlsError::Refused)
    }
}
