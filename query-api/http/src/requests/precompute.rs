//! Answers that are made before anyone asks: some operations are executed each minute, and their answers kept. A
//! request for all of them at once waits for none.

use std::{collections::HashMap, sync::Arc, time::Duration};

use axum::{body::Bytes, http::HeaderMap};
use tokio::{sync::watch, time::timeout};

use super::{
    ask::Answer,
    execute::{Caller, Input, execute},
    snapshot::Snapshot,
};
use crate::{contract::input::Raw, server::Server};

/// Time from one round to the next.
const ROUND: Duration = Duration::from_secs(60);
/// The same while there is no snapshot.
const SOON: Duration = Duration::from_secs(2);

/// Makes snapshots until `stop` is sent or dropped. It returns when nothing of it runs any more: a thread that reads
/// the index while the process ends would bring it down.
pub(crate) async fn keep(server: Arc<Server>, mut stop: watch::Receiver<()>) {
    let mut known = HashMap::new();
    while !server.precomputed.is_empty() {
        let made = round(&server, &mut known, &stop).await;
        let pause = if made { ROUND } else { SOON };
        if timeout(pause, stop.changed()).await.is_ok() {
            return;
        }
    }
}

/// One round. Returns false if no operation answered: the last snapshot stays then, and grows old.
async fn round(
    server: &Arc<Server>,
    known: &mut HashMap<&'static str, (String, Bytes)>,
    stop: &watch::Receiver<()>,
) -> bool {
    let made_at_ms = (server.clock)();
    let mut answers = HashMap::new();
    for &at in &server.precomputed {
        if !matches!(stop.has_changed(), Ok(false)) {
            return false;
        }
        let Some(name) = server.operations.get(at).map(|op| op.info.name) else { continue };
        let id = server.new_id().to_string();
        let headers = HeaderMap::new();
        let caller = Caller::own(&headers, &id, known.get(name).map(|(etag, _)| etag.clone()));
        let answer = match execute(server, at, Input::Ready(Raw::default()), caller).await {
            Ok(Answer::Body { content, etag, .. }) => {
                let body = Bytes::from(content.into_bytes());
                match etag {
                    Some(etag) => known.insert(name, (etag, body.clone())),
                    None => known.remove(name),
                };
                Ok(body)
            }
            Ok(Answer::NotModified { .. }) => match known.get(name) {
                Some((_, body)) => Ok(body.clone()),
                None => continue,
            },
            Err(error) => Err(error.detail.clone()),
        };
        answers.insert(name, answer);
    }
    let made = answers.values().any(Result::is_ok);
    if made {
        server.snapshot.set(Snapshot { made_at_ms, answers });
    }
    made
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::{HttpConfig, Service, transport::router::tests::service};

    fn server(names: &[&'static str]) -> Arc<Server> {
        Arc::new(Server::new(Service { precomputed: names.to_vec(), ..service(HttpConfig::default()) }))
    }

    #[tokio::test]
    async fn without_an_answer_the_last_snapshot_stays() {
        // "echo" lacks its parameter, and nothing has the last name.
        let server = server(&["echo", "panics", "no such operation"]);
        assert_eq!(server.precomputed.len(), 2);
        let (_going, stop) = watch::channel(());
        assert!(!round(&server, &mut HashMap::new(), &stop).await);
        assert!(server.snapshot.get().is_none());
    }

    #[tokio::test]
    async fn an_answer_is_replaced_as_a_whole() {
        let server = server(&["echo", "rows"]);
        let (mut known, (going, stop)) = (HashMap::new(), watch::channel(()));
        assert!(round(&server, &mut known, &stop).await);
        let first = server.snapshot.get().unwrap();
        assert!(first.answers["echo"].is_err());
        let body: Value = serde_json::from_slice(first.answers["rows"].as_ref().unwrap()).unwrap();
        assert!(body.is_object() && body["_meta"].is_object(), "{body}");
        assert!(round(&server, &mut known, &stop).await);
        assert_eq!(server.snapshot.get().unwrap().answers["rows"], first.answers["rows"]);
        // After a stop nothing begins, and a task that waits for the stop ends at once.
        drop(going);
        assert!(!round(&server, &mut known, &stop).await);
        timeout(Duration::from_secs(5), keep(server, stop)).await.unwrap();
    }
}
