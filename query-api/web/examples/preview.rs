//! Serves the pages over a running server: `preview LISTEN SERVER`, such as `preview 127.0.0.1:3002
//! http://127.0.0.1:3000`. For work on templates and styles: no index is built or opened.

use std::{
    collections::BTreeMap,
    env,
    error::Error,
    future::Future,
    io::{Write, stdout},
    pin::Pin,
    sync::Arc,
};

use cairn_http::Reply;
use cairn_web::{Operations, Options, Request};
use serde_json::{Map, Value};
use tokio::{net::TcpListener, runtime::Runtime};

/// The style of the frame, which the whole server serves.
const STYLE: &str = include_str!("../../http/templates/style.css");

struct Remote {
    base: String,
    /// Method, path and the names of the parameters in the query, by operation.
    known: BTreeMap<String, (String, String, Vec<String>)>,
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

impl Remote {
    fn new(base: &str) -> Result<Self, Box<dyn Error>> {
        let text = ureq::get(format!("{base}/openapi.json")).call()?.into_body().read_to_string()?;
        let document: Value = serde_json::from_str(&text)?;
        let mut known = BTreeMap::new();
        for (path, methods) in document["paths"].as_object().into_iter().flatten() {
            for (method, op) in methods.as_object().into_iter().flatten() {
                let parameters = op["parameters"].as_array().into_iter().flatten();
                let named = parameters.filter(|one| one["in"] == "query").map(|one| text_of(&one["name"])).collect();
                known.insert(text_of(&op["operationId"]), (method.clone(), path.clone(), named));
            }
        }
        Ok(Remote { base: base.to_owned(), known })
    }

    fn ask(&self, operation: &str, mut input: Map<String, Value>) -> Option<Reply> {
        let (method, path, named) = self.known.get(operation)?;
        let encoded = |value: &Value| cairn_http::segment(&text_of(value));
        let segments =
            path.split('/').map(|segment| match segment.strip_prefix('{').and_then(|s| s.strip_suffix('}')) {
                Some(name) => input.remove(name).map(|value| encoded(&value)).unwrap_or_default(),
                None => segment.to_owned(),
            });
        let mut url = format!("{}{}", self.base, segments.collect::<Vec<_>>().join("/"));
        let query = named.iter().filter_map(|name| Some(format!("{name}={}", encoded(&input.remove(name)?))));
        let query: Vec<String> = query.collect();
        if !query.is_empty() {
            url = format!("{url}?{}", query.join("&"));
        }
        let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
        let sent = match method.as_str() {
            "post" => agent
                .post(&url)
                .header("content-type", "application/json")
                .send(Value::Object(input).to_string().as_bytes()),
            _ => agent.get(&url).call(),
        };
        let response = sent.ok()?;
        let status = response.status().as_u16();
        let body = response.into_body().with_config().limit(64 << 20).read_to_vec().ok()?;
        Some(Reply {
            status,
            media_type: String::new(),
            request_id: None,
            body: body.into(),
            url,
            is_document: false,
            is_paid: false,
            payment_headers: Default::default(),
        })
    }
}

/// A copy for each question: it is asked on a thread of its own.
struct Shared(Arc<Remote>);

impl Operations for Shared {
    fn call<'r>(&'r self, request: Request<'r>) -> Pin<Box<dyn Future<Output = Option<Reply>> + Send + 'r>> {
        let (remote, operation, input) = (Arc::clone(&self.0), request.operation, request.input);
        Box::pin(async move { tokio::task::spawn_blocking(move || remote.ask(operation, input)).await.ok()? })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [listen, server] = arguments.as_slice() else { return Err("usage: preview LISTEN SERVER".into()) };
    let remote = Shared(Arc::new(Remote::new(server)?));
    writeln!(stdout(), "http://{listen} shows {server}")?;
    let routes = cairn_web::routes(Arc::new(remote), Options::default());
    let style = axum::routing::get(async || ([("content-type", "text/css")], STYLE));
    let routes = routes.route("/style.css", style);
    Runtime::new()?.block_on(async {
        let listener = TcpListener::bind(listen).await?;
        axum::serve(listener, routes).await
    })?;
    Ok(())
}
