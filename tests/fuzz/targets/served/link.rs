//! Frames between the process that writes and those that serve: a frame that can be read is written and read the same,
//! and a mempool stands whatever messages it gets.

use cairn_link::{IndexSlot, IndexSource, MAX_FRAME, Message, Publish, mempool_messages};
use cairn_model::MempoolDelta;

/// Frames, one after the other, until one does not read.
pub fn run(bytes: &[u8]) {
    let (slot, mut coming, mut from) = (IndexSlot::new(), Vec::new(), bytes);
    loop {
        let before = from.len();
        let Ok(message) = Message::read(&mut from) else { break };
        assert!(from.len() < before && before - from.len() <= MAX_FRAME + 4);
        let frame = message.to_frame();
        assert_eq!(Message::read(&mut &frame[..]).unwrap(), message, "written otherwise than read");
        take_in(&slot, &mut coming, message);
    }
}

/// As a process that serves takes it in.
fn take_in(slot: &IndexSlot, coming: &mut Vec<MempoolDelta>, message: Message) {
    match message {
        Message::Tip { height, hash } => slot.publish_tip(Some((height, hash))),
        Message::Events(seq) => slot.publish_events(seq),
        Message::Best(best) => slot.publish_best_height(best),
        Message::Source(status) => slot.publish_source(&status),
        Message::Prices(quotes) => {
            slot.publish_live_quotes(&quotes);
            assert_eq!(slot.live_quotes()[..], quotes[..]);
        }
        Message::Troubles(troubles) => {
            slot.publish_troubles(&troubles);
            assert_eq!(slot.troubles()[..], troubles[..]);
        }
        Message::Hello { .. } => {}
        Message::Mempool { deltas, complete } => {
            let again = mempool_messages(&deltas);
            let joined: Vec<MempoolDelta> = again.into_iter().flat_map(of_the_mempool).collect();
            assert_eq!(joined, deltas, "pieces are not the whole");
            coming.extend(deltas);
            if complete {
                slot.publish_mempool(&std::mem::take(coming));
                slot.mempool().refresh();
                let (pinned, kept) = (slot.mempool().pin(), slot.mempool().snapshot());
                let _ = (pinned.version(), slot.mempool().stats());
                // A reader that comes later gets the same.
                let late = IndexSlot::new();
                late.publish_mempool(&kept);
                assert_eq!(late.mempool().snapshot(), kept, "a late reader has another mempool");
            }
        }
    }
}

fn of_the_mempool(message: Message) -> Vec<MempoolDelta> {
    match message {
        Message::Mempool { deltas, .. } => deltas,
        other => panic!("a piece of a step is {other:?}"),
    }
}
