//! Events on their way to the owner, bounded by number and by bytes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use cairn_model::CancelToken;
use crossbeam_channel::{Receiver, SendTimeoutError, Sender, TrySendError, bounded};

use super::{event::NodeEvent, payload::Payload};

/// Between two looks at the cancel token while the queue is full.
const GLANCE: Duration = Duration::from_millis(50);

/// How much may be queued.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct QueueLimits {
    pub(crate) events: usize,
    pub(crate) bytes: usize,
}

/// The sending end. A full queue makes the sender wait: the library's own queue fills up then, and at last the node
/// drops messages, which the numbers show.
#[derive(Clone)]
pub(crate) struct Queue {
    sender: Sender<NodeEvent>,
    queued: Arc<AtomicUsize>,
    limits: QueueLimits,
    cancel: CancelToken,
}

/// Nobody takes events any more.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Closed;

impl Queue {
    pub(crate) fn new(limits: QueueLimits, cancel: CancelToken) -> (Queue, Receiver<NodeEvent>) {
        let (sender, receiver) = bounded(limits.events.max(1));
        (Queue { sender, queued: Arc::default(), limits, cancel }, receiver)
    }

    /// Counts bytes as queued, as soon as there is room for them. One payload always has room.
    pub(crate) fn payload(&self, bytes: Vec<u8>) -> Result<Payload, Closed> {
        let counted = bytes.len();
        loop {
            let queued = self.queued.fetch_add(counted, Ordering::AcqRel);
            if queued == 0 || queued.saturating_add(counted) <= self.limits.bytes {
                return Ok(Payload::counted(bytes, Arc::clone(&self.queued)));
            }
            self.queued.fetch_sub(counted, Ordering::AcqRel);
            if self.cancel.wait(GLANCE) {
                return Err(Closed);
            }
        }
    }

    /// Queues an event, waiting for room.
    pub(crate) fn send(&self, mut event: NodeEvent) -> Result<(), Closed> {
        while !self.cancel.is_cancelled() {
            match self.sender.send_timeout(event, GLANCE) {
                Ok(()) => return Ok(()),
                Err(SendTimeoutError::Timeout(back)) => event = back,
                Err(SendTimeoutError::Disconnected(_)) => return Err(Closed),
            }
        }
        Err(Closed)
    }

    /// Queues an event if there is room; whether there was.
    pub(crate) fn try_send(&self, event: NodeEvent) -> Result<bool, Closed> {
        match self.sender.try_send(event) {
            Ok(()) => Ok(true),
            Err(TrySendError::Full(_)) => Ok(false),
            Err(TrySendError::Disconnected(_)) => Err(Closed),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use cairn_model::BlockHash;

    use super::*;

    fn queue(events: usize, bytes: usize) -> (Queue, Receiver<NodeEvent>, CancelToken) {
        let cancel = CancelToken::new();
        let (queue, receiver) = Queue::new(QueueLimits { events, bytes }, cancel.clone());
        (queue, receiver, cancel)
    }

    #[test]
    fn bytes_wait_for_room() {
        let (queue, receiver, _cancel) = queue(10, 100);
        // One is never refused, however long.
        let long = queue.payload(vec![1; 500]).unwrap();
        let sending = thread::spawn(move || {
            let payload = queue.payload(vec![2; 80]).unwrap();
            queue.send(NodeEvent::Tx(payload)).unwrap();
        });
        assert!(receiver.recv_timeout(Duration::from_millis(80)).is_err());
        assert_eq!(long.into_bytes().len(), 500);
        let Ok(NodeEvent::Tx(payload)) = receiver.recv_timeout(Duration::from_secs(20)) else { panic!("no event") };
        assert_eq!(&*payload, [2; 80]);
        sending.join().unwrap();
    }

    #[test]
    fn a_full_queue_ends_with_the_cancel_token_or_the_receiver() {
        let (queue, receiver, cancel) = queue(1, 100);
        let event = || NodeEvent::Tip(BlockHash::default());
        assert_eq!((queue.try_send(event()), queue.try_send(event())), (Ok(true), Ok(false)));
        let (other, stopping) = (queue.clone(), cancel.clone());
        let waiting = thread::spawn(move || other.send(event()));
        thread::sleep(Duration::from_millis(20));
        stopping.cancel();
        assert_eq!(waiting.join().unwrap(), Err(Closed));
        drop(receiver);
        assert_eq!(queue.try_send(event()), Err(Closed));
    }
}
