//! `cairn ask`: any operation of the API from the command line, of an index in this process or of a server.

mod document;
mod request;
mod table;

use std::io::{self, IsTerminal, Write};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{self, header},
};
use cairn_fetch::{Client, Limits, Url, UrlError, Validators};
use cairn_model::CancelToken;
use cairn_operations::{ApiConfig, ApiState, openapi_document};
use cairn_state::State;
use serde_json::Value;
use tower::ServiceExt;

use self::{document::Operation, request::Request};
use crate::{
    cli::Ask,
    exit::{Exit, Failure},
    in_process,
    out::{harmless, print, table, written},
    runtime::current_thread,
    signals::{self, Signals},
};

/// Most bytes of an answer, and how long a server may take.
const LIMITS: Limits = Limits { received: 64 << 20, unpacked: 256 << 20, time: std::time::Duration::from_secs(120) };

/// The answer to a request.
struct Answer {
    status: u16,
    media_type: String,
    body: Vec<u8>,
}

/// Asks, and prints the answer: tables on a terminal, as it came elsewhere.
pub(crate) fn ask(args: &Ask) -> Result<Exit, Failure> {
    let all = document::operations(&openapi_document(&ApiConfig::default()))?;
    let Some((name, parameters)) = args.words.split_first() else {
        print(&list(&all))?;
        return Ok(Exit::Done);
    };
    let op = document::find(&all, name)?;
    let found = match request::command(op).try_get_matches_from(parameters) {
        Ok(found) => found,
        Err(error) => {
            written(error.print())?;
            return Ok(if error.use_stderr() { Exit::Usage } else { Exit::Done });
        }
    };
    let request = request::request(op, &found)?;
    let signals = Signals::take_over()?;
    let cancel = signals.cancel_token();
    let answer = match &args.url {
        Some(url) => of_server(url, args.key.api_key.as_deref(), &request, cancel)?,
        None => in_process::with_api(&args.here, "--url", |state| of_index(state, args, &request))?,
    };
    if let Some(stopped) = signals::received() {
        return Ok(stopped);
    }
    show(&answer, args.json)
}

/// The operations by area.
fn list(all: &[Operation]) -> String {
    let mut areas: Vec<&str> = Vec::new();
    for op in all {
        if !areas.contains(&op.area.as_str()) {
            areas.push(&op.area);
        }
    }
    let mut text = String::new();
    for area in areas {
        let rows = all.iter().filter(|op| op.area == area);
        let rows: Vec<Vec<String>> = rows.map(|op| vec![format!("  {}", op.name), op.summary.clone()]).collect();
        let rows = table(&["", ""], &rows);
        text += &format!("{area}\n{}\n", rows.split_once('\n').map_or("", |(_, rows)| rows));
    }
    text + "`cairn ask OPERATION --help` explains one of them. Words that only one has are enough: `cairn ask pnl`.\n"
}

fn of_index(state: ApiState, args: &Ask, request: &Request) -> Result<Answer, Failure> {
    let mut built = http::Request::builder().method(request.method.as_str()).uri(&request.target);
    built = built.header(header::HOST, "localhost");
    for (name, value) in &request.headers {
        built = built.header(name, value);
    }
    if !request.body.is_empty() {
        built = built.header(header::CONTENT_TYPE, "application/json");
    }
    let built = built.body(Body::from(request.body.clone())).map_err(|error| Failure::usage(error.to_string()))?;
    current_thread()?.block_on(async {
        // Reports, timestamps and sold passes are in the service state, if there is one.
        let service = match args.state.existing(&args.here.index)? {
            Some(url) => Some(State::open(&url).await?),
            None => None,
        };
        let router = cairn_operations::router(ApiState { state: service.clone(), ..state });
        let answer = answered(router, built).await;
        if let Some(service) = service {
            service.close().await;
        }
        answer
    })
}

async fn answered(router: Router, request: http::Request<Body>) -> Result<Answer, Failure> {
    let response = match router.oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    };
    let status = response.status().as_u16();
    let media_type = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media_type = media_type.unwrap_or_default().to_owned();
    let most = usize::try_from(LIMITS.received).unwrap_or(usize::MAX);
    let body = to_bytes(response.into_body(), most).await;
    let body = body.map_err(|error| Failure::new(Exit::Other, error.to_string()))?.to_vec();
    Ok(Answer { status, media_type, body })
}

fn of_server(url: &str, key: Option<&str>, request: &Request, cancel: &CancelToken) -> Result<Answer, Failure> {
    let bad = |error: UrlError| {
        Failure::usage(format!("--url cannot be used: {error}")).hint("for example --url https://example.org")
    };
    let url: Url = url.parse().map_err(bad)?;
    let url = url.below(&request.target).map_err(bad)?;
    let mut headers: Vec<(&str, &str)> = request.headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    headers.extend(key.map(|key| ("x-wr-api-key", key)));
    let client = Client::new(cancel, true);
    let answer = match request.method.as_str() {
        "GET" => client.get_with(&url, &headers, LIMITS, &Validators::default()),
        _ => client.post(&url, &headers, &request.body, LIMITS),
    };
    let answer = answer.map_err(|error| Failure::new(Exit::Other, error.to_string()))?;
    let media_type = answer.media_type.clone().unwrap_or_default();
    Ok(Answer { status: answer.status, media_type, body: answer.body.content()? })
}

fn show(answer: &Answer, wants_json: bool) -> Result<Exit, Failure> {
    let is_json = answer.media_type.split(';').next().is_some_and(|kind| kind.trim_end().ends_with("json"));
    let (is_terminal, is_fine) = (io::stdout().is_terminal(), (200..300).contains(&answer.status));
    let parsed = || serde_json::from_slice::<Value>(&answer.body).unwrap_or_default();
    if is_terminal && !wants_json {
        match is_json {
            true if is_fine => match serde_json::from_slice(&answer.body) {
                Ok(parsed) => print(&table::shown(&parsed))?,
                Err(error) => return Err(Failure::new(Exit::Other, format!("the answer is not JSON: {error}"))),
            },
            // The error is said below.
            true => {}
            false => match std::str::from_utf8(&answer.body) {
                Ok(text) => print(&text.lines().map(|line| harmless(line) + "\n").collect::<String>())?,
                Err(_) => {
                    let failure = format!("the answer is a file ({}), which a terminal cannot show", answer.media_type);
                    return Err(Failure::usage(failure).hint("send it to a file with `> FILE`"));
                }
            },
        }
    } else {
        let mut out = io::stdout().lock();
        let line_break: &[u8] = if is_json && !answer.body.ends_with(b"\n") { b"\n" } else { b"" };
        written(out.write_all(&answer.body).and_then(|()| out.write_all(line_break)).and_then(|()| out.flush()))?;
    }
    if is_fine {
        return Ok(Exit::Done);
    }
    let problem = parsed();
    let said = |name: &str| problem[name].as_str().map(harmless);
    let detail = said("detail").or_else(|| said("title")).unwrap_or_else(|| "the answer says no reason".to_owned());
    let code = said("error").map_or_else(String::new, |code| format!(", {code}"));
    let exit = if (400..500).contains(&answer.status) { Exit::Usage } else { Exit::Other };
    let failure = Failure::new(exit, format!("HTTP status {}{code}: {detail}", answer.status));
    Err(match said("hint") {
        Some(hint) => failure.hint(hint),
        None => failure,
    })
}
