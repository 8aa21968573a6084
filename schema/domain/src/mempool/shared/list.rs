//! A sorted list as pages, each as large as its entries: a change copies a page, and the list of pages if a clone has
//! it.

use std::sync::Arc;

/// Maximum number of entries of a page.
const PAGE: usize = 128;

/// A list sorted by key whose clones share its pages. No page is empty.
#[derive(Clone, Debug)]
pub(crate) struct SortedList<K, V> {
    pages: Vec<Arc<[(K, V)]>>,
}

impl<K, V> Default for SortedList<K, V> {
    fn default() -> Self {
        SortedList { pages: Vec::new() }
    }
}

impl<K: Copy + Ord, V: Copy> SortedList<K, V> {
    pub(crate) fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// The page that has a key if any has: the first whose last key is not below.
    fn page_of(&self, key: &K) -> usize {
        self.pages.partition_point(|page| page.last().is_some_and(|(last, _)| last < key))
    }

    /// Adds an entry. Returns false, and changes nothing, if the key is there.
    pub(crate) fn insert(&mut self, key: K, value: V) -> bool {
        // Above all keys: the last page grows.
        let last = self.pages.len().saturating_sub(1);
        let at = self.page_of(&key).min(last);
        let Some(page) = self.pages.get_mut(at) else {
            self.pages.push([(key, value)].into());
            return true;
        };
        let Err(place) = page.binary_search_by(|(of, _)| of.cmp(&key)) else { return false };
        if page.len() == PAGE && place == PAGE && at == last {
            // Keys that ascend fill their pages.
            self.pages.push([(key, value)].into());
            return true;
        }
        let (before, after) = page.split_at(place);
        let entries = before.iter().copied().chain([(key, value)]).chain(after.iter().copied());
        if page.len() < PAGE {
            *page = entries.collect();
        } else {
            let entries: Vec<(K, V)> = entries.collect();
            let (first, second) = entries.split_at(PAGE / 2);
            *page = first.into();
            self.pages.insert(at + 1, second.into());
        }
        true
    }

    /// Removes an entry. Returns false if it was not there.
    pub(crate) fn remove(&mut self, key: &K) -> bool {
        let at = self.page_of(key);
        let Some(page) = self.pages.get_mut(at) else { return false };
        let Ok(place) = page.binary_search_by(|(of, _)| of.cmp(key)) else { return false };
        if page.len() == 1 {
            self.pages.remove(at);
        } else {
            *page = page.iter().enumerate().filter(|(of, _)| *of != place).map(|(_, entry)| *entry).collect();
            self.merge(at);
        }
        true
    }

    /// Joins a page and the next one if both are small, so that pages do not get ever smaller.
    fn merge(&mut self, at: usize) {
        let [first, second, ..] = self.pages.get_mut(at..).unwrap_or_default() else { return };
        if first.len() + second.len() <= PAGE / 2 {
            *first = first.iter().chain(second.iter()).copied().collect();
            self.pages.remove(at + 1);
        }
    }

    /// The entries below `before`, or all of them, from the last to the first.
    pub(crate) fn descending(&self, before: Option<K>) -> impl Iterator<Item = &(K, V)> {
        let end = before.as_ref().map_or(self.pages.len(), |before| (self.page_of(before) + 1).min(self.pages.len()));
        let entries = self.pages.get(..end).unwrap_or_default().iter().rev().flat_map(|page| page.iter().rev());
        entries.skip_while(move |(key, _)| before.is_some_and(|before| *key >= before))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn listed(list: &SortedList<u16, u32>, before: Option<u16>) -> Vec<(u16, u32)> {
        list.descending(before).copied().collect()
    }

    fn right_of(right: &BTreeMap<u16, u32>, before: Option<u16>) -> Vec<(u16, u32)> {
        let below = |key: &u16| before.is_none_or(|before| *key < before);
        right.iter().rev().filter(|(key, _)| below(key)).map(|(key, value)| (*key, *value)).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn clones_stay_what_they_were(
            steps in vec((0u8..10, 0u16..1_500, any::<u32>()), 1..3_000),
            ends in vec(0u16..1_500, 10),
        ) {
            let (mut list, mut right, mut kept) = (SortedList::default(), BTreeMap::new(), Vec::new());
            for (kind, key, value) in steps {
                match kind {
                    0..6 => {
                        let added = !right.contains_key(&key);
                        right.entry(key).or_insert(value);
                        prop_assert_eq!(list.insert(key, value), added);
                    }
                    6..9 => prop_assert_eq!(list.remove(&key), right.remove(&key).is_some()),
                    _ if kept.len() < 20 => kept.push((list.clone(), right.clone())),
                    _ => {}
                }
            }
            kept.push((list, right));
            for (list, right) in &kept {
                prop_assert_eq!(list.is_empty(), right.is_empty());
                prop_assert_eq!(listed(list, None), right_of(right, None));
                for end in &ends {
                    prop_assert_eq!(listed(list, Some(*end)), right_of(right, Some(*end)));
                }
                prop_assert!(list.pages.iter().all(|page| !page.is_empty() && page.len() <= PAGE));
            }
        }
    }
}
