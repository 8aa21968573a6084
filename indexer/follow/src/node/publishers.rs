//! Publishers of the node that are not connected. Blocks and transactions come all the same, later: the node is polled.

use std::time::{Duration, Instant};

use cairn_model::Part;
use cairn_node::TopicStatus;

use crate::troubles::Troubles;

/// A connection may be down for this long before it is reported: it takes a moment at the start, and after a restart.
const GRACE: Duration = Duration::from_secs(2);
/// The follower's next step meanwhile.
const NEXT: &str = "connects again every few seconds, and asks the node for news every second until then";

/// Reports publishers without a connection.
#[derive(Default)]
pub(super) struct PublisherWatch {
    /// Since when there is at least one of them.
    down: Option<Instant>,
}

impl PublisherWatch {
    /// Looks at the state of the topics at `now`.
    pub(super) fn look(&mut self, topics: &[TopicStatus], now: Instant, troubles: &Troubles) {
        let mut addresses: Vec<&str> = topics.iter().filter(|t| !t.connected).map(|t| t.address.as_str()).collect();
        addresses.dedup();
        if addresses.is_empty() {
            if self.down.take().is_some() {
                troubles.clear(Part::Zmq);
            }
            return;
        }
        let since = *self.down.get_or_insert(now);
        if now.saturating_duration_since(since) >= GRACE {
            let addresses = addresses.join(" ");
            troubles.set(Part::Zmq, &format!("no connection to ZMQ publishers of the node: {addresses}"), NEXT);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use cairn_link::{IndexSlot, IndexSource, Publishers};
    use cairn_node::Topic;

    use super::*;

    #[test]
    fn a_publisher_that_stays_away_is_reported() {
        let slot = Arc::new(IndexSlot::new());
        let troubles = Troubles::new(Publishers::new(vec![Arc::<IndexSlot>::clone(&slot)]));
        let mut watch = PublisherWatch::default();
        let start = Instant::now();
        let mut look = |connected: [bool; 2], at: Duration| {
            let topic = |(n, connected): (usize, bool)| TopicStatus {
                topic: Topic::ALL[n],
                address: format!("tcp://10.0.0.1:{n}"),
                connected,
                connections: 0,
                messages: 0,
                last_number: None,
                last_message: None,
                lost: 0,
            };
            let topics: Vec<TopicStatus> = connected.into_iter().enumerate().map(topic).collect();
            watch.look(&topics, start + at, &troubles);
            slot.troubles().iter().map(|trouble| (trouble.part, trouble.reason.clone())).collect::<Vec<_>>()
        };
        assert_eq!(look([false, false], Duration::ZERO), []);
        assert_eq!(look([true, true], GRACE), []);
        assert_eq!(look([true, false], GRACE), []);
        let reason = "no connection to ZMQ publishers of the node: …".to_owned();
        assert_eq!(look([true, false], 2 * GRACE), [(Part::Zmq, reason)]);
        assert_eq!(look([true, true], 2 * GRACE), []);
    }
}
