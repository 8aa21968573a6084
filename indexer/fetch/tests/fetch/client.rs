//! The client against servers that behave well or badly.

use std::{
    io::Write,
    net::TcpListener,
    thread,
    time::{Duration, Instant},
};

use cairn_fetch::{Answer, Client, FetchError, Fetched, Limits, Url, Validators};
use cairn_model::CancelToken;
use cairn_support::server::{Reply, Server};
use flate2::{Compression, write::GzEncoder};

const LIMITS: Limits = Limits { received: 10_000, unpacked: 50_000, time: Duration::from_secs(20) };

fn url(text: &str) -> Url {
    text.parse().unwrap()
}

fn fetch(text: &str) -> Result<Answer, FetchError> {
    fetch_within(text, LIMITS)
}

fn fetch_within(text: &str, limits: Limits) -> Result<Answer, FetchError> {
    match Client::new(&CancelToken::new(), true).fetch(&url(text), limits, &Validators::default())? {
        Fetched::Document(answer) => Ok(*answer),
        Fetched::Unchanged => panic!("nobody asked whether it has changed"),
    }
}

fn gz(content: &[u8]) -> Vec<u8> {
    let mut to = GzEncoder::new(Vec::new(), Compression::best());
    to.write_all(content).unwrap();
    to.finish().unwrap()
}

#[test]
fn a_document_is_fetched() {
    let server =
        Server::start(|_| Reply::ok("some text").with("ETag", "\"a\"").with("Date", "Sun, 06 Nov 1994 08:49:37 GMT"));
    let answer = fetch(&server.url("/a?b=c")).unwrap();
    assert_eq!((answer.status, answer.body.content().unwrap()), (200, b"some text".to_vec()));
    assert_eq!((answer.date, answer.validators.etag.as_deref()), (Some(784_111_777), Some("\"a\"")));
    let seen = server.seen();
    assert_eq!((seen.len(), seen[0].path.as_str()), (1, "/a?b=c"));
    assert!(seen[0].header("user-agent").unwrap().starts_with("cairn/"));
    assert_eq!(seen[0].header("accept-encoding"), Some("gzip"));
    assert!(seen[0].header("if-none-match").is_none());
}

#[test]
fn a_server_can_say_that_nothing_has_changed() {
    let server = Server::start(|request| match request.header("if-none-match") {
        Some("\"a\"") => Reply::status(304, ""),
        _ => Reply::ok("new").with("ETag", "\"a\"").with("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT"),
    });
    let validators = fetch(&server.url("/")).unwrap().validators;
    let client = Client::new(&CancelToken::new(), true);
    let again = client.fetch(&url(&server.url("/")), LIMITS, &validators).unwrap();
    assert!(matches!(again, Fetched::Unchanged));
    assert_eq!(server.seen()[1].header("if-modified-since"), Some("Sun, 06 Nov 1994 08:49:37 GMT"));
    // Without a question, it is not an answer.
    let server = Server::start(|_| Reply::status(304, ""));
    assert!(matches!(fetch(&server.url("/")), Err(FetchError::Status { status: 304, .. })));
}

#[test]
fn size_is_limited_before_and_after_unpacking() {
    let server = Server::start(|request| match request.path.as_str() {
        "/long" => Reply::ok(vec![b'x'; 10_001]),
        "/longer" => Reply { cut: 1 << 40, ..Reply::ok("x") },
        "/fits" => Reply::ok(vec![b'x'; 10_000]),
        "/gzip" => Reply::ok(gz(&vec![b'x'; 50_000])).with("Content-Encoding", "gzip"),
        "/bomb" => Reply::ok(gz(&vec![b'x'; 50_001])).with("Content-Encoding", "gzip"),
        "/broken" => Reply::ok("no gzip").with("Content-Encoding", "gzip"),
        _ => Reply::ok("x").with("Content-Encoding", "br"),
    });
    let content =
        |path: &str| fetch(&server.url(path)).map(|answer| answer.body.content().map(|content| content.len()));
    assert_eq!(content("/fits").unwrap().unwrap(), 10_000);
    assert_eq!(content("/gzip").unwrap().unwrap(), 50_000);
    for path in ["/long", "/longer"] {
        assert!(matches!(content(path), Err(FetchError::TooLong { limit: 10_000, .. })), "{path}");
    }
    assert!(content("/bomb").unwrap().unwrap_err().to_string().contains("more than 50000 bytes"));
    assert!(content("/broken").unwrap().is_err());
    assert!(matches!(content("/br"), Err(FetchError::Encoding { encoding, .. }) if encoding == "br"));
}

#[test]
fn time_is_limited_as_a_whole() {
    // Each byte comes soon, all of them together do not.
    let server = Server::start(|_| Reply { pause: Some(Duration::from_millis(30)), ..Reply::ok(vec![b'x'; 1_000]) });
    let started = Instant::now();
    let limits = Limits { time: Duration::from_millis(400), ..LIMITS };
    let error = fetch_within(&server.url("/"), limits).unwrap_err();
    assert!(matches!(error, FetchError::TimedOut { .. }), "{error}");
    assert!(started.elapsed() < Duration::from_secs(5));
    // Nobody answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let error = fetch_within(&format!("http://{}/", silent.local_addr().unwrap()), limits).unwrap_err();
    assert!(matches!(error, FetchError::TimedOut { .. }), "{error}");
}

#[test]
fn it_ends_at_once_when_it_is_cancelled() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let slow = Server::start(|_| Reply { pause: Some(Duration::from_millis(20)), ..Reply::ok(vec![b'x'; 9_000]) });
    for text in [format!("http://{}/", silent.local_addr().unwrap()), slow.url("/")] {
        let cancel = CancelToken::new();
        let client = Client::new(&cancel, true);
        let fetching = thread::spawn(move || client.get(&url(&text), LIMITS, &Validators::default()));
        thread::sleep(Duration::from_millis(200));
        let started = Instant::now();
        cancel.cancel();
        let error = fetching.join().unwrap().unwrap_err();
        assert!(matches!(error, FetchError::Cancelled), "{error}");
        assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    }
}

#[test]
fn redirects_are_followed_with_care() {
    let other = Server::start(|_| Reply::ok("there"));
    let location = other.url("/x");
    let server = Server::start(move |request| {
        let n = |text: &str| text.parse::<u32>().unwrap();
        let redirect = |to: &str| Reply::status(302, "").with("Location", to);
        match request.path.split_at(2) {
            ("/a", _) => redirect(&location),
            ("/n", "0") => Reply::ok("end"),
            ("/n", count) => Reply::status(307, "").with("Location", format!("/n{}", n(count) - 1)),
            ("/l", _) => redirect("/loop"),
            ("/u", _) => redirect("http://u:hunter2@127.0.0.1/"),
            ("/f", _) => redirect("file:///etc/passwd"),
            ("/p", _) => redirect("http://10.0.0.1:9/"),
            ("/q", _) => redirect(&location.replace("127.0.0.1", "localhost")),
            _ => Reply::status(302, "no location"),
        }
    });
    let answer = fetch(&server.url("/n5")).unwrap();
    assert_eq!((answer.url.shown(), answer.body.content().unwrap()), (server.url("/n0"), b"end".to_vec()));
    for path in ["/n6", "/loop"] {
        assert!(matches!(fetch(&server.url(path)), Err(FetchError::Redirects { most: 5, .. })), "{path}");
    }
    for path in ["/u", "/f"] {
        let error = fetch(&server.url(path)).unwrap_err();
        assert!(matches!(error, FetchError::BadRedirect { .. }), "{error}");
        assert!(!format!("{error} {error:?}").contains("hunter2"));
    }
    // Only the host and port that were named are allowed: a redirect leads to no other private ones.
    for path in ["/a", "/p", "/q"] {
        let error = fetch(&server.url(path)).unwrap_err();
        assert!(matches!(error, FetchError::PrivateRedirect { .. }), "{error}");
    }
    let error = fetch(&server.url("/a")).unwrap_err().to_string();
    assert!(error.contains(other.url("").trim_start_matches("http://")), "{error}");
    assert_eq!(other.seen().len(), 0);
    assert!(matches!(fetch(&server.url("/?")), Err(FetchError::Status { status: 302, .. })));
}

#[test]
fn private_addresses_are_refused_however_they_are_written() {
    let server = Server::start(|_| Reply::ok("secret"));
    let port = server.url("").rsplit_once(':').unwrap().1.to_owned();
    let client = Client::new(&CancelToken::new(), false);
    let hosts = "127.0.0.1 localhost 2130706433 0x7f000001 127.1 [::1] [::ffff:127.0.0.1] 0.0.0.0 10.0.0.1 169.254.169.254 [fe80::1]";
    for host in hosts.split_whitespace() {
        let error = client.get(&url(&format!("http://{host}:{port}/")), LIMITS, &Validators::default()).unwrap_err();
        assert!(matches!(error, FetchError::Private { .. } | FetchError::NoHost { .. }), "{host}: {error}");
        if host == "localhost" || host == "127.0.0.1" {
            assert!(matches!(&error, FetchError::Private { address, .. } if address.is_loopback()), "{host}: {error}");
            assert!(error.to_string().contains("--allow-private-addresses"), "{error}");
        }
    }
    assert!(server.seen().is_empty());
    assert!(fetch(&server.url("/")).is_ok(), "allowed, it answers");
}

#[test]
fn failures_are_told_apart_and_no_secret_is_told() {
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let server = Server::start(|request| match request.path.split('?').next().unwrap() {
        "/cut" => Reply { cut: 10, ..Reply::ok("abc") },
        "/429" => Reply::status(429, "{\"message\":\n\"slow  down\"}").with("Retry-After", "7"),
        "/odd" => Reply { status: 99, ..Reply::default() },
        _ => Reply::status(404, vec![b'x'; 100_000]),
    });
    let error = |text: &str| {
        let error = fetch(text).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
        error
    };
    let refused = error(&format!("http://{closed}/?token=hunter2"));
    assert!(matches!(&refused, FetchError::Unreachable { reason, .. } if reason == "connection refused"), "{refused}");
    let cut = error(&server.url("/cut?token=hunter2"));
    assert!(matches!(cut, FetchError::Unreachable { .. }), "{cut:?}");
    let busy = error(&server.url("/429?token=hunter2"));
    assert!(busy.to_string().ends_with("HTTP status 429: {\"message\": \"slow down\"}"), "{busy}");
    assert!(matches!(busy, FetchError::Status { retry_after: Some(wait), .. } if wait == Duration::from_secs(7)));
    let missing = error(&server.url("/x?token=hunter2"));
    assert!(matches!(missing, FetchError::Status { status: 404, .. }) && missing.to_string().len() < 300, "{missing}");
    let odd = error(&server.url("/odd"));
    assert!(matches!(odd, FetchError::Protocol { .. } | FetchError::Status { .. }), "{odd:?}");
    let nobody = error("http://no-such-host.invalid/");
    assert!(matches!(nobody, FetchError::NoHost { .. }), "{nobody:?}");
    // Plain HTTP where TLS is expected.
    let tls = error(&server.url("/").replace("http:", "https:"));
    assert!(matches!(tls, FetchError::Tls { .. } | FetchError::NoRoots | FetchError::Unreachable { .. }), "{tls:?}");
}
