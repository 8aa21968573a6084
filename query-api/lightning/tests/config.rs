//! The configuration: files, limits, and what it refuses.
#![allow(clippy::unwrap_used, missing_docs)]

use std::{
    fs,
    io::{Read, Write},
    net::TcpListener,
    path::Path,
    sync::Arc,
    thread,
    time::Duration,
};

use cairn_lightning::{BackendConfig, BackendKind, ConfigError, Credential, DEFAULT_TIMEOUT, MemoryStore, Secret};
use cairn_model::Network;

fn config(kind: BackendKind) -> BackendConfig {
    BackendConfig {
        kind,
        network: Network::Regtest,
        url: Some("http://127.0.0.1:9".to_owned()),
        credential: Some(Credential::Value(Secret::new("0a0b"))),
        certificate: None,
        allows_http: false,
        names_private_channels: false,
        timeout: DEFAULT_TIMEOUT,
    }
}

fn refused(change: impl FnOnce(&mut BackendConfig)) -> ConfigError {
    let mut config = config(BackendKind::Lnd);
    change(&mut config);
    config.to_backend(None).unwrap_err()
}

#[test]
fn kinds() {
    for name in ["lnd", "core-lightning", "phoenixd", "simulated"] {
        assert_eq!(name.parse::<BackendKind>().unwrap().to_string(), name);
    }
    let error = "eclair".parse::<BackendKind>().unwrap_err();
    assert_eq!(error.to_string(), "there is no backend \"eclair\"; choose lnd, core-lightning, phoenixd or simulated");
}

#[test]
fn limits() {
    for kind in [BackendKind::Lnd, BackendKind::CoreLightning, BackendKind::Phoenixd] {
        assert!(config(kind).to_backend(None).is_ok());
    }
    assert_eq!(refused(|c| c.credential = None), ConfigError::NoCredential(BackendKind::Lnd));
    for text in ["", "not hex", "0a\n0b"] {
        let error = refused(|c| c.credential = Some(Credential::Value(Secret::new(text))));
        assert!(matches!(error, ConfigError::BadCredential(_)), "{text}");
    }
    for millis in [0, 99, 30_001] {
        let timeout = Duration::from_millis(millis);
        assert_eq!(refused(|c| c.timeout = timeout), ConfigError::Timeout(timeout));
    }
    assert!(matches!(refused(|c| c.url = None), ConfigError::Url(_)));
    let remote = |c: &mut BackendConfig| c.url = Some("http://node.example:8080".to_owned());
    let error = refused(remote).to_string();
    assert!(error.contains("http is allowed for this machine only; give https://host:port"), "{error}");
    let mut allowed = config(BackendKind::Lnd);
    remote(&mut allowed);
    allowed.allows_http = true;
    assert!(allowed.to_backend(None).is_ok());
}

#[test]
fn simulated_invoices_are_for_regtest() {
    let key = "e126f68f7eafcc8b74f54d269fe206be715000f94dac067d1c04a8ca3b2db734";
    let connect = |network, key: &str| {
        let mut config = config(BackendKind::Simulated);
        (config.network, config.credential) = (network, Some(Credential::Value(Secret::new(key))));
        config.to_backend(Some(Arc::new(MemoryStore::default()))).map(|_| ())
    };
    assert_eq!(connect(Network::Regtest, key), Ok(()));
    for network in [Network::Main, Network::Testnet3, Network::Testnet4, Network::Signet] {
        assert_eq!(connect(network, key), Err(ConfigError::SimulatedNetwork(network)));
    }
    // Neither zero nor a number beyond the order of the curve is a key.
    for bad in [&"00".repeat(32), &"ff".repeat(32), &key[..62], "x"] {
        assert!(matches!(connect(Network::Regtest, bad), Err(ConfigError::BadCredential(_))), "{bad}");
    }
    let mut config = config(BackendKind::Simulated);
    config.credential = Some(Credential::Value(Secret::new(key)));
    assert_eq!(config.to_backend(None).unwrap_err(), ConfigError::NoStore);
}

#[test]
fn files_that_are_not_usable_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        fs::write(dir.path().join(name), bytes).unwrap();
        dir.path().join(name)
    };
    let credential = |path: &Path| refused(|c| c.credential = Some(Credential::File(path.to_owned()))).to_string();
    assert!(credential(Path::new("/nonexistent/admin.macaroon")).contains("/nonexistent/admin.macaroon"));
    assert!(credential(&file("long", &[b'a'; 4_097])).contains("longer than 4096 bytes"));
    assert!(credential(&file("empty", b"\n")).contains("it is empty"));
    let mut rune = config(BackendKind::CoreLightning);
    rune.credential = Some(Credential::File(file("rune", b"\xff\xfe")));
    assert!(rune.to_backend(None).unwrap_err().to_string().contains("not text"));
    let certificate = |path: &Path| {
        let set = |c: &mut BackendConfig| c.certificate = Some(path.to_owned());
        refused(set).to_string()
    };
    assert!(certificate(Path::new("/nonexistent/tls.cert")).contains("cannot read /nonexistent/tls.cert"));
    assert!(certificate(&file("none.pem", b"hello")).contains("no certificate in PEM"));
    let broken = b"-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n";
    assert!(certificate(&file("broken.pem", broken)).contains("malformed"));
    let not_der = file("not-der.pem", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    let mut https = config(BackendKind::Lnd);
    (https.url, https.certificate) = (Some("https://127.0.0.1:9".to_owned()), Some(not_der));
    assert!(matches!(https.to_backend(None), Err(ConfigError::Tls(_))));
}

/// LND writes macaroons in binary (docs/macaroons.md shows `xxd` for REST); a file in hex is taken as it is.
#[test]
fn credentials_of_files_are_sent_as_the_daemon_wants_them() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("credential");
    for (kind, bytes, header) in [
        (BackendKind::Lnd, &b"\x02\x01\x03lnd"[..], "grpc-metadata-macaroon: 0201036c6e64"),
        (BackendKind::Lnd, b"0201036c6e64\n", "grpc-metadata-macaroon: 0201036c6e64"),
        (BackendKind::CoreLightning, b"AAAA-rune_==\n", "rune: AAAA-rune_=="),
        // printf ':hunter2' | base64
        (BackendKind::Phoenixd, b"hunter2\n", "authorization: Basic Omh1bnRlcjI="),
    ] {
        fs::write(&path, bytes).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut config = config(kind);
        config.url = Some(format!("http://{}", listener.local_addr().unwrap()));
        config.credential = Some(Credential::File(path.clone()));
        let server = thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            let mut request = vec![0; 4_096];
            let read = stream.read(&mut request).unwrap();
            stream.write_all(b"HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n").unwrap();
            String::from_utf8_lossy(&request[..read]).into_owned()
        });
        let _ = config.to_backend(None).unwrap().node();
        let request = server.join().unwrap();
        assert!(request.lines().any(|line| line == header), "{header}: {request}");
    }
}
