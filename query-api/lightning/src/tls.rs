//! TLS with the certificate that the operator names.
//!
//! LND signs its certificate itself and marks it as an authority (`IsCA`, cert/selfsigned.go). Usual verification
//! refuses a certificate that is both authority and server; so a server that shows exactly the certificate of the
//! operator's file, and proves in the handshake that it has the key, is taken as it is. Any other certificate must be
//! signed by one of the file for the name in the URL, as Core Lightning's is.

use std::{
    fmt,
    io::{Read, Write},
    sync::Arc,
};

use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore, SignatureScheme, StreamOwned,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{self, CryptoProvider},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, Either, LazyBuffers, NextTimeout, Transport, TransportAdapter,
};

pub(crate) enum Trust {
    /// The certificates of the machine.
    Machine,
    /// The certificates of the operator's file, and no others.
    Only(Vec<CertificateDer<'static>>),
}

/// Builds the configuration of TLS. The error names the certificate or setting that is wrong.
pub(crate) fn client_config(trust: Trust) -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let mut roots = RootCertStore::empty();
    let config = match trust {
        Trust::Machine => {
            let found = rustls_native_certs::load_native_certs().certs;
            if roots.add_parsable_certificates(found).0 == 0 {
                return Err("this machine has no root certificates; name a file with the daemon's".to_owned());
            }
            builder.with_root_certificates(roots).with_no_client_auth()
        }
        Trust::Only(certificates) => {
            for certificate in &certificates {
                roots.add(certificate.clone()).map_err(|error| error.to_string())?;
            }
            let chain = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
                .build()
                .map_err(|error| error.to_string())?;
            let verifier = Arc::new(NamedCertificates { certificates, chain, provider });
            builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
        }
    };
    Ok(Arc::new(config))
}

/// Takes the named certificates and those that they signed.
#[derive(Debug)]
struct NamedCertificates {
    certificates: Vec<CertificateDer<'static>>,
    chain: Arc<WebPkiServerVerifier>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for NamedCertificates {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.certificates.iter().any(|named| named.as_ref() == shown.as_ref()) {
            // Neither name nor dates matter: the operator named this certificate itself.
            return Ok(ServerCertVerified::assertion());
        }
        self.chain.verify_server_cert(shown, intermediates, name, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        crypto::verify_tls12_signature(message, shown, signature, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        crypto::verify_tls13_signature(message, shown, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Puts TLS on the connections of https URLs. ureq's own connector takes no verifier.
#[derive(Debug)]
pub(crate) struct TlsConnector(pub(crate) Arc<ClientConfig>);

impl<In: Transport> Connector<In> for TlsConnector {
    type Out = Either<In, TlsTransport>;

    fn connect(&self, details: &ConnectionDetails<'_>, below: Option<In>) -> Result<Option<Self::Out>, ureq::Error> {
        let Some(transport) = below else { return Ok(None) };
        if !details.needs_tls() {
            return Ok(Some(Either::A(transport)));
        }
        let host = details.uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(host).map_err(|_| ureq::Error::Tls("the host of the URL is not a name"))?;
        let connection =
            ClientConnection::new(Arc::clone(&self.0), name).map_err(|error| ureq::Error::Other(Box::new(error)))?;
        let mut socket = TransportAdapter::new(transport.boxed(), Arc::clone(&details.current_time));
        socket.set_timeout(details.timeout);
        let mut stream = StreamOwned::new(connection, socket);
        stream.conn.complete_io(&mut stream.sock)?;
        let config = details.config;
        let buffers = LazyBuffers::new(config.input_buffer_size(), config.output_buffer_size());
        Ok(Some(Either::B(TlsTransport { buffers, stream })))
    }
}

pub(crate) struct TlsTransport {
    buffers: LazyBuffers,
    stream: StreamOwned<ClientConnection, TransportAdapter>,
}

impl fmt::Debug for TlsTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsTransport")
    }
}

impl Transport for TlsTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), ureq::Error> {
        self.stream.sock.set_timeout(timeout);
        self.stream.write_all(self.buffers.output().get(..amount).unwrap_or_default())?;
        Ok(self.stream.flush()?)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, ureq::Error> {
        self.stream.sock.set_timeout(timeout);
        let read = self.stream.read(self.buffers.input_append_buf())?;
        self.buffers.input_appended(read);
        Ok(read > 0)
    }

    fn is_open(&mut self) -> bool {
        // Connections are not kept.
        false
    }

    fn is_tls(&self) -> bool {
        true
    }
}
