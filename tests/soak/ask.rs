//! A client that asks for everything, all the time, and believes no failure that nothing explains.

use std::{
    io,
    net::SocketAddr,
    sync::atomic::Ordering,
    thread,
    time::{Duration, Instant},
};

use cairn_support::loopback::{Answer, Client};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use crate::{
    accepted::accepted,
    course::{Course, Moment},
    operations::{Load, Operation, Request},
};

/// After a block or a reorganization, the mempool may lag behind the index for this long.
const LAGS: Duration = Duration::from_secs(3);

/// A client, and the highest tip that it has seen.
struct Asking<'c> {
    course: &'c Course,
    host: u8,
    connection: Option<(String, Client)>,
    highest: Option<(u64, Moment)>,
}

/// Asks until the end.
pub fn ask_all_the_time(number: u8, tools: bool, course: &Course, load: &Load) {
    let mut rng = ChaCha8Rng::seed_from_u64(number.into());
    let mut asking = Asking { course, host: 100 + number, connection: None, highest: None };
    let all = if tools { &load.tools } else { &load.operations };
    while !course.has_ended() {
        let operation = &all[rng.random_range(0..all.len())];
        let request = operation.request(&mut rng);
        if let Err(fault) = asking.ask(operation, &request) {
            course.wrong(format!("{fault}\n{} {}", request.path, request.body.unwrap_or_default()));
            return;
        }
    }
}

/// The status of an answer; if a tool's answer wraps one, that status.
fn status_of(answer: &Answer, body: &Value) -> u16 {
    let inner = &body["result"]["structuredContent"]["status_code"];
    inner.as_u64().and_then(|code| u16::try_from(code).ok()).unwrap_or(answer.status)
}

fn tip_of(body: &Value) -> Option<u64> {
    let said = &body["result"]["structuredContent"];
    let metas = [&body["_meta"], &said["_meta"], &said["data"]["_meta"]];
    metas.into_iter().find_map(|meta| meta["tip"]["height"].as_u64())
}

impl Asking<'_> {
    fn ask(&mut self, operation: &Operation, request: &Request) -> Result<(), String> {
        let began = Instant::now();
        loop {
            let Some(address) = self.course.served.address() else {
                thread::sleep(Duration::from_millis(5));
                if self.course.has_ended() {
                    return Ok(());
                }
                continue;
            };
            let before = self.course.now();
            let answer = match self.send(&address, request) {
                Ok(answer) => answer,
                Err(error) => {
                    self.connection = None;
                    if self.course.has_ended() || before.is_disturbed_until(self.course.now()) {
                        self.course.explained.fetch_add(1, Ordering::Relaxed);
                        thread::sleep(Duration::from_millis(5));
                        continue;
                    }
                    return Err(format!("no answer: {error}"));
                }
            };
            let (after, body) = (self.course.now(), answer.json());
            let status = status_of(&answer, &body);
            self.course.answers.fetch_add(1, Ordering::Relaxed);
            // Nothing is sold during the beta, and nobody has asked for tweaks of silent payments.
            if status == 503 && (body["error"] == "checkout_paused" || body["error"] == "not_indexed") {
                operation.was_answered();
                return Ok(());
            }
            if status >= 500 {
                let is_explained = before.is_disturbed_until(after);
                // The index has the block, the mempool will have it in a moment.
                let lags = status == 503 && body.to_string().contains("mempool") && began.elapsed() < LAGS;
                if !is_explained && !lags {
                    return Err(format!("{status}: {}", String::from_utf8_lossy(&answer.body)));
                }
                self.course.explained.fetch_add(1, Ordering::Relaxed);
                thread::sleep(Duration::from_millis(20));
                continue;
            }
            if matches!(status, 200 | 202) && body["error"].is_null() {
                operation.was_answered();
                accepted().add(&operation.name, &body);
            }
            return self.judge_tip(&body, before, after);
        }
    }

    /// A lower tip than before comes of a reorganization.
    fn judge_tip(&mut self, body: &Value, before: Moment, after: Moment) -> Result<(), String> {
        let Some(height) = tip_of(body) else { return Ok(()) };
        self.course.tips.fetch_add(1, Ordering::Relaxed);
        match self.highest {
            Some((seen, then)) if height < seen && !then.is_reorganized_until(after) => {
                Err(format!("the tip went back from {seen} to {height}"))
            }
            _ => {
                self.highest = Some((height, before));
                Ok(())
            }
        }
    }

    fn send(&mut self, address: &str, request: &Request) -> io::Result<Answer> {
        let mut client = match self.connection.take() {
            Some((known, client)) if known == address => client,
            _ => {
                let server: SocketAddr = address.parse().map_err(io::Error::other)?;
                Client::connect(self.host, server)?
            }
        };
        let answer = client.send_with(&request.path, request.body.as_ref(), &request.headers)?;
        self.connection = Some((address.to_owned(), client));
        Ok(answer)
    }
}
