//! Walks along the links between transactions, up to a limit.

use std::collections::HashSet;

use super::{entry::GraphEntry, shared::Slots};

#[derive(Clone, Copy)]
pub(super) enum WalkDirection {
    Up,
    Down,
}

pub(super) fn neighbours(slots: &Slots<GraphEntry>, slot: u32, direction: WalkDirection) -> &[u32] {
    let Some(entry) = slots.get(slot) else { return &[] };
    match direction {
        WalkDirection::Up => &entry.parents,
        WalkDirection::Down => &entry.children,
    }
}

/// All reachable transactions without the start, and true if the limit ended the walk.
pub(super) fn walk(slots: &Slots<GraphEntry>, from: &[u32], direction: WalkDirection, max: usize) -> (Vec<u32>, bool) {
    let mut seen: HashSet<u32> = from.iter().copied().collect();
    let mut queue = from.to_vec();
    let mut at = 0;
    while let Some(slot) = queue.get(at).copied() {
        at += 1;
        for next in neighbours(slots, slot, direction) {
            if seen.insert(*next) {
                if queue.len() == max.saturating_add(from.len()) {
                    return (queue.split_off(from.len()), true);
                }
                queue.push(*next);
            }
        }
    }
    (queue.split_off(from.len()), false)
}
