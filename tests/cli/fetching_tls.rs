//! Prices over TLS, with the real binary: whose certificate is trusted, and that nobody leads from https to http.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener},
    path::Path,
    process::Command,
    sync::Arc,
    thread,
};

use assert_cmd::assert::Assert;
use cairn_support::{World, fails};
use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

use crate::CAIRN;

/// An authority and a server's certificate for localhost, in files of a folder; false without openssl.
fn certificates(dir: &Path) -> bool {
    fs::write(dir.join("names"), "subjectAltName=DNS:localhost\n").unwrap();
    let openssl = |line: &str| {
        let output = Command::new("openssl").args(line.split_whitespace()).current_dir(dir).output();
        output.is_ok_and(|output| output.status.success())
    };
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
    openssl(&format!(
        "req -x509 {key} -keyout ca.key -out ca.pem -days 2 -subj /CN=ca -addext basicConstraints=critical,CA:TRUE"
    )) && openssl(&format!("req {key} -keyout server.key -out server.csr -subj /CN=localhost"))
        && openssl(
            "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.pem",
        )
}

/// Serves three days of prices over TLS; `/down` redirects to http.
fn serve(dir: &Path) -> SocketAddr {
    let certificate = CertificateDer::from_pem_file(dir.join("server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(dir.join("server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(config.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut stream = StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), stream);
            let mut first = String::new();
            // A client that trusts nobody here goes away.
            if BufReader::new(&mut stream).read_line(&mut first).is_err() {
                continue;
            }
            let body = "date,close\n2020-01-01,7200.17\n2020-01-02,6985.47\n2020-01-03,7344.88\n";
            let answer = if first.contains("/down") {
                format!(
                    "HTTP/1.1 302 Found\r\nLocation: http://localhost:{}/a.csv\r\nContent-Length: 0\r\n\r\n",
                    address.port()
                )
            } else {
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
            };
            let _ = stream.write_all(answer.as_bytes());
            stream.conn.send_close_notify();
            let _ = stream.flush();
        }
    });
    address
}

#[test]
fn certificates_are_checked_and_nobody_leads_to_plain_http() {
    let world = World::empty(CAIRN);
    if !certificates(&world.path("")) {
        cairn_testkit::skip!("openssl is not installed");
    }
    let port = serve(&world.path("")).port();
    let import = |roots: &str, url: String| {
        let line = format!(
            "prices import --datadir data --licence x --source x --pair BTC/USD --dry-run --allow-private-addresses {url}"
        );
        let output = world.command(&line).env("SSL_CERT_FILE", world.path(roots)).output().unwrap();
        Assert::new(output)
    };
    let read = import("ca.pem", format!("https://localhost:{port}/a.csv")).success();
    assert!(String::from_utf8_lossy(&read.get_output().stdout).contains("3 rows read, 3 taken"));
    fails(import("ca.pem", format!("https://localhost:{port}/down")), 1, &["redirects from https to http", "refused"]);
    // The certificate is for a name, and by an authority that must be known.
    fails(import("ca.pem", format!("https://127.0.0.1:{port}/a.csv")), 1, &["TLS", "not valid for name"]);
    fs::create_dir(world.path("other")).unwrap();
    assert!(certificates(&world.path("other")));
    fails(import("other/ca.pem", format!("https://localhost:{port}/a.csv")), 1, &["TLS", "certificate"]);
    // Without any authority, nothing is sent.
    fs::write(world.path("empty.pem"), "").unwrap();
    fails(import("empty.pem", format!("https://localhost:{port}/a.csv")), 1, &["certificate"]);
}
