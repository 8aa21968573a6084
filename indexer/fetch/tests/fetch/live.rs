//! The fetchers against servers that behave like the providers: their results, and the servers that they leave alone.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use cairn_events::{Document, LiveQuote, Series, Slug};
use cairn_fetch::live::{Fetchers, Figures, Ledger, Settings, SettingsError};
use cairn_model::CancelToken;
use cairn_support::{
    exchanges::{binance, kraken},
    server::{Reply, Request, Server},
};
use prometheus::{Registry, TextEncoder};

/// A ledger in memory, as its index has it.
#[derive(Clone, Default)]
struct Book {
    documents: Arc<Mutex<Vec<Document>>>,
    quotes: Arc<Mutex<Vec<LiveQuote>>>,
    closed: Arc<AtomicBool>,
}

impl Ledger for Book {
    fn is_ready(&self) -> bool {
        !self.closed.load(Ordering::SeqCst)
    }

    fn last(&self, source: &Slug, series: Series, since: u32) -> Result<Option<u32>, String> {
        let documents = self.documents.lock().unwrap();
        let of = documents.iter().filter(|document| document.provenance.source == *source);
        let rows = of.flat_map(Document::rows).filter(|row| row.series == series && row.closes_at >= since);
        Ok(rows.map(|row| row.closes_at).max())
    }

    fn hand_in(&self, document: Document) -> Result<(), String> {
        document.check().map_err(|error| error.to_string())?;
        self.documents.lock().unwrap().push(document);
        Ok(())
    }

    fn publish(&self, quotes: Vec<LiveQuote>) {
        *self.quotes.lock().unwrap() = quotes;
    }
}

impl Book {
    fn documents(&self) -> Vec<Document> {
        self.documents.lock().unwrap().clone()
    }

    /// Closes of a source's hourly or daily candles, in the order of their coming.
    fn closes(&self, source: &str, seconds: u32) -> Vec<u32> {
        let documents = self.documents();
        let of = documents.iter().filter(|document| document.provenance.source.as_str() == source);
        let rows = of.flat_map(Document::rows).filter(|row| row.series.interval.seconds() == seconds);
        rows.map(|row| row.closes_at).collect()
    }
}

fn now() -> u32 {
    u32::try_from(cairn_clock::now_secs()).unwrap()
}

fn settings(servers: &[(&str, &Server)]) -> Settings {
    Settings {
        sources: servers.iter().map(|(name, _)| (*name).to_owned()).collect(),
        pairs: vec!["BTC/EUR".parse().unwrap()],
        endpoints: servers
            .iter()
            .map(|(name, server)| ((*name).to_owned(), server.url("/at").parse().unwrap()))
            .collect(),
        allows_private: true,
    }
}

/// Runs fetchers until it holds, and ends them.
fn run(settings: &Settings, book: &Book, registry: &Registry, holds: impl Fn() -> bool) {
    let cancel = CancelToken::new();
    let figures = Figures::register(registry).unwrap();
    let fetchers = Fetchers::new(settings, book.clone(), figures, &cancel).unwrap();
    let running = thread::spawn(move || fetchers.run());
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_secs(30), "waited too long");
        thread::sleep(Duration::from_millis(10));
    }
    let started = Instant::now();
    cancel.cancel();
    running.join().unwrap();
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
}

#[test]
fn closed_candles_come_once_and_the_open_one_never() {
    let (one, two) = (Server::start(binance), Server::start(kraken));
    let (book, registry) = (Book::default(), Registry::new());
    let settings = settings(&[("binance", &one), ("kraken", &two)]);
    let closed = |step: u32| now() / step * step;
    let before = [closed(3_600), closed(86_400)];
    run(&settings, &book, &registry, || book.documents().len() >= 4 && !book.quotes.lock().unwrap().is_empty());
    for (source, most) in [("binance", 1_000), ("kraken", 719)] {
        for (step, before) in [3_600, 86_400].into_iter().zip(before) {
            let closes = book.closes(source, step);
            assert_eq!(closes.len(), most, "{source}");
            // The hour may have ended meanwhile.
            let last = closes[most - 1];
            assert!(last == before || last == closed(step), "{source}: {last}");
            assert!(closes.windows(2).all(|two| two[1] == two[0] + step), "{source}");
        }
    }
    let first = &book.documents()[0].provenance;
    assert!(first.origin.starts_with("http://127.0.0.1") && first.origin.contains("/at/"), "{}", first.origin);
    // The price of the moment is the middle of the two.
    let quotes = book.quotes.lock().unwrap().clone();
    assert_eq!((quotes.len(), quotes[0].price.to_string().as_str(), quotes[0].sources), (1, "101", 2));
    assert!(now() - quotes[0].at < 60);
    let text = TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
    for line in [
        "cairn_price_candles_total{source=\"binance\"} 2000",
        "cairn_price_fetches_total{source=\"kraken\"} 3",
        &format!("cairn_price_last_tick_seconds{{pair=\"BTC/EUR\"}} {}", quotes[0].at),
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let failures: Vec<&str> =
        text.lines().filter(|line| line.starts_with("cairn_price_fetch_failures_total{")).collect();
    assert!(failures.len() == 2 && failures.iter().all(|line| line.ends_with(" 0")), "{text}");

    // Started again, nothing is new: nobody is asked for candles, and no document comes.
    let before = (book.documents(), one.seen().len());
    book.quotes.lock().unwrap().clear();
    run(&settings, &book, &Registry::new(), || !book.quotes.lock().unwrap().is_empty());
    thread::sleep(Duration::from_millis(50));
    assert_eq!(book.documents(), before.0);
    // A gap at the end is filled from where the ledger ends, and from nowhere else.
    let mut short = book.documents();
    short.retain(|document| document.provenance.source.as_str() == "binance");
    for document in &mut short {
        let cairn_events::Body::Quotes(rows) = &mut document.body else { panic!() };
        rows.truncate(998);
    }
    let book = Book { documents: Arc::new(Mutex::new(short)), ..Book::default() };
    let settings = Settings {
        sources: vec!["binance".to_owned()],
        endpoints: BTreeMap::from_iter(settings.endpoints.into_iter().take(1)),
        ..settings
    };
    run(&settings, &book, &Registry::new(), || book.documents().len() == 4);
    assert!(book.documents()[2..].iter().all(|document| document.rows().len() == 2));
}

#[test]
fn reference_rates_of_days_that_have_ended_come_as_one_document() {
    let server = Server::start(|_| {
        let day = |ago: u32| {
            jiff::Timestamp::from_second((now() - ago * 86_400).into()).unwrap().to_string()[..10].to_owned()
        };
        let rates = r#"<Cube currency="USD" rate="1.0562"/><Cube currency="CHF" rate="0.9330"/>"#;
        let days: String = (0..5).map(|ago| format!(r#"<Cube time="{}">{rates}</Cube>"#, day(ago))).collect();
        Reply::ok(format!("<Envelope><Cube>{days}</Cube></Envelope>"))
    });
    let book = Book::default();
    let settings = settings(&[("ecb", &server)]);
    let today = now() / 86_400 * 86_400;
    run(&settings, &book, &Registry::new(), || !book.documents().is_empty());
    // The rate of today counts as the candle of today, which is open.
    let documents = book.documents();
    assert_eq!((documents.len(), documents[0].rows().len()), (1, 8));
    let last = documents[0].rows().iter().map(|row| row.closes_at).max().unwrap();
    assert!(last == today || last == now() / 86_400 * 86_400);
    assert_eq!(documents[0].provenance.licence.as_str(), "ecb-statistics");
    assert!(server.seen().iter().all(|request| request.path == "/at/stats/eurofxref/eurofxref-hist-90d.xml"));
    // There is no price of the moment, and nothing new the next time.
    let asked = server.seen().len();
    let until = Instant::now() + Duration::from_millis(300);
    run(&settings, &book, &Registry::new(), || Instant::now() > until);
    assert_eq!((book.documents().len(), server.seen().len()), (1, asked));
    assert!(book.quotes.lock().unwrap().is_empty());
}

#[test]
fn candles_wait_for_the_ledger_and_prices_do_not() {
    let server = Server::start(binance);
    let book = Book::default();
    book.closed.store(true, Ordering::SeqCst);
    run(&settings(&[("binance", &server)]), &book, &Registry::new(), || !book.quotes.lock().unwrap().is_empty());
    assert!(server.seen().iter().all(|request| request.path.contains("ticker")), "{:?}", server.seen());
    assert!(book.documents().is_empty());
}

/// Runs fetchers against one server for a while; the requests that it saw, and the metrics.
fn watched(name: &str, answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> (Book, usize, String) {
    let asked = Arc::new(AtomicU32::new(0));
    let server = {
        let asked = Arc::clone(&asked);
        Server::start(move |request| {
            asked.fetch_add(1, Ordering::SeqCst);
            answer(request)
        })
    };
    let (book, registry) = (Book::default(), Registry::new());
    let until = Instant::now() + Duration::from_millis(1_500);
    run(&settings(&[(name, &server)]), &book, &registry, || asked.load(Ordering::SeqCst) > 0 && Instant::now() > until);
    let text = TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
    (book, server.seen().len(), text)
}

#[test]
fn a_source_that_wants_peace_is_left_alone() {
    // Whatever says that there were too many requests, or that nothing works: one request, and no other one.
    let limits: [(&str, fn(&Request) -> Reply); 7] = [
        ("coinbase", |_| Reply::status(429, r#"{"message":"Public rate limit exceeded"}"#).with("Retry-After", "120")),
        ("kraken", |_| Reply::ok(r#"{"error":["EAPI:Rate limit exceeded"]}"#)),
        ("bitstamp", |_| Reply::status(400, r#"{"code":"400.002","errors":[]}"#)),
        ("binance", |_| Reply::status(418, r#"{"code":-1003,"msg":"IP banned"}"#).with("Retry-After", "300")),
        ("binance", |_| Reply::status(503, "")),
        ("kraken", |_| Reply::status(302, "").with("Location", "/at/loop")),
        ("coinbase", |_| Reply { cut: 5, ..Reply::ok("{") }),
    ];
    for (name, answer) in limits {
        let (book, asked, text) = watched(name, answer);
        let redirects = if text.contains("kraken") && asked == 6 { 6 } else { 1 };
        assert_eq!(asked, redirects, "{name}: {text}");
        assert!(text.contains(&format!("cairn_price_fetch_failures_total{{source=\"{name}\"}} 1")), "{text}");
        assert!(book.documents().is_empty() && book.quotes.lock().unwrap().is_empty());
    }
}

#[test]
fn what_one_request_lacks_does_not_stop_the_others() {
    // The price is wrong, the candles are good, or the other way round.
    let (book, _, text) = watched("binance", |request| match request.path.contains("ticker") {
        true => Reply::ok(r#"{"symbol":"BTCEUR","price":"0"}"#),
        false => binance(request),
    });
    assert!(book.quotes.lock().unwrap().is_empty() && book.documents().len() == 2, "{text}");
    let (book, asked, text) = watched("binance", |request| match request.path.contains("ticker") {
        true => binance(request),
        false => Reply::ok(vec![b'x'; 2 << 20]),
    });
    assert!(book.documents().is_empty() && book.quotes.lock().unwrap().len() == 1, "{text}");
    // The price is asked for when a minute begins, too, and one may begin meanwhile.
    assert!((3..=4).contains(&asked), "each series once, and then a pause: {asked} requests");
}

#[test]
fn settings_are_checked() {
    let settings = |sources: &[&str], pairs: &[&str], endpoint: Option<&str>| Settings {
        sources: sources.iter().map(|name| (*name).to_owned()).collect(),
        pairs: pairs.iter().map(|pair| pair.parse().unwrap()).collect(),
        endpoints: endpoint.map(|name| (name.to_owned(), "https://x".parse().unwrap())).into_iter().collect(),
        allows_private: false,
    };
    let error = |settings: &Settings| {
        let figures = Figures::register(&Registry::new()).unwrap();
        Fetchers::new(settings, Book::default(), figures, &CancelToken::new()).map(|_| ()).unwrap_err()
    };
    let unknown = error(&settings(&["ftx"], &["BTC/USD"], None));
    assert!(unknown.to_string().contains("binance, bitstamp, coinbase, ecb, kraken"), "{unknown}");
    let none = error(&settings(&["kraken", "binance"], &["BTC/USD"], None));
    assert!(
        matches!(&none, SettingsError::NoPair { name: "binance", .. }) && none.to_string().contains("--price-pairs")
    );
    assert!(matches!(error(&settings(&["kraken"], &["BTC/USD"], Some("ecb"))), SettingsError::Endpoint { .. }));
}
