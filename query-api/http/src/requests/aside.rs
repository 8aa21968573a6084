//! Work of a backend that no request waits for. It is asked for its next step again and again; a step may be a question
//! to an operation. It rests for half of the time, so that it takes half a processor at most.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::http::HeaderMap;
use tokio::{sync::watch, time::timeout};

use super::{
    ask::{Answer, Aside},
    execute::{Caller, Input, execute},
    parameters::from_object,
};
use crate::{answers::error::ApiError, server::Server};

/// Pause after a step, at least and at most.
const PAUSES: [Duration; 2] = [Duration::from_millis(1), Duration::from_secs(5)];
/// Pause when nothing is to be done.
const IDLE: Duration = Duration::from_secs(2);

/// Takes steps until `stop` is sent or dropped. It returns when nothing of it runs any more.
pub(crate) async fn keep(server: Arc<Server>, mut stop: watch::Receiver<()>) {
    loop {
        let began = Instant::now();
        let pause = if step(&server).await { began.elapsed().clamp(PAUSES[0], PAUSES[1]) } else { IDLE };
        if timeout(pause, stop.changed()).await.is_ok() {
            return;
        }
    }
}

/// Takes a step. Returns false if there was none.
async fn step(server: &Arc<Server>) -> bool {
    let backend = Arc::clone(&server.backend);
    let (name, members) = match server.queue.run(move || backend.aside()).await {
        Ok(Ok(Aside::More)) => return true,
        Ok(Ok(Aside::Ask(name, members))) => (name, members),
        Ok(Ok(Aside::Nothing)) | Ok(Err(_)) | Err(_) => return false,
    };
    let Some(at) = server.operations.iter().position(|op| op.info.name == name) else { return false };
    let raw = from_object(&server.operations[at], members);
    let (id, headers) = (server.new_id().to_string(), HeaderMap::new());
    let caller = Caller::own(&headers, &id, None);
    let heard = match execute(server, at, Input::Ready(raw), caller).await {
        Ok(Answer::Body { content, .. }) => Ok(content.into_bytes()),
        Ok(Answer::NotModified { .. }) => Err(ApiError::internal()),
        Err(error) => Err(error),
    };
    let backend = Arc::clone(&server.backend);
    server.queue.run(move || backend.hear(heard)).await.is_ok()
}
