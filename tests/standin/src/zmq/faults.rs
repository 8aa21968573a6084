//! Faults of messages on their way out.

use std::time::Duration;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::Topic;

/// A fault of one message. The sequence number is given before: a dropped message leaves a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZmqFault {
    /// It is not sent.
    Drop,
    /// It is sent twice, with the same sequence number.
    Duplicate,
    /// It is sent only after the next `0` messages of whatever topic (or at the next flush).
    Reorder(u32),
    /// It and all later messages of its topic wait this long; their order stays.
    Delay(Duration),
}

/// When a fault happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZmqRule {
    /// The topic; `None` is any.
    pub topic: Option<Topic>,
    /// The fault.
    pub fault: ZmqFault,
    /// Chance for each message, of 1000.
    pub per_mille: u16,
    /// Matching messages that pass untouched at first.
    pub skip: u32,
    /// How often at most.
    pub times: Option<u32>,
}

impl ZmqRule {
    /// The fault happens to every message of a topic.
    pub fn always(topic: Topic, fault: ZmqFault) -> Self {
        Self { topic: Some(topic), fault, per_mille: 1000, skip: 0, times: None }
    }

    /// The fault happens to the next message of a topic.
    pub fn once(topic: Topic, fault: ZmqFault) -> Self {
        Self { times: Some(1), ..Self::always(topic, fault) }
    }

    /// The fault happens now and then, to messages of any topic.
    pub fn sometimes(per_mille: u16, fault: ZmqFault) -> Self {
        Self { topic: None, fault, per_mille, skip: 0, times: None }
    }
}

/// The rules in force.
#[derive(Debug)]
pub(crate) struct Faults {
    rng: ChaCha8Rng,
    rules: Vec<ZmqRule>,
}

impl Faults {
    pub(crate) fn new(seed: u64, rules: Vec<ZmqRule>) -> Self {
        Self { rng: ChaCha8Rng::seed_from_u64(seed), rules }
    }

    /// The fault of the next message of a topic: that of the first rule that strikes.
    pub(crate) fn strike(&mut self, topic: Topic) -> Option<ZmqFault> {
        for rule in self.rules.iter_mut().filter(|rule| rule.topic.is_none_or(|only| only == topic)) {
            if rule.skip > 0 {
                rule.skip -= 1;
                continue;
            }
            if rule.times == Some(0) || self.rng.random_range(0..1000) >= rule.per_mille {
                continue;
            }
            if let Some(times) = &mut rule.times {
                *times -= 1;
            }
            return Some(rule.fault);
        }
        None
    }
}
