//! Numbers of messages: each topic of each publisher counts from 0, one up per message, modulo 2^32.

use super::{
    event::{Gap, GapCause},
    topic::Topic,
};

/// The next number of each topic of one connection.
#[derive(Debug)]
pub(crate) struct Sequences {
    next: Vec<(Topic, Option<u32>)>,
}

impl Sequences {
    pub(crate) fn new(topics: &[Topic]) -> Self {
        Sequences { next: topics.iter().map(|&topic| (topic, None)).collect() }
    }

    /// The connection was made: what was published before is gone. A number that happens to fit the old ones proves
    /// nothing (a node that was started again counts from 0), so none is expected.
    pub(crate) fn connected(&mut self) -> Vec<Gap> {
        let gap = |(topic, next): &mut (Topic, Option<u32>)| Gap {
            topic: *topic,
            expected: next.take(),
            got: None,
            cause: GapCause::Connected,
        };
        self.next.iter_mut().map(gap).collect()
    }

    /// A message could not be read: of the given topic, or of one that is not known.
    pub(crate) fn garbled(&mut self, topic: Option<Topic>) -> Vec<Gap> {
        let hit = self.next.iter_mut().filter(|(of, _)| topic.is_none_or(|topic| topic == *of));
        // With the number unknown, the next message is taken as the first.
        hit.map(|(topic, next)| Gap { topic: *topic, expected: next.take(), got: None, cause: GapCause::Garbled })
            .collect()
    }

    /// A message came; the gap before it, if there is one.
    pub(crate) fn message(&mut self, topic: Topic, got: u32) -> Option<Gap> {
        let (_, next) = self.next.iter_mut().find(|(of, _)| *of == topic)?;
        let expected = next.replace(got.wrapping_add(1));
        match expected {
            Some(expected) if expected == got => None,
            Some(_) => Some(Gap { topic, expected, got: Some(got), cause: GapCause::Sequence }),
            None => Some(Gap { topic, expected, got: Some(got), cause: GapCause::First }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hole_is_seen() {
        let (tx, block) = (Topic::RawTx, Topic::HashBlock);
        let mut numbers = Sequences::new(&[tx, block]);
        let gap = |gap: Option<Gap>| gap.map(|gap| (gap.expected, gap.got, gap.cause));
        assert_eq!(numbers.connected().len(), 2);
        assert_eq!(gap(numbers.message(tx, 7)), Some((None, Some(7), GapCause::First)));
        assert_eq!(gap(numbers.message(tx, 8)), None);
        // The other topic has numbers of its own.
        assert_eq!(gap(numbers.message(block, 0)), Some((None, Some(0), GapCause::First)));
        assert_eq!(gap(numbers.message(block, 1)), None);
        // Skipped, repeated, back.
        assert_eq!(gap(numbers.message(tx, 10)), Some((Some(9), Some(10), GapCause::Sequence)));
        assert_eq!(gap(numbers.message(tx, 10)), Some((Some(11), Some(10), GapCause::Sequence)));
        assert_eq!(gap(numbers.message(tx, 9)), Some((Some(11), Some(9), GapCause::Sequence)));
        assert_eq!(gap(numbers.message(tx, 10)), None);
        // Connected again, the fitting number is still a gap.
        let gaps = numbers.connected();
        assert_eq!(gaps.iter().map(|gap| gap.expected).collect::<Vec<_>>(), [Some(11), Some(2)]);
        assert_eq!(gap(numbers.message(tx, 11)), Some((None, Some(11), GapCause::First)));
        assert_eq!(gap(numbers.message(tx, 12)), None);
        assert_eq!(numbers.garbled(Some(tx)).len(), 1);
        assert_eq!(gap(numbers.message(tx, 14)), Some((None, Some(14), GapCause::First)));
        assert_eq!(numbers.garbled(None).len(), 2);
    }

    #[test]
    fn numbers_wrap() {
        let mut numbers = Sequences::new(&[Topic::Sequence]);
        assert!(numbers.message(Topic::Sequence, u32::MAX).is_some());
        assert_eq!(numbers.message(Topic::Sequence, 0), None);
        // Not subscribed: not ours to count.
        assert_eq!(numbers.message(Topic::RawTx, 5), None);
    }
}
