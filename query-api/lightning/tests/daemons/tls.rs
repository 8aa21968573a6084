//! TLS: certificates like LND's (self-signed, marked as authority; cert/selfsigned.go) and like Core Lightning's (an
//! authority in `ca.pem` that signed `server.pem`; plugins/rest-plugin/src/certs.rs). openssl makes them.

use std::{fs, path::Path, process::Command, sync::Arc, time::Duration};

use cairn_lightning::{BackendConfig, BackendError, BackendKind, NodeInfo};
use rustls::{
    ServerConfig, crypto,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use serde_json::json;

use crate::{
    config,
    server::{Reply, ok, serve},
};

/// Makes the certificates; false without openssl.
fn certificates(dir: &Path) -> bool {
    fs::write(dir.join("names"), "subjectAltName=IP:127.0.0.1\n").unwrap();
    let openssl = |line: &str| {
        let output = Command::new("openssl").args(line.split_whitespace()).current_dir(dir).output();
        output.is_ok_and(|output| output.status.success())
    };
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=test";
    let own = "-addext basicConstraints=critical,CA:TRUE -addext keyUsage=digitalSignature,keyCertSign";
    fs::write(dir.join("other-names"), "subjectAltName=DNS:node.example\n").unwrap();
    fs::write(dir.join("authority"), "basicConstraints=critical,CA:TRUE\n").unwrap();
    // The first one has no name of the server, and has expired.
    openssl(&format!("req {key} -keyout lnd.key -out lnd.csr"))
        && openssl("x509 -req -in lnd.csr -signkey lnd.key -extfile authority -days -1 -out lnd.pem")
        && openssl(&format!("req -x509 {key} {own} -keyout other.key -out other.pem -days 2"))
        && openssl(&format!("req -x509 {key} {own} -keyout ca.key -out ca.pem -days 2"))
        && openssl(&format!("req {key} -keyout server.key -out server.csr"))
        && openssl(
            "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.pem",
        )
        && openssl(&format!("req {key} -keyout renamed.key -out renamed.csr"))
        && openssl(
            "x509 -req -in renamed.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile other-names -out renamed.pem",
        )
}

/// A node whose server shows one certificate and reads the reply; the client trusts the certificates of another file.
fn backend(dir: &Path, shown: &str, trusted: Option<&str>, reply: Reply) -> BackendConfig {
    let certificate = CertificateDer::from_pem_file(dir.join(format!("{shown}.pem"))).unwrap();
    let key = PrivateKeyDer::from_pem_file(dir.join(format!("{shown}.key"))).unwrap();
    let builder = ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let tls = Arc::new(builder.with_single_cert(vec![certificate], key).unwrap());
    let address = serve(Some(tls), move |_| reply.clone());
    let mut config = config(BackendKind::Lnd, address);
    config.url = Some(format!("https://{address}"));
    config.certificate = trusted.map(|file| dir.join(format!("{file}.pem")));
    config
}

fn node(config: &BackendConfig) -> Result<NodeInfo, BackendError> {
    config.to_backend(None).unwrap().node()
}

#[test]
fn only_the_certificates_of_the_file_are_trusted() {
    let dir = tempfile::tempdir().unwrap();
    if !certificates(dir.path()) {
        println!("skipped: openssl is not installed");
        return;
    }
    let info = ok(&json!({ "alias": "bob", "chains": [{ "network": "regtest" }] }));
    let ask = |shown: &str, trusted| node(&backend(dir.path(), shown, trusted, info.clone()));
    // LND's certificate itself, whatever its names and dates; Core Lightning's by its authority.
    for (shown, trusted) in [("lnd", "lnd"), ("server", "ca"), ("server", "server")] {
        assert_eq!(ask(shown, Some(trusted)).unwrap().alias.as_deref(), Some("bob"), "{shown} {trusted}");
    }
    for (shown, trusted) in [
        ("lnd", Some("other")),
        ("other", Some("lnd")),
        ("lnd", Some("ca")),
        ("server", Some("lnd")),
        ("renamed", Some("ca")),
        ("ca", Some("server")),
        ("server", None),
    ] {
        let error = ask(shown, trusted).unwrap_err();
        assert!(error.code() == "unreachable" && error.to_string().contains("TLS"), "{shown} {trusted:?}: {error}");
    }
    let slow = |reply| {
        let mut config = backend(dir.path(), "lnd", Some("lnd"), reply);
        config.timeout = Duration::from_millis(300);
        let began = std::time::Instant::now();
        (node(&config).unwrap_err().code(), began.elapsed() < Duration::from_secs(6))
    };
    assert_eq!((slow(Reply::Silent), slow(Reply::Dripping)), (("timed_out", true), ("timed_out", true)));
    // A server that takes the connection and does not shake hands.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut mute = backend(dir.path(), "lnd", Some("lnd"), Reply::Silent);
    (mute.url, mute.timeout) =
        (Some(format!("https://{}", listener.local_addr().unwrap())), Duration::from_millis(300));
    assert_eq!(node(&mute).unwrap_err().code(), "timed_out");
    assert_eq!(slow(Reply::Raw(b"\x00garbage\r\n\r\n".to_vec())).0, "wrong_answer");
}

/// A server that shows the certificate of the file, without its key.
#[test]
fn a_copied_certificate_does_not_suffice() {
    let dir = tempfile::tempdir().unwrap();
    if !certificates(dir.path()) {
        println!("skipped: openssl is not installed");
        return;
    }
    fs::copy(dir.path().join("lnd.pem"), dir.path().join("copied.pem")).unwrap();
    fs::copy(dir.path().join("other.key"), dir.path().join("copied.key")).unwrap();
    let builder = ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let key = PrivateKeyDer::from_pem_file(dir.path().join("copied.key")).unwrap();
    let key = crypto::ring::sign::any_supported_type(&key).unwrap();
    let certificate = CertificateDer::from_pem_file(dir.path().join("copied.pem")).unwrap();
    let certified = rustls::sign::CertifiedKey::new(vec![certificate], key);
    let tls = Arc::new(builder.with_cert_resolver(Arc::new(rustls::sign::SingleCertAndKey::from(certified))));
    let address = serve(Some(tls), |_| ok(&json!({ "chains": [{ "network": "regtest" }] })));
    let mut config = config(BackendKind::Lnd, address);
    config.url = Some(format!("https://{address}"));
    config.certificate = Some(dir.path().join("lnd.pem"));
    let error = node(&config).unwrap_err();
    assert!(error.code() == "unreachable" && error.to_string().contains("TLS"), "{error}");
}
