//! Destination of messages: the endpoint over an index in this process, or that of a server.

use std::time::Duration;

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, header},
};
use cairn_fetch::{Client, Limits, Url};
use cairn_model::CancelToken;
use tower::ServiceExt;

use super::lines::LONGEST;

/// Most bytes of an answer: pictures are the longest.
const MAX_ANSWERED: usize = 4 << 20;
/// How long a server may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// The header with the agreed revision.
const VERSION: &str = "mcp-protocol-version";

/// Destination of messages.
pub(crate) enum Peer {
    /// The routes of the API in this process.
    Local(Router),
    Remote(Box<Remote>),
}

#[derive(Clone)]
pub(crate) struct Remote {
    client: Client,
    url: Url,
    key: Option<String>,
}

impl Remote {
    /// The endpoint at a URL. One without a path means that of the server's root.
    pub(crate) fn at(url: &str, key: Option<String>, cancel: &CancelToken) -> Result<Self, String> {
        let parsed: Url = url.parse().map_err(|error: cairn_fetch::UrlError| error.to_string())?;
        let rest = url.trim().split_once("://").map_or("", |(_, rest)| rest);
        let has_path = rest.split_once('/').is_some_and(|(_, path)| !path.is_empty());
        let url = if has_path { parsed } else { parsed.below("/mcp").map_err(|reason| reason.to_string())? };
        Ok(Remote { client: Client::new(cancel, true), url, key })
    }

    fn post(&self, message: &[u8], version: Option<&str>) -> Result<(u16, Vec<u8>), String> {
        let mut headers = vec![(header::ACCEPT.as_str(), "application/json, text/event-stream")];
        headers.extend(version.map(|version| (VERSION, version)));
        headers.extend(self.key.as_deref().map(|key| ("x-wr-api-key", key)));
        let limits = Limits { received: MAX_ANSWERED as u64, unpacked: MAX_ANSWERED as u64, time: PATIENCE };
        let answer = self.client.post(&self.url, &headers, message, limits).map_err(|error| error.to_string())?;
        let body = answer.body.content().map_err(|error| error.to_string())?;
        Ok((answer.status, body))
    }
}

impl Peer {
    /// Sends a message: status and body of the answer, or why there is none.
    pub(super) async fn post(&self, message: Vec<u8>, version: Option<String>) -> Result<(u16, Vec<u8>), String> {
        debug_assert!(message.len() <= LONGEST);
        match self {
            Peer::Local(router) => local(router.clone(), message, version).await,
            Peer::Remote(remote) => {
                let remote = remote.clone();
                let work = move || remote.post(&message, version.as_deref());
                tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(error.to_string()))
            }
        }
    }
}

async fn local(router: Router, message: Vec<u8>, version: Option<String>) -> Result<(u16, Vec<u8>), String> {
    let mut request =
        Request::post("/mcp").header(header::HOST, "localhost").header(header::CONTENT_TYPE, "application/json");
    if let Some(version) = version {
        request = request.header(VERSION, version);
    }
    let request = request.body(Body::from(message)).map_err(|error| error.to_string())?;
    let response = match router.oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    };
    let status = response.status().as_u16();
    let body = to_bytes(response.into_body(), MAX_ANSWERED).await.map_err(|error| error.to_string())?;
    Ok((status, body.to_vec()))
}
