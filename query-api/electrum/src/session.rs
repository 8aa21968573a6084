//! A connection: reads lines, answers them in order, and sends notifications in between.

use std::{sync::Arc, time::Duration};

use cairn_http::{Asker, HeldMemory};
use cairn_model::CancelToken;
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::Instant,
};

use crate::{
    client::Client,
    electrum::Electrum,
    failure::Failure,
    line::{self, Lines, NoLine},
    methods,
    rpc::{self, BadRequest, Message, Request},
};

/// The first request must arrive within this time.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// A connection without requests is closed after this time.
const IDLE: Duration = Duration::from_secs(600);
/// Longest line in bytes, unless it sends transactions or is a batch. A longer one is charged for its length.
const MAX_REQUEST: usize = 64 << 10;
/// Most bytes of the answers to a batch; further requests of it fail.
const MAX_BATCH_ANSWER: usize = 4 << 20;
/// Larger answers hold memory that all clients share until they are sent.
const SMALL: usize = 64 << 10;

/// The next step of a connection.
enum Next {
    /// Sends notifications.
    News,
    /// Sends what a scan has found.
    Scanned(String),
    /// Answers a line.
    Line(Result<Vec<u8>, NoLine>),
}

/// Serves a connection until it ends.
pub(crate) async fn run(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    electrum: Arc<Electrum>,
    asker: Asker,
    stop: CancelToken,
) {
    let mut client = Client::new(Arc::clone(&electrum), asker);
    let mut lines = Lines::new();
    let mut idle = Instant::now() + HANDSHAKE;
    loop {
        let line = tokio::select! {
            () = stop.cancelled() => return,
            () = client.subscriptions.wait() => Next::News,
            scanned = client.scans.next() => Next::Scanned(scanned),
            line = lines.next(&mut stream, idle, || electrum.api.memory(asker)) => Next::Line(line),
        };
        let memory = electrum.api.memory(asker);
        let text = match line {
            Next::News => notifications(&mut client),
            Next::Scanned(text) => text,
            Next::Line(Ok(line)) => {
                let answer = tokio::select! {
                    () = stop.cancelled() => return,
                    answer = answer(&mut client, line, &memory) => answer,
                };
                lines.rest();
                idle = Instant::now() + IDLE;
                answer
            }
            Next::Line(Err(NoLine::Ended)) => return,
            Next::Line(Err(NoLine::TooLong)) => {
                let failure = Failure::new(
                    Failure::INVALID_REQUEST,
                    format!("a line has more than {} bytes, or the server has no memory for it", line::MAX_LINE),
                );
                let text = rpc::answer(&Value::Null, Err(&failure)) + "\n";
                let _ = line::write(&mut stream, text.as_bytes()).await;
                return;
            }
        };
        if text.len() > SMALL && memory.grow(text.len()).is_err() {
            // Its client asks again when it has connected again.
            tracing::debug!("a connection was closed: no memory for its answer");
            return;
        }
        if line::write(&mut stream, text.as_bytes()).await.is_err() || client.is_refused {
            return;
        }
    }
}

fn notifications(client: &mut Client) -> String {
    client.subscriptions.notifications().into_iter().fold(String::new(), |mut text, line| {
        text.push_str(&line);
        text.push('\n');
        text
    })
}

/// The answer to a line, with its line break; empty if it gets none. Answers to a batch are kept in `memory`.
async fn answer(client: &mut Client, line: Vec<u8>, memory: &HeldMemory) -> String {
    // Clients may send empty lines between messages.
    if line.iter().all(u8::is_ascii_whitespace) {
        return String::new();
    }
    let length = line.len();
    if length > MAX_REQUEST
        && let Err(failure) = client.electrum.charge_message(client.asker, length).await
    {
        return rpc::answer(&Value::Null, Err(&failure)) + "\n";
    }
    // The workers stay free while a long line is parsed.
    let api = client.electrum.api.clone();
    let message = match api.off_workers(length, move || rpc::parse(&line)).await {
        Ok(message) => message,
        Err(error) => return rpc::answer(&Value::Null, Err(&Failure::of_api(&error))) + "\n",
    };
    match message {
        Message::One(one) => answer_one(client, one, length).await.map(|text| text + "\n").unwrap_or_default(),
        Message::Batch(all) => {
            let mut answers = Answers { text: String::new(), memory };
            for one in all {
                let one = match one {
                    Ok(Request { id: Some(id), .. }) if answers.text.len() > MAX_BATCH_ANSWER => {
                        // Clients ask for one with this code again, alone.
                        let message = format!("the answers of the batch exceed {MAX_BATCH_ANSWER} bytes");
                        Err(BadRequest { id, failure: Failure::new(Failure::INVALID_REQUEST, message) })
                    }
                    one => one,
                };
                let id = one.as_ref().map_or_else(|bad| Some(bad.id.clone()), |request| request.id.clone());
                // The line has been charged for its length as a whole.
                if let (Some(answer), Some(id)) = (answer_one(client, one, 0).await, id) {
                    answers.add(&id, &answer);
                }
            }
            answers.finish()
        }
    }
}

/// The answers to a batch, in memory that all clients share: each connection may wait for the rest of a batch.
struct Answers<'m> {
    text: String,
    memory: &'m HeldMemory,
}

impl Answers<'_> {
    /// Adds the answer to a request; an error if there is no memory for it.
    fn add(&mut self, id: &Value, answer: &str) {
        if self.reserve(answer.len()) {
            self.push(answer);
        } else {
            let failure =
                Failure::new(Failure::BUSY, "the server has no memory for this answer; ask for it alone, later");
            self.push(&rpc::answer(id, Err(&failure)));
        }
    }

    fn push(&mut self, answer: &str) {
        // Not more than is needed, and the end of the list: a text that grows by itself doubles.
        self.text.reserve_exact(answer.len() + 3);
        self.text.push(if self.text.is_empty() { '[' } else { ',' });
        self.text.push_str(answer);
    }

    /// Makes room for an answer. False without memory.
    fn reserve(&mut self, bytes: usize) -> bool {
        // A separator before it, and the end of the list.
        let needed = self.text.len() + bytes + 3;
        if needed <= SMALL.max(self.text.capacity()) {
            return true;
        }
        let capacity = needed.max(self.text.capacity() * 2);
        if self.memory.grow(capacity).is_err() {
            return false;
        }
        self.text.reserve_exact(capacity - self.text.len());
        true
    }

    fn finish(self) -> String {
        if self.text.is_empty() { self.text } else { self.text + "]\n" }
    }
}

/// The answer to a request; `None` to a notification.
async fn answer_one(client: &mut Client, one: Result<Request, BadRequest>, length: usize) -> Option<String> {
    match one {
        Ok(request) => {
            let Some(id) = request.id.clone() else {
                // Nobody hears of a refusal either.
                let _ = client.electrum.charge(client.asker).await;
                return None;
            };
            let result = if length > MAX_REQUEST && !methods::may_be_long(&request.method) {
                let message = format!("the line has {length} bytes; at most {MAX_REQUEST} are allowed");
                Err(Failure::new(Failure::INVALID_REQUEST, message))
            } else {
                methods::answer(client, &request).await
            };
            Some(rpc::answer(&id, result.as_deref()))
        }
        Err(BadRequest { id, failure }) => {
            // It costs as much as a valid one.
            let failure = client.electrum.charge(client.asker).await.err().unwrap_or(failure);
            Some(rpc::answer(&id, Err(&failure)))
        }
    }
}
