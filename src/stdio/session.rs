//! A client's messages, answered side by side.

use std::{collections::HashMap, io, sync::Arc};

use parking_lot::Mutex;
use serde_json::Value;
use tokio::{
    sync::mpsc::{Receiver, Sender},
    task::{AbortHandle, JoinSet},
};

use super::{
    Peer, WAITING,
    lines::{LONGEST, Line},
    message::{Head, agreed_version, line_of, refused, too_long},
};

/// A client, as long as it writes to standard input.
pub(super) struct Session {
    peer: Peer,
    answers: Sender<Vec<u8>>,
    /// The agreed revision of the protocol, which every later message is sent with.
    version: Mutex<Option<String>>,
    /// Requests that are being answered, by their ids as JSON.
    running: Mutex<HashMap<String, AbortHandle>>,
}

impl Session {
    pub(super) fn new(peer: Peer, answers: Sender<Vec<u8>>) -> Self {
        Session { peer, answers, version: Mutex::default(), running: Mutex::default() }
    }

    /// Answers all messages; at their end, it waits for the last answers.
    pub(super) async fn answer_all(self: &Arc<Self>, lines: &mut Receiver<io::Result<Line>>) -> io::Result<()> {
        let mut tasks = JoinSet::new();
        while let Some(line) = lines.recv().await {
            let message = match line? {
                Line::Message(message) => message,
                Line::TooLong => {
                    self.send(Some(too_long(LONGEST))).await;
                    continue;
                }
            };
            let head = Head::of(&message);
            if let Some(id) = head.cancelled() {
                // Dropping the request ends its work. Nothing is answered, as the protocol has it.
                if let Some(task) = self.running.lock().remove(&id.to_string()) {
                    task.abort();
                }
                continue;
            }
            if head.is_initialize() {
                // The messages that follow need the revision that this one agrees on.
                self.answer(message, head).await;
                continue;
            }
            while tasks.len() >= WAITING {
                tasks.join_next().await;
            }
            let id = head.id.as_ref().map(Value::to_string);
            let session = Arc::clone(self);
            let mut running = self.running.lock();
            let task = tasks.spawn(async move { session.answer(message, head).await });
            if let Some(id) = id {
                running.insert(id, task);
            }
            drop(running);
            while tasks.try_join_next().is_some() {}
        }
        while tasks.join_next().await.is_some() {}
        Ok(())
    }

    async fn answer(&self, message: Vec<u8>, head: Head) {
        let version = self.version.lock().clone();
        let line = match self.peer.post(message, version).await {
            Ok((status, body)) => {
                if head.is_initialize()
                    && let Some(version) = agreed_version(&body)
                {
                    *self.version.lock() = Some(version);
                }
                line_of(&head, status, body)
            }
            Err(why) => {
                tracing::warn!(%why, "a message was not answered");
                refused(&head, &why)
            }
        };
        if let Some(id) = &head.id {
            self.running.lock().remove(&id.to_string());
        }
        self.send(line).await;
    }

    async fn send(&self, line: Option<Vec<u8>>) {
        if let Some(line) = line {
            // Nobody reads any more: the writer has ended the program.
            let _ = self.answers.send(line).await;
        }
    }
}
