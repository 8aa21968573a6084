//! A hash map as a tree: branches of eight by three bits of the hash, and leaves of a few entries.
//!
//! Few children keep the copy of a way short: a copied branch touches the reference counts of all its children. The
//! hash has a random key, so that no sender of deltas can choose which leaf an entry gets into.

use std::{
    hash::{BuildHasher, Hash, RandomState},
    mem,
    sync::Arc,
};

/// Bits of the hash that select a child.
const BITS: u32 = 3;
const WIDTH: usize = 1 << BITS;
/// Maximum number of entries of a leaf. With more, it becomes a branch.
const LEAF: usize = 16;
/// A branch whose leaves have no more entries than this becomes a leaf.
const MERGED: usize = LEAF / 2;

#[derive(Debug)]
enum Node<K, V> {
    Empty,
    Leaf(Arc<[(K, V)]>),
    Branch(Arc<[Node<K, V>; WIDTH]>),
}

impl<K, V> Clone for Node<K, V> {
    fn clone(&self) -> Self {
        match self {
            Node::Empty => Node::Empty,
            Node::Leaf(entries) => Node::Leaf(Arc::clone(entries)),
            Node::Branch(children) => Node::Branch(Arc::clone(children)),
        }
    }
}

/// Upper estimate of the bytes of an entry: leaves are at least one eighth full after a split, on average half.
pub(crate) const fn entry_bytes<K, V>() -> usize {
    size_of::<(K, V)>() + (size_of::<Node<K, V>>() * 2 + 3 * size_of::<usize>()) / 4 + 8
}

/// A map whose clones share their entries.
#[derive(Debug)]
pub(crate) struct SharedMap<K, V> {
    root: Node<K, V>,
    len: usize,
    random: RandomState,
}

impl<K, V> Default for SharedMap<K, V> {
    fn default() -> Self {
        SharedMap { root: Node::Empty, len: 0, random: RandomState::new() }
    }
}

impl<K, V> Clone for SharedMap<K, V> {
    fn clone(&self) -> Self {
        SharedMap { root: self.root.clone(), len: self.len, random: self.random.clone() }
    }
}

/// Place of the child for a hash; the bits that are used up are shifted out on the way down.
fn child(hash: u64) -> usize {
    // Three bits fit anywhere.
    (hash & (WIDTH as u64 - 1)) as usize
}

impl<K, V> SharedMap<K, V> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<K: Clone + Eq + Hash, V: Clone> SharedMap<K, V> {
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        let mut hash = self.random.hash_one(key);
        let mut node = &self.root;
        loop {
            match node {
                Node::Empty => return None,
                Node::Leaf(entries) => return entries.iter().find(|(of, _)| of == key).map(|(_, value)| value),
                Node::Branch(children) => node = children.get(child(hash))?,
            }
            hash >>= BITS;
        }
    }

    pub(crate) fn contains_key(&self, key: &K) -> bool {
        self.get(key).is_some()
    }

    /// The value, to change it. Shared parts of a clone are copied, so ask only for a value that exists and will
    /// change.
    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        if !self.contains_key(key) {
            return None;
        }
        let mut hash = self.random.hash_one(key);
        let mut node = &mut self.root;
        loop {
            match node {
                Node::Empty => return None,
                Node::Leaf(entries) => {
                    return Arc::make_mut(entries).iter_mut().find(|(of, _)| of == key).map(|(_, value)| value);
                }
                Node::Branch(children) => node = Arc::make_mut(children).get_mut(child(hash))?,
            }
            hash >>= BITS;
        }
    }

    /// Sets the value of a key. Returns the previous one.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        let hash = self.random.hash_one(&key);
        let before = put(&mut self.root, &self.random, (hash, 0), key, value);
        self.len += usize::from(before.is_none());
        before
    }

    /// Removes a key. Returns its value.
    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        if !self.contains_key(key) {
            return None;
        }
        let removed = take(&mut self.root, self.random.hash_one(key), key);
        self.len -= usize::from(removed.is_some());
        removed
    }
}

/// `at` is the rest of the hash and the number of its bits that are used up.
fn put<K: Clone + Eq + Hash, V: Clone>(
    node: &mut Node<K, V>,
    random: &RandomState,
    at: (u64, u32),
    key: K,
    value: V,
) -> Option<V> {
    let (hash, used) = at;
    match node {
        Node::Empty => {
            *node = Node::Leaf(Arc::from([(key, value)]));
            None
        }
        Node::Branch(children) => {
            let place = Arc::make_mut(children).get_mut(child(hash))?;
            put(place, random, (hash >> BITS, used + BITS), key, value)
        }
        Node::Leaf(entries) => {
            if let Some(at) = entries.iter().position(|(of, _)| *of == key) {
                let place = Arc::make_mut(entries).get_mut(at)?;
                return Some(mem::replace(&mut place.1, value));
            }
            // With all bits used up, the hashes are equal: such a leaf grows.
            if entries.len() < LEAF || used + BITS > u64::BITS {
                *entries = entries.iter().cloned().chain([(key, value)]).collect();
                return None;
            }
            let mut parts: [Vec<(K, V)>; WIDTH] = std::array::from_fn(|_| Vec::new());
            for (of, value) in entries.iter() {
                let part = child(random.hash_one(of) >> used);
                parts[part].push((of.clone(), value.clone()));
            }
            let children = parts.map(|part| if part.is_empty() { Node::Empty } else { Node::Leaf(part.into()) });
            *node = Node::Branch(Arc::new(children));
            put(node, random, at, key, value)
        }
    }
}

fn take<K: Clone + Eq, V: Clone>(node: &mut Node<K, V>, hash: u64, key: &K) -> Option<V> {
    match node {
        Node::Empty => None,
        Node::Leaf(entries) => {
            let removed = entries.iter().find(|(of, _)| of == key).map(|(_, value)| value.clone())?;
            if entries.len() == 1 {
                *node = Node::Empty;
            } else {
                let rest: Vec<(K, V)> = entries.iter().filter(|(of, _)| of != key).cloned().collect();
                *entries = rest.into();
            }
            Some(removed)
        }
        Node::Branch(children) => {
            let children = Arc::make_mut(children);
            let removed = take(children.get_mut(child(hash))?, hash >> BITS, key)?;
            if let Some(merged) = merged(children) {
                *node = merged;
            }
            Some(removed)
        }
    }
}

/// The children as one node, if they are leaves with few entries.
fn merged<K: Clone, V: Clone>(children: &[Node<K, V>; WIDTH]) -> Option<Node<K, V>> {
    let mut count = 0;
    for node in children {
        match node {
            Node::Empty => {}
            Node::Leaf(entries) => count += entries.len(),
            Node::Branch(_) => return None,
        }
        if count > MERGED {
            return None;
        }
    }
    let mut all = Vec::with_capacity(count);
    for node in children {
        if let Node::Leaf(entries) = node {
            all.extend(entries.iter().cloned());
        }
    }
    Some(if all.is_empty() { Node::Empty } else { Node::Leaf(all.into()) })
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::{collection::vec, prelude::*};

    use super::*;

    /// A key of few different hashes.
    #[derive(Clone, PartialEq, Eq, Debug)]
    struct Colliding(u16);

    impl Hash for Colliding {
        fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
            (self.0 % 3).hash(state);
        }
    }

    fn same<K: Clone + Eq + Hash + std::fmt::Debug>(
        map: &SharedMap<K, u32>,
        right: &HashMap<u16, u32>,
        key: fn(u16) -> K,
    ) {
        assert_eq!((map.len(), map.is_empty()), (right.len(), right.is_empty()));
        for number in 0..400 {
            assert_eq!(map.get(&key(number)), right.get(&number));
        }
    }

    fn check<K: Clone + Eq + Hash + std::fmt::Debug>(steps: &[(u8, u16, u32)], key: fn(u16) -> K) {
        let (mut map, mut right) = (SharedMap::default(), HashMap::new());
        let mut kept = Vec::new();
        for (kind, number, value) in steps {
            match kind % 8 {
                0..4 => assert_eq!(map.insert(key(*number), *value), right.insert(*number, *value)),
                4..6 => assert_eq!(map.remove(&key(*number)), right.remove(number)),
                6 => {
                    let (found, wanted) = (map.get_mut(&key(*number)), right.get_mut(number));
                    assert_eq!(found, wanted);
                    if let Some((found, wanted)) = found.zip(wanted) {
                        (*found, *wanted) = (*value, *value);
                    }
                }
                _ => kept.push((map.clone(), right.clone())),
            }
        }
        same(&map, &right, key);
        for (map, right) in &kept {
            same(map, right, key);
        }
        for number in 0..400 {
            assert_eq!(map.remove(&key(number)), right.remove(&number));
        }
        assert!(map.is_empty() && matches!(map.root, Node::Empty), "nothing is left behind");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn clones_stay_what_they_were(steps in vec((any::<u8>(), 0u16..400, any::<u32>()), 1..1_200)) {
            check(&steps, |number| number);
            check(&steps, Colliding);
        }
    }
}
