//! The known state of the node and of its notifications: plain data for health answers.

use cairn_clock::now_secs;
use cairn_model::BlockHash;
use parking_lot::Mutex;
use serde::Serialize;

use crate::{
    answers::ChainInfo,
    zmq::{Content, Gap, GapCause, Observer, Topic, ZmqEndpoint},
};

/// How news of the node's tip come at present.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Notifications {
    /// The node is asked again and again: no ZMQ is configured, or its connection is down.
    #[default]
    Polling,
    /// ZMQ; the node is asked now and then for safety.
    Zmq,
}

/// State of the node as a source of news. Times are seconds since 1970.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct NodeStatus {
    /// Address of the RPC interface, without credentials.
    pub url: String,
    /// Whether the last request was answered.
    pub reachable: bool,
    /// Why not.
    pub error: Option<String>,
    /// When a request was last answered.
    pub last_answer: Option<u64>,
    /// Height of the node's tip.
    pub blocks: Option<u32>,
    /// Height of the best header that the node knows.
    pub headers: Option<u32>,
    /// Hash of the node's tip as last seen, in the order in which people read it.
    pub best_block: Option<String>,
    /// True while the node downloads the chain for the first time; `None` if unknown.
    pub initial_download: Option<bool>,
    /// True if the node deletes old blocks; `None` if unknown.
    pub pruned: Option<bool>,
    /// Whether blocks are fetched by REST; `None` before the first.
    pub rest: Option<bool>,
    /// How news come.
    pub notifications: Notifications,
    /// The ZMQ topics that are subscribed.
    pub topics: Vec<TopicStatus>,
    /// When the last ZMQ message came.
    pub last_message: Option<u64>,
    /// Possible holes in the messages (connections included).
    pub gaps_seen: u64,
    /// Those that were repaired by a snapshot.
    pub gaps_repaired: u64,
    /// Tips that polling the node found before any message announced them.
    pub tips_found_by_polling: u64,
}

impl NodeStatus {
    /// Holes that wait for repair.
    #[must_use]
    pub fn gaps_open(&self) -> u64 {
        self.gaps_seen.saturating_sub(self.gaps_repaired)
    }
}

/// A subscribed ZMQ topic.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct TopicStatus {
    /// Which.
    pub topic: Topic,
    /// Where it is published.
    pub address: String,
    /// Whether the connection stands.
    pub connected: bool,
    /// Connections made so far.
    pub connections: u64,
    /// Messages received.
    pub messages: u64,
    /// Number that the node gave the last message of this topic.
    pub last_number: Option<u32>,
    /// When it came.
    pub last_message: Option<u64>,
    /// Numbers that skipped, repeated or went back, and messages that could not be read.
    pub lost: u64,
}

/// The status, shared by the threads that change it.
#[derive(Debug, Default)]
pub(crate) struct SharedStatus(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    status: NodeStatus,
    /// The tip that was last announced to the owner, by ZMQ or by polling.
    announced: Option<BlockHash>,
}

impl SharedStatus {
    pub(crate) fn new(url: &str, endpoints: &[ZmqEndpoint]) -> Self {
        let topics = endpoints.iter().flat_map(|endpoint| {
            endpoint.topics.iter().map(|&topic| TopicStatus {
                topic,
                address: endpoint.address.clone(),
                connected: false,
                connections: 0,
                messages: 0,
                last_number: None,
                last_message: None,
                lost: 0,
            })
        });
        let status = NodeStatus { url: url.to_owned(), topics: topics.collect(), ..NodeStatus::default() };
        SharedStatus(Mutex::new(State { status, announced: None }))
    }

    pub(crate) fn get(&self) -> NodeStatus {
        self.0.lock().status.clone()
    }

    pub(crate) fn repaired(&self, gaps: u64) {
        let mut state = self.0.lock();
        let status = &mut state.status;
        status.gaps_repaired = status.gaps_repaired.saturating_add(gaps).min(status.gaps_seen);
    }

    /// Whether tips are announced by ZMQ at present.
    pub(crate) fn has_zmq(&self) -> bool {
        self.0.lock().status.notifications == Notifications::Zmq
    }

    /// The node answered; whether it had not answered before, and whether no one has announced this tip yet.
    pub(crate) fn answered(&self, best: BlockHash, rest: Option<bool>) -> (bool, bool) {
        let mut state = self.0.lock();
        let back = !state.status.reachable;
        let news = state.announced != Some(best);
        let status = &mut state.status;
        (status.reachable, status.error, status.last_answer) = (true, None, Some(now_secs()));
        status.best_block = Some(best.to_string());
        status.rest = rest;
        (back, news)
    }

    /// The tip that a look at the node found was announced to the owner.
    pub(crate) fn polled(&self, best: BlockHash) {
        let mut state = self.0.lock();
        state.announced = Some(best);
        if state.status.notifications == Notifications::Zmq {
            state.status.tips_found_by_polling += 1;
        }
    }

    pub(crate) fn chain(&self, info: &ChainInfo) {
        let status = &mut self.0.lock().status;
        (status.blocks, status.headers) = (Some(info.blocks), Some(info.headers));
        (status.initial_download, status.pruned) = (Some(info.initial_download), Some(info.pruned));
    }

    /// The node did not answer; whether it had before.
    pub(crate) fn failed(&self, error: String) -> bool {
        let status = &mut self.0.lock().status;
        let news = status.reachable || status.error.is_none();
        (status.reachable, status.error) = (false, Some(error));
        news
    }
}

impl Observer for SharedStatus {
    fn connection(&self, endpoint: &ZmqEndpoint, connected: bool) {
        let status = &mut self.0.lock().status;
        for topic in status.topics.iter_mut().filter(|topic| endpoint.topics.contains(&topic.topic)) {
            topic.connected = connected;
            topic.connections += u64::from(connected);
        }
        let told = status.topics.iter().any(|topic| topic.connected && topic.topic.tells_of_tips());
        status.notifications = if told { Notifications::Zmq } else { Notifications::Polling };
    }

    fn message(&self, topic: Topic, number: u32, content: &Content) {
        let mut state = self.0.lock();
        match content {
            Content::Tip(hash) | Content::Block { hash, .. } | Content::Connected(hash) => {
                state.announced = Some(*hash);
            }
            Content::Tx(_) | Content::Disconnected(_) | Content::Accepted { .. } | Content::Removed { .. } => {}
        }
        let now = now_secs();
        let status = &mut state.status;
        status.last_message = Some(now);
        if let Some(topic) = status.topics.iter_mut().find(|of| of.topic == topic) {
            topic.messages += 1;
            (topic.last_number, topic.last_message) = (Some(number), Some(now));
        }
    }

    fn gap(&self, gap: &Gap) {
        let status = &mut self.0.lock().status;
        status.gaps_seen += 1;
        if let Some(topic) = status.topics.iter_mut().find(|of| of.topic == gap.topic) {
            topic.lost += u64::from(matches!(gap.cause, GapCause::Sequence | GapCause::Garbled));
        }
    }
}
