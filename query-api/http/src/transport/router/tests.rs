//! The frame around every operation, shown with operations that misbehave.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use axum::body::{Body, to_bytes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tower::ServiceExt;

use super::*;
use crate::{
    About, Answer, Ask, Backend, Column, DataState, Document, Format, Formatted, HttpConfig, Info, Method as OpMethod,
    Metric, Metrics, NoInput, Offer, Output, Selection, TableRow,
};

#[derive(Serialize, JsonSchema)]
struct Said {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct EchoInput {
    #[schemars(length(min = 1, max = 10))]
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct RowsInput {
    #[serde(default)]
    format: Format,
}

/// A row with its number.
struct Numbered(u32);

impl TableRow for Numbered {
    const COLUMNS: &'static [Column<Self>] = &[("n", |row| row.0.to_string()), ("what", |_| "x".to_owned())];
}

/// Operations that misbehave, and some that do not.
struct Toy;

impl Backend for Toy {
    fn network(&self) -> Option<&'static str> {
        None
    }

    fn answer(&self, ask: &Ask<'_>) -> Result<Answer, ApiError> {
        let written = match ask.op.info.name {
            "panics" => panic!("a secret of the server"),
            "sleeps" => {
                // It would work for ever, if nobody stopped it.
                while ask.call.work.poll().is_ok() {
                    std::thread::sleep(Duration::from_millis(1));
                }
                std::thread::sleep(Duration::from_millis(200));
                Said { text: "late".to_owned() }.write(Selection::All, &ask.call.work)?
            }
            "echo" => {
                let input = EchoInput::deserialize(&ask.input)?;
                Said { text: input.text }.write(Selection::All, &ask.call.work)?
            }
            "rows" => {
                let format = RowsInput::deserialize(&ask.input)?.format;
                let output = format.rows((0..3).map(Numbered).collect(), |_| Said { text: "rows".to_owned() });
                output.write(Selection::All, &ask.call.work)?
            }
            _ => {
                ask.call.with_state(|_| async { Ok(()) })?;
                Said { text: "kept".to_owned() }.write(Selection::All, &ask.call.work)?
            }
        };
        let etag = ask.etag(|_, _| {});
        ask.body(written, &DataState::default(), etag, 0)
    }

    fn ready(&self) -> Result<String, String> {
        Err("a toy is never ready".to_owned())
    }

    fn readings(&self) -> Vec<Metric> {
        let by_kind = vec![("ball", 2), ("car", 0)];
        vec![Metric::gauge("toy", "A number.", 7), Metric::counters("toys_total", "Toys.", "kind", by_kind)]
    }

    fn explain(&self, source: &(dyn std::error::Error + Send + Sync + 'static)) -> ApiError {
        ApiError::syncing(format!("recognized: {source}"))
    }
}

fn agreed(path: &'static str) -> AgreedOperation {
    AgreedOperation { method: "GET", path, offer: Offer::FREE, summary: "" }
}

pub(crate) fn service(config: HttpConfig) -> Service {
    let operations = vec![
        RegisteredOperation::of::<NoInput, Said>(Info::get("panics", "/t/panics", "t"), &[]),
        RegisteredOperation::of::<NoInput, Said>(Info::get("sleeps", "/t/sleeps", "t"), &[]),
        RegisteredOperation::of::<EchoInput, Said>(
            Info { method: OpMethod::Post, ..Info::get("echo", "/t/echo", "t") },
            &[],
        ),
        RegisteredOperation::of::<RowsInput, Formatted<Said>>(
            Info { aliases: &["/old/rows", "/older/rows"], ..Info::get("rows", "/t/rows", "t") },
            &["/t/rows", "/old/rows"].map(agreed),
        ),
        RegisteredOperation::of::<NoInput, Said>(Info::get("keeps", "/t/keeps", "t"), &[]),
    ];
    Service {
        config,
        configured: String::new(),
        operations,
        agreed: vec![agreed("/t/rows"), agreed("/old/rows"), agreed("/t/later")],
        backend: Arc::new(Toy),
        formats: &[],
        state: None,
        tills: Vec::new(),
        clock: || 1_700_000_000_000,
        metrics: Arc::default(),
        about: About {
            name: "Toy",
            summary: "",
            sentence: "",
            conventions: "",
            conventions_for_models: "",
            areas: &[("t", "Toys.")],
            definitions: &[],
            ways: &[],
            answer: |_| None,
            examples: Vec::new(),
        },
        pages: Vec::new(),
        precomputed: Vec::new(),
    }
}

fn app(config: HttpConfig) -> (Router, Arc<Metrics>) {
    let service = service(config);
    let counters = Arc::clone(&service.metrics);
    (router(service), counters)
}

async fn send(router: &Router, request: Request) -> (u16, axum::http::HeaderMap, Value) {
    let response = router.clone().oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, 1 << 20).await.unwrap();
    (parts.status.as_u16(), parts.headers, serde_json::from_slice(&bytes).unwrap_or_default())
}

fn get(path: &str) -> Request {
    Request::get(path).body(Body::empty()).unwrap()
}

/// Answers that were counted, with a status that begins so.
fn answers(counters: &Metrics, status: &str) -> u64 {
    let (text, wanted) = (counters.text(), format!("status=\"{status}"));
    let lines = text.lines().filter(|line| line.starts_with("cairn_http_requests_total{") && line.contains(&wanted));
    lines.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
}

#[tokio::test]
async fn a_panic_is_a_plain_500() {
    let (router, counters) = app(HttpConfig::default());
    let (status, headers, body) = send(&router, get("/t/panics")).await;
    assert_eq!((status, &body["error"]), (500, &"internal_error".into()));
    assert_eq!(headers["content-type"], "application/problem+json");
    assert!(!body.to_string().contains("secret"));
    assert_eq!((answers(&counters, ""), answers(&counters, "4"), answers(&counters, "5")), (1, 0, 1));
    // The server goes on.
    assert_eq!(send(&router, get("/t/nothing")).await.0, 404);
    assert_eq!((answers(&counters, ""), answers(&counters, "4")), (2, 1));
}

#[tokio::test]
async fn slow_answers_time_out_and_full_houses_say_so() {
    let config =
        HttpConfig { request_timeout: Duration::from_millis(100), max_concurrent_reads: 1, ..HttpConfig::default() };
    let (router, _) = app(config);
    let (status, headers, body) = send(&router, get("/t/sleeps")).await;
    assert_eq!((status, &body["error"], &headers["retry-after"]), (504, &"timeout".into(), &"1".parse().unwrap()));
    // The first one still holds the only permit.
    let (status, _, body) = send(&router, get("/t/sleeps")).await;
    assert_eq!((status, &body["error"], &body["retryable"]), (503, &"overloaded".into(), &true.into()));
}

#[tokio::test]
async fn bodies_are_read_checked_and_bounded() {
    let (router, _) = app(HttpConfig { max_body_bytes: 50, ..HttpConfig::default() });
    let post = |kind: &str, body: &str| {
        Request::post("/t/echo").header("content-type", kind).body(Body::from(body.to_owned())).unwrap()
    };
    let (status, _, body) = send(&router, post("application/json", r#"{"text":"hi","more":1}"#)).await;
    assert_eq!((status, &body["text"]), (200, &"hi".into()));
    assert_eq!(body["_meta"]["endpoint"], "POST /t/echo");
    assert_eq!(body["_meta"]["warnings"][0]["code"], "unknown_parameter");
    for (kind, text, status, code) in [
        ("application/json", "{", 400, "malformed_json"),
        ("application/json", "[1]", 422, "validation_error"),
        ("text/plain", "{}", 415, "unsupported_media_type"),
        ("application/json", "{}", 422, "validation_error"),
        ("application/json", r#"{"text":""}"#, 422, "validation_error"),
        ("application/json", r#"{"text":"0123456789012345678901234567890123456789"}"#, 413, "payload_too_large"),
    ] {
        let (found, _, body) = send(&router, post(kind, text)).await;
        assert_eq!((found, &body["error"]), (status, &code.into()), "{text}");
    }
    let (status, headers, _) = send(&router, get("/t/echo")).await;
    assert_eq!((status, &headers["allow"]), (405, &"POST, OPTIONS".parse().unwrap()));
}

#[tokio::test]
async fn it_serves_and_shuts_down() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let server = tokio::spawn(serve(listener, service(HttpConfig::default()), |_| Router::new(), async {
        let _ = stopped.await;
    }));
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let request = b"GET /t/rows HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    tokio::io::AsyncWriteExt::write_all(&mut stream, request).await.unwrap();
    let mut text = String::new();
    tokio::io::AsyncReadExt::read_to_string(&mut stream, &mut text).await.unwrap();
    assert!(text.starts_with("HTTP/1.1 200") && text.contains("\"text\":\"rows\""), "{text}");
    stop.send(()).unwrap();
    server.await.unwrap().unwrap();
}

async fn text(router: &Router, path: &str) -> (u16, String, String) {
    let response = router.clone().oneshot(get(path)).await.unwrap();
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, 1 << 20).await.unwrap();
    let kind = parts.headers["content-type"].to_str().unwrap().to_owned();
    (parts.status.as_u16(), kind, String::from_utf8(bytes.to_vec()).unwrap())
}

#[tokio::test]
async fn a_request_chooses_the_format() {
    let (router, _) = app(HttpConfig::default());
    let (status, kind, body) = text(&router, "/t/rows?format=csv").await;
    assert_eq!((status, kind.as_str(), body.as_str()), (200, crate::CSV, "n,what\r\n0,x\r\n1,x\r\n2,x\r\n"));
    let (_, kind, body) = text(&router, "/t/rows?format=markdown").await;
    assert_eq!((kind.as_str(), body.lines().count()), (crate::MARKDOWN, 5));
    let (_, kind, body) = text(&router, "/t/rows").await;
    assert!(kind == crate::JSON && body.contains("_meta"));
    assert_eq!(text(&router, "/t/rows?format=xml").await.0, 422);
}

#[tokio::test]
async fn aliases_lead_to_the_same_operation() {
    let (router, _) = app(HttpConfig::default());
    let (status, headers, body) = send(&router, get("/old/rows")).await;
    assert_eq!((status, &headers["link"]), (200, &"</t/rows>; rel=\"canonical\"".parse().unwrap()));
    assert_eq!(body["_meta"]["endpoint"], "/t/rows");
    let (_, headers, _) = send(&router, get("/old/rows?a=%20")).await;
    assert_eq!(headers["link"], "</t/rows?a=%20>; rel=\"canonical\"");
    let (_, headers, _) = send(&router, get("/t/rows")).await;
    assert!(!headers.contains_key("link"));
}

#[tokio::test]
async fn agreed_aliases_are_described_like_the_path() {
    let (router, _) = app(HttpConfig::default());
    for path in ["/old/rows", "/older/rows"] {
        assert_eq!(send(&router, get(path)).await.0, 200, "{path}");
    }
    let document = send(&router, get("/openapi.json")).await.2;
    let [own, alias] = ["/t/rows", "/old/rows"].map(|path| &document["paths"][path]["get"]);
    assert_eq!((&own["operationId"], &alias["operationId"]), (&"rows".into(), &"rows_alias".into()));
    assert_eq!((&alias["x-alias-of"], alias.get("x-aliases")), (&"/t/rows".into(), None));
    assert_eq!(own["responses"], alias["responses"]);
    assert_eq!(document["paths"].get("/older/rows"), None);
    let (_, _, brief) = text(&router, "/llms.txt").await;
    assert!(brief.contains("- [GET /old/rows](") && !brief.contains("/older/rows"), "{brief}");
    let (_, _, full) = text(&router, "/llms-full.txt").await;
    assert!(
        full.contains("\n### GET /old/rows\n\nThe same operation as `GET /t/rows`") && !full.contains("/older/rows"),
        "{full}"
    );
}

#[tokio::test]
async fn what_is_agreed_and_not_built_says_so() {
    let (router, _) = app(HttpConfig::default());
    let (status, _, body) = send(&router, get("/t/later")).await;
    assert_eq!((status, &body["error"]), (501, &"not_implemented".into()));
}

#[tokio::test]
async fn without_a_database_nothing_can_be_kept() {
    let (router, _) = app(HttpConfig::default());
    let (status, _, body) = send(&router, get("/t/keeps")).await;
    assert_eq!((status, &body["error"]), (503, &"state_unavailable".into()));
}

#[tokio::test]
async fn operators_see_what_the_service_says() {
    let router = crate::admin_router(&service(HttpConfig::default()));
    let (status, _, body) = text(&router, "/readyz").await;
    assert_eq!((status, body.as_str()), (503, "a toy is never ready\n"));
    let expected = "# HELP toy A number.\n# TYPE toy gauge\ntoy 7\n# HELP toys_total Toys.\n# TYPE toys_total counter\n\
        toys_total{kind=\"ball\"} 2\ntoys_total{kind=\"car\"} 0\n";
    let shown = text(&router, "/metrics").await.2;
    assert!(shown.ends_with(expected), "{shown}");
}

/// Times that a system clock can be set to, and dates cannot say.
#[tokio::test]
async fn no_clock_breaks_an_answer() {
    for clock in [(|| 0) as fn() -> u64, || 1, || 253_402_300_800_000, || u64::MAX] {
        let router = router(Service { clock, ..service(HttpConfig::default()) });
        for (path, status) in [("/t/rows", 200), ("/nothing", 404), ("/t/keeps", 503)] {
            let (got, headers, _) = send(&router, Request::get(path).body(Body::empty()).unwrap()).await;
            assert_eq!((got, headers["x-request-id"].len()), (status, 36), "{path}");
        }
    }
}

#[tokio::test]
async fn a_clock_that_http_cannot_write_is_told() {
    for (clock, fits) in
        [((|| 0) as fn() -> u64, false), (|| 253_402_300_800_000, false), (|| 253_402_300_799_999, true)]
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let service = Service { clock, ..service(HttpConfig::default()) };
        let ended = serve(listener, service, |_| Router::new(), async {}).await;
        match ended {
            Ok(()) => assert!(fits),
            Err(error) => assert!(!fits && error.to_string().contains("set the clock"), "{error}"),
        }
    }
}

#[tokio::test]
async fn without_room_a_document_is_sent_as_it_is() {
    let mut service = service(HttpConfig::default());
    service.pages.push(Document::new("/long", "text/plain", "long ".repeat(100_000)));
    let server = Arc::new(Server::new(service));
    let router = with_more(&server, |_| Router::new());
    let ask = async || {
        let request = Request::get("/long").header("accept-encoding", "gzip").body(Body::empty()).unwrap();
        let (parts, body) = router.clone().oneshot(request).await.unwrap().into_parts();
        let (coding, vary) = (parts.headers.get("content-encoding").cloned(), parts.headers["vary"].clone());
        (coding, vary, to_bytes(body, 1 << 20).await.unwrap().len())
    };
    let (coding, vary, bytes) = ask().await;
    assert!(coding.is_some_and(|coding| coding == "gzip") && bytes < 50_000);
    let all = server.flight.share(None);
    assert!(all.grow(40 << 20));
    assert_eq!(ask().await, (None, vary.clone(), 500_000));
    drop(all);
    // The memory that was held for it is free again.
    let (coding, again, _) = ask().await;
    assert!(coding.is_some() && again == vary && server.flight.share(None).grow(40 << 20));
}

#[tokio::test]
async fn other_interfaces_say_errors_in_their_own_form() {
    let bind = || TcpListener::bind("127.0.0.1:0");
    let (listener, other) = (bind().await.unwrap(), bind().await.unwrap());
    let address = other.local_addr().unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let others = |api: &Api| {
        let api = api.clone();
        let work = move |from: axum::http::request::Parts| async move {
            let wants = from.uri.path().to_owned();
            let work = move |_: &std::rc::Rc<crate::Work>| match wants.as_str() {
                "/panics" => panic!("a secret of the server"),
                "/fails" => Err(ApiError::new(ErrorCode::TxNotFound, "no such thing")),
                _ => Ok("done"),
            };
            api.work(crate::Cost::Light, api.asker(&from), work).await
        };
        let error = |error: &ApiError| (error.status, format!("said: {}", error.detail)).into_response();
        vec![OtherInterface { listener: other, routes: Router::new().fallback(work), dialect: Dialect { error } }]
    };
    let service = service(HttpConfig::default());
    let server = tokio::spawn(serve_all(listener, service, |_| Router::new(), others, async {
        let _ = stopped.await;
    }));
    let ask = async |path: &str| {
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let request = format!("POST {path} HTTP/1.1\r\nHost: other.example\r\nConnection: close\r\n\r\n");
        tokio::io::AsyncWriteExt::write_all(&mut stream, request.as_bytes()).await.unwrap();
        let mut text = String::new();
        tokio::io::AsyncReadExt::read_to_string(&mut stream, &mut text).await.unwrap();
        text
    };
    for (path, status, says) in
        [("/", "200", "done"), ("/fails", "404", "said: no such thing"), ("/panics", "500", "said: ")]
    {
        let text = ask(path).await;
        assert!(text.starts_with(&format!("HTTP/1.1 {status} ")) && text.contains(says), "{text}");
        assert!(!text.contains("secret") && !text.contains("urn:cairn"), "{text}");
    }
    stop.send(()).unwrap();
    server.await.unwrap().unwrap();
}
