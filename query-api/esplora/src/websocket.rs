//! The websocket of watchers: the form of mempool.space's `/api/v1/ws`.
//!
//! A connection has a place among the streams, and its messages are charged as requests are. Its own task reads its
//! messages and writes those that wait for it; the [watch](crate::watch) finds what changes, once for all.

use std::{future::Future, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{
        State,
        ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, rejection::WebSocketUpgradeRejection},
    },
    http::{HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
    routing::get,
};
use cairn_domain::script_sha256;
use cairn_http::{ApiError, Asker, Cost, HeldStream};
use cairn_model::{Network, Txid};
use serde_json::json;
use tokio::time::{Instant, interval_at, sleep, timeout};

use crate::{
    answer::Refusal,
    params,
    state::Esplora,
    watch::watch,
    watch_data,
    watch_message::{self, List, MAX_MESSAGE, Request, Wanted, Wrong, shortened},
    watch_news,
    watchers::{Closing, MAX_WAITING_BYTES, Next, TxState, Watcher},
};

/// Longest message that is read at all. One above [`MAX_MESSAGE`] gets an error; one above this ends the connection.
const MAX_READ: usize = 2 * MAX_MESSAGE;
/// Bytes that are read from the connection at once. The library's default is 128 KiB for each connection.
const READ_BUFFER: usize = 4 << 10;
/// Interval of pings, for proxies, and to notice that a client has gone.
const PING: Duration = Duration::from_secs(30);
/// A connection from which nothing comes for this time, not even the answer to a ping, is closed.
const SILENCE: Duration = Duration::from_secs(75);
/// A message must be written within this time.
const WRITE: Duration = Duration::from_secs(20);
/// Time for the client to take and to answer a close.
const CLOSE: Duration = Duration::from_secs(1);
/// Time for the watch to see the present state; messages are answered without it after that.
const READY: Duration = Duration::from_secs(5);
/// Delay of the answer to a message that is refused for a spent budget: refusals are free.
const REFUSAL_PAUSE: Duration = Duration::from_millis(10);

/// Codes of RFC 6455 with which the server closes a connection.
mod code {
    pub(super) const AWAY: u16 = 1001;
    pub(super) const POLICY: u16 = 1008;
    pub(super) const TOO_BIG: u16 = 1009;
    pub(super) const TRY_AGAIN: u16 = 1013;
}

/// The route of the websocket.
pub(crate) fn routes() -> Router<Esplora> {
    Router::new().route("/v1/ws", get(open))
}

async fn open(
    State(esplora): State<Esplora>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
    from: Parts,
) -> Result<Response, Refusal> {
    let refused = |rejection: WebSocketUpgradeRejection| {
        let text = format!("{}; open this path as a websocket (RFC 6455, version 13)", rejection.body_text());
        let mut response = Refusal::Said(StatusCode::UPGRADE_REQUIRED, text).into_response();
        response.headers_mut().insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        Refusal::Written(Box::new(response))
    };
    let upgrade = upgrade.map_err(refused)?;
    let asker = esplora.api().asker(&from);
    let stream = esplora.api().stream(asker)?;
    let upgrade = upgrade.read_buffer_size(READ_BUFFER).write_buffer_size(0);
    let upgrade = upgrade.max_write_buffer_size(2 * MAX_WAITING_BYTES).max_message_size(MAX_READ);
    Ok(upgrade.max_frame_size(MAX_READ).on_upgrade(move |socket| serve(socket, esplora, asker, stream)))
}

/// Serves a connection until it ends.
async fn serve(mut socket: WebSocket, esplora: Esplora, asker: Asker, mut stream: HeldStream) {
    let watchers = esplora.watchers();
    let (watcher, must_start) = watchers.connect(Some(esplora.api().memory(asker)));
    if must_start {
        let (watchers, chain) = (Arc::clone(watchers), esplora.chain());
        tokio::task::spawn_blocking(move || watch(&watchers, &chain));
    }
    let session = Session { esplora, asker, watcher };
    let end = tokio::select! {
        () = stream.ended() => End::close(code::AWAY, "the server stops, or another client needs the place; try again"),
        end = session.run(&mut socket) => end,
    };
    if let End::Close(frame) = end {
        let closing = async {
            if socket.send(Message::Close(Some(frame))).await.is_ok() {
                // The client's answer: a connection with unread bytes would be reset, and the reason lost.
                while let Some(Ok(_)) = socket.recv().await {}
            }
        };
        let _ = timeout(CLOSE, closing).await;
    }
}

/// How a connection ends.
enum End {
    /// The client has left, or does not read.
    Gone,
    Close(CloseFrame),
}

impl End {
    fn close(code: u16, reason: &'static str) -> Self {
        End::Close(CloseFrame { code, reason: Utf8Bytes::from_static(reason) })
    }
}

/// An open connection.
struct Session {
    esplora: Esplora,
    asker: Asker,
    watcher: Watcher,
}

impl Session {
    async fn run(&self, socket: &mut WebSocket) -> End {
        // Changes from now on are sent.
        let _ = timeout(READY, self.esplora.watchers().ready()).await;
        let mut pings = interval_at(Instant::now() + PING, PING);
        let mut heard = Instant::now();
        loop {
            let ended = tokio::select! {
                () = self.watcher.wait() => self.flush(socket).await,
                _ = pings.tick() => match heard.elapsed() < SILENCE {
                    true => self.write(socket, Message::Ping(Default::default())).await,
                    false => Err(End::close(code::POLICY, "nothing came for 75 s; answer pings, or send messages")),
                },
                message = socket.recv() => {
                    heard = Instant::now();
                    match message {
                        Some(Ok(message)) => match self.heard(message).await {
                            Ok(()) => self.flush(socket).await,
                            Err(end) => Err(end),
                        },
                        Some(Err(_)) => Err(End::close(
                            code::TOO_BIG,
                            "a frame breaks RFC 6455, or a message has more than 131072 bytes; send at most 65536",
                        )),
                        None => Err(End::Gone),
                    }
                }
            };
            if let Err(end) = ended {
                return end;
            }
        }
    }

    /// Writes the messages that wait.
    async fn flush(&self, socket: &mut WebSocket) -> Result<(), End> {
        loop {
            match self.watcher.next(|| self.esplora.api().memory(self.asker)) {
                Next::Send(text) => self.write(socket, Message::Text(text)).await?,
                Next::Close(Closing::Slow) => {
                    return Err(End::close(
                        code::POLICY,
                        "more than 4 MiB or 256 messages waited; read faster, or track less",
                    ));
                }
                Next::Close(Closing::Gap) => {
                    return Err(End::close(
                        code::TRY_AGAIN,
                        "changes of scripts may be missing; connect again and read their history",
                    ));
                }
                Next::Wait => return Ok(()),
            }
        }
    }

    async fn write(&self, socket: &mut WebSocket, message: Message) -> Result<(), End> {
        let closing = async {
            while !self.watcher.is_closing() {
                self.watcher.wait().await;
            }
        };
        tokio::select! {
            sent = socket.send(message) => sent.map_err(|_| End::Gone),
            // A client that does not read gets no reason either.
            () = sleep(WRITE) => Err(End::Gone),
            () = closing => Err(End::Gone),
        }
    }

    /// Answers a message of the client: answers wait with the other messages.
    async fn heard(&self, message: Message) -> Result<(), End> {
        let length = match &message {
            Message::Text(text) => text.as_str().len(),
            Message::Binary(bytes) | Message::Ping(bytes) | Message::Pong(bytes) => bytes.len(),
            Message::Close(_) => return Err(End::Gone),
        };
        if let Err(error) = self.esplora.api().charge_peer(self.asker, length) {
            sleep(REFUSAL_PAUSE).await;
            if matches!(message, Message::Text(_) | Message::Binary(_)) {
                self.refuse(&Wrong { list: None, text: error.detail.clone() });
            }
            return Ok(());
        }
        match message {
            Message::Text(text) => {
                for part in watch_message::parse(text.as_str()) {
                    match part {
                        Ok(request) => self.answer(request).await,
                        Err(wrong) => self.refuse(&wrong),
                    }
                }
            }
            Message::Binary(_) => {
                let text = "the message is binary; send JSON objects as text".to_owned();
                self.refuse(&Wrong { list: None, text });
            }
            _ => {}
        }
        Ok(())
    }

    async fn answer(&self, request: Request) {
        match request {
            Request::Init => self.send(self.present(Wanted::ALL)).await,
            Request::Want(wanted) => {
                let before = self.watcher.with(|connection| std::mem::replace(&mut connection.wanted, wanted));
                let new = wanted.without(before);
                if new != Wanted::default() {
                    self.send(self.present(new)).await;
                }
            }
            Request::Ping => self.push(&[r#""pong":true"#]),
            Request::TrackTx(txid) => {
                self.watcher.track_tx(txid);
                if let Some(txid) = txid {
                    self.send(self.tx(txid)).await;
                }
            }
            Request::Track(list, texts) => self.track(list, texts).await,
        }
    }

    /// Sends members that are read, or the reason why they cannot be.
    async fn send(&self, read: impl Future<Output = Result<Vec<String>, ApiError>>) {
        match read.await {
            Ok(members) if members.is_empty() => {}
            Ok(members) => self.push(&members),
            Err(error) => self.refuse(&Wrong { list: None, text: error.detail.clone() }),
        }
    }

    async fn present(&self, wanted: Wanted) -> Result<Vec<String>, ApiError> {
        self.esplora.read_for(Cost::Standard, self.asker, move |at| watch_data::present(at, wanted)).await
    }

    /// The present state of the tracked transaction.
    async fn tx(&self, txid: Txid) -> Result<Vec<String>, ApiError> {
        let read =
            self.esplora.read_for(Cost::Standard, self.asker, move |at| watch_data::tx_states(at, &[txid], true));
        // While the mempool cannot be read, what is not in a block is unknown, too.
        let state = read.await.map(|states| states.first().map_or(TxState::Unknown, |(_, state)| *state));
        self.watcher.set_state(txid, *state.as_ref().unwrap_or(&TxState::Unknown));
        Ok(watch_news::first(&txid, state?).into_iter().collect())
    }

    async fn track(&self, list: List, texts: Vec<String>) {
        let network = self.esplora.read_for(Cost::Light, self.asker, |at| Ok(at.view.network())).await;
        let wrong = |text: String| Wrong { list: Some(list), text };
        let scripts = network.map_err(|error| wrong(error.detail.clone())).and_then(|network| {
            let named = |text: String| match script(list, &text, network) {
                Ok(script) => Ok((text, script_sha256(&script))),
                Err(reason) => Err(wrong(format!("{} {:?}: {reason}", list.member(), shortened(&text)))),
            };
            texts.into_iter().map(named).collect::<Result<Vec<_>, _>>()
        });
        match scripts {
            Ok(mut scripts) => {
                scripts.sort_unstable();
                scripts.dedup();
                self.watcher.track(list, scripts);
            }
            Err(wrong) => self.refuse(&wrong),
        }
    }

    /// Sends an error. Clients also look for one by the name of the list.
    fn refuse(&self, Wrong { list, text }: &Wrong) {
        let mut error = json!({"error": text});
        if let Some(list) = list {
            error[format!("{}-error", list.member())] = text.as_str().into();
        }
        self.watcher.with(|connection| connection.push(error.to_string().into()));
    }

    fn push<S: AsRef<str>>(&self, members: &[S]) {
        self.watcher.with(|connection| connection.push(watch_data::message(members)));
    }
}

/// Longest script in hexadecimal digits: consensus allows 10 000 bytes to be spent.
const MAX_SCRIPT: usize = 20_000;

/// The script that a client names.
fn script(list: List, text: &str, network: Network) -> Result<Vec<u8>, &'static str> {
    if list == List::Scripts {
        let digits = (2..=MAX_SCRIPT).contains(&text.len()).then(|| hex::decode(text).ok()).flatten();
        return digits.ok_or("not a script; send its bytes as 2 to 20000 hexadecimal digits");
    }
    params::address(text, network).map_err(|_| "not an address of this network; check its letters and its network")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_named_by_address_or_digits() {
        let address = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080";
        let of = |list, text: &str| script(list, text, Network::Regtest);
        let expected = hex::decode("0014751e76e8199196d454941c45d1b3a323f1433bd6").unwrap();
        assert_eq!(of(List::Address, address), Ok(expected.clone()));
        assert_eq!(of(List::Scripts, &hex::encode(&expected)), Ok(expected));
        for (list, text) in
            [(List::Addresses, "bc1q"), (List::Scripts, ""), (List::Scripts, "0"), (List::Scripts, "xx")]
        {
            assert!(of(list, text).is_err(), "{text}");
        }
    }
}
