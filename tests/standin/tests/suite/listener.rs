//! Cairn's own choice of subscriber, on a thread.

use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use bitcoincore_zmq::{Message, SequenceMessage, subscribe_blocking};
use cairn_standin::StandIn;

pub(crate) struct Listener {
    messages: Receiver<Message>,
}

impl Listener {
    /// Subscribes to everything that is announced from now on, and waits until the node knows.
    pub(crate) fn new(node: &StandIn) -> Self {
        node.settle().unwrap();
        let addresses = node.zmq_addresses();
        let count = addresses.len();
        let (sender, messages) = channel();
        std::thread::spawn(move || listen(&addresses, &sender));
        assert!(node.await_subscriptions(count, Duration::from_secs(10)).unwrap());
        Self { messages }
    }

    /// The next message.
    pub(crate) fn next(&self) -> Message {
        self.messages.recv_timeout(Duration::from_secs(10)).expect("a message")
    }

    /// The messages up to the pause that follows them.
    pub(crate) fn drain(&self) -> Vec<Message> {
        let mut all = Vec::new();
        while let Ok(message) = self.messages.recv_timeout(Duration::from_millis(400)) {
            all.push(message);
        }
        all
    }

    /// The `sequence` messages among them.
    pub(crate) fn drain_sequence(&self) -> Vec<SequenceMessage> {
        let sequence = |message| match message {
            Message::Sequence(message, _) => Some(message),
            _ => None,
        };
        self.drain().into_iter().filter_map(sequence).collect()
    }
}

fn listen(addresses: &[String], sender: &Sender<Message>) {
    let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
    let _ = subscribe_blocking(&addresses, |message| {
        let message = message.expect("every message can be read");
        if sender.send(message).is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
}
