//! ZMQ messages: what reads says what its parts say.

use cairn_node::{Topic, fuzzing};

use super::bounds::within_bounds;

/// Messages one after the other. Each is a count of parts (modulo 5), then the parts: a length of two bytes
/// (little-endian), and this many bytes, or the rest.
pub fn run(bytes: &[u8]) {
    let (mut rest, mut read) = (bytes, Vec::new());
    while let Some((&count, mut from)) = rest.split_first() {
        let parts: Vec<Vec<u8>> = (0..count % 5).map(|_| part(&mut from)).collect();
        rest = from;
        if let Some(message) = check(parts) {
            read.push(message);
        }
    }
    assert!(fuzzing::zmq_gaps(&read) <= Topic::ALL.len() + read.len());
}

fn part(from: &mut &[u8]) -> Vec<u8> {
    let (length, rest) = from.split_at(from.len().min(2));
    let length = length.iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
    let (part, rest) = rest.split_at(rest.len().min(length));
    *from = rest;
    part.to_vec()
}

fn check(parts: Vec<Vec<u8>>) -> Option<(Topic, u32)> {
    let all = parts.concat();
    let message = match within_bounds(&all, |_| fuzzing::zmq_message(parts.clone())) {
        Ok(message) => message,
        Err(topic) => {
            assert_eq!(topic, parts.first().and_then(|name| Topic::of_name(name)));
            return None;
        }
    };
    let [topic, data, number] = &parts[..] else { panic!("a message of {} parts", parts.len()) };
    assert_eq!(message.topic.name().as_bytes(), topic);
    assert_eq!(message.number.to_le_bytes()[..], number[..]);
    match message.topic {
        Topic::RawBlock | Topic::RawTx => assert_eq!(message.raw.as_ref(), Some(data)),
        Topic::HashBlock | Topic::Sequence => {
            let shown: Vec<u8> = message.hash.iter().flatten().rev().copied().collect();
            assert_eq!(shown[..], data[..32]);
        }
    }
    Some((message.topic, message.number))
}
