//! A vector of numbered places. Finding a free place takes no search: free places form a list.

use std::{mem, sync::Arc};

/// Places of a page, and pages of a shelf.
const PAGE: usize = 32;
const SHELF: usize = 32;

#[derive(Debug)]
enum Slot<T> {
    Used(Arc<T>),
    Free(Option<u32>),
}

impl<T> Clone for Slot<T> {
    fn clone(&self) -> Self {
        match self {
            Slot::Used(item) => Slot::Used(Arc::clone(item)),
            Slot::Free(next) => Slot::Free(*next),
        }
    }
}

pub(crate) const fn place_bytes<T>() -> usize {
    size_of::<Slot<T>>()
}

type Page<T> = Vec<Slot<T>>;
type Shelf<T> = Vec<Arc<Page<T>>>;

/// Numbered places whose clones share their items.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    shelves: Arc<Vec<Arc<Shelf<T>>>>,
    /// Number of places, used or free.
    count: u32,
    free: Option<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Slots { shelves: Arc::default(), count: 0, free: None }
    }
}

impl<T> Clone for Slots<T> {
    fn clone(&self) -> Self {
        Slots { shelves: Arc::clone(&self.shelves), count: self.count, free: self.free }
    }
}

/// Shelf, page and place of a number.
fn way(slot: u32) -> (usize, usize, usize) {
    let slot = slot as usize;
    (slot / (PAGE * SHELF), slot / PAGE % SHELF, slot % PAGE)
}

/// True if both are the same in memory.
fn is_shared<T>(parts: [Option<&Arc<T>>; 2]) -> bool {
    matches!(parts, [Some(ours), Some(theirs)] if Arc::ptr_eq(ours, theirs))
}

impl<T> Slots<T> {
    pub(crate) fn get(&self, slot: u32) -> Option<&T> {
        let (shelf, page, place) = way(slot);
        match self.shelves.get(shelf)?.get(page)?.get(place)? {
            Slot::Used(item) => Some(item),
            Slot::Free(_) => None,
        }
    }

    /// True if no further item can be inserted.
    pub(crate) fn is_full(&self) -> bool {
        self.free.is_none() && self.count == u32::MAX
    }

    /// All items with their numbers, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let places = self.shelves.iter().flat_map(|shelf| shelf.iter()).flat_map(|page| page.iter());
        (0u32..).zip(places).filter_map(|(slot, place)| match place {
            Slot::Used(item) => Some((slot, &**item)),
            Slot::Free(_) => None,
        })
    }

    /// Visits the items of the places at which two have different items: ours, then theirs. Parts that both share are
    /// skipped.
    pub(crate) fn differences<'s>(&'s self, other: &'s Self, mut visit: impl FnMut(Option<&'s T>, Option<&'s T>)) {
        let (ours, theirs) = (&*self.shelves, &*other.shelves);
        for shelf in 0..ours.len().max(theirs.len()) {
            let shelves = [ours.get(shelf), theirs.get(shelf)];
            if is_shared(shelves) {
                continue;
            }
            let pages_of = |shelf: Option<&'s Arc<Shelf<T>>>| shelf.map_or(&[][..], |shelf| shelf.as_slice());
            let [ours, theirs] = shelves.map(pages_of);
            for page in 0..ours.len().max(theirs.len()) {
                let pages = [ours.get(page), theirs.get(page)];
                if is_shared(pages) {
                    continue;
                }
                let places_of = |page: Option<&'s Arc<Page<T>>>| page.map_or(&[][..], |page| page.as_slice());
                let [ours, theirs] = pages.map(places_of);
                for place in 0..ours.len().max(theirs.len()) {
                    let items = [ours.get(place), theirs.get(place)].map(|place| match place {
                        Some(Slot::Used(item)) => Some(item),
                        Some(Slot::Free(_)) | None => None,
                    });
                    if let [None, None] = items {
                        continue;
                    }
                    if !is_shared(items) {
                        let [ours, theirs] = items.map(|item| item.map(|item| &**item));
                        visit(ours, theirs);
                    }
                }
            }
        }
    }

    fn place_mut(&mut self, slot: u32) -> Option<&mut Slot<T>> {
        let (shelf, page, place) = way(slot);
        let shelf = Arc::make_mut(Arc::make_mut(&mut self.shelves).get_mut(shelf)?);
        Arc::make_mut(shelf.get_mut(page)?).get_mut(place)
    }

    /// Puts an item into a free place, and returns the number; `None` if it is full.
    pub(crate) fn insert(&mut self, item: T) -> Option<u32> {
        let item = Slot::Used(Arc::new(item));
        if let Some(slot) = self.free {
            let place = self.place_mut(slot)?;
            if let Slot::Free(next) = mem::replace(place, item) {
                self.free = next;
            }
            return Some(slot);
        }
        let slot = self.count;
        self.count = slot.checked_add(1)?;
        let shelves = Arc::make_mut(&mut self.shelves);
        let (shelf, page, _) = way(slot);
        if shelves.len() == shelf {
            shelves.push(Arc::default());
        }
        let pages = Arc::make_mut(shelves.get_mut(shelf)?);
        if pages.len() == page {
            pages.push(Arc::new(Vec::with_capacity(PAGE)));
        }
        Arc::make_mut(pages.get_mut(page)?).push(item);
        Some(slot)
    }

    pub(crate) fn remove(&mut self, slot: u32) -> Option<Arc<T>> {
        self.get(slot)?;
        let free = Slot::Free(self.free);
        match mem::replace(self.place_mut(slot)?, free) {
            Slot::Used(item) => {
                self.free = Some(slot);
                Some(item)
            }
            Slot::Free(_) => None,
        }
    }
}

impl<T: Clone> Slots<T> {
    /// An item, to change it. Shared parts of a clone are copied.
    pub(crate) fn get_mut(&mut self, slot: u32) -> Option<&mut T> {
        self.get(slot)?;
        match self.place_mut(slot)? {
            Slot::Used(item) => Some(Arc::make_mut(item)),
            Slot::Free(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn all(slots: &Slots<u32>) -> BTreeMap<u32, u32> {
        slots.iter().map(|(slot, item)| (slot, *item)).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn clones_stay_what_they_were(steps in vec((0u8..8, any::<prop::sample::Index>(), any::<u32>()), 1..3_000)) {
            let (mut slots, mut right) = (Slots::default(), BTreeMap::new());
            let (mut kept, mut most) = (Vec::new(), 0);
            for (kind, at, value) in steps {
                let taken: Vec<u32> = right.keys().copied().collect();
                match kind {
                    0..5 => {
                        let slot = slots.insert(value);
                        prop_assert!(slot.is_some_and(|slot| right.insert(slot, value).is_none()));
                        most = most.max(right.len());
                    }
                    5 if !taken.is_empty() => {
                        let slot = *at.get(&taken);
                        prop_assert_eq!(slots.remove(slot).as_deref().copied(), right.remove(&slot));
                        prop_assert_eq!(slots.remove(slot), None);
                    }
                    6 if !taken.is_empty() => {
                        let slot = *at.get(&taken);
                        if let Some(item) = slots.get_mut(slot) {
                            *item = value;
                        }
                        right.insert(slot, value);
                    }
                    _ if kept.len() < 20 => kept.push((slots.clone(), right.clone())),
                    _ => {}
                }
            }
            prop_assert_eq!(all(&slots), right);
            prop_assert_eq!(slots.count as usize, most, "free places are used first");
            for (slots, right) in kept {
                prop_assert_eq!(all(&slots), right);
            }
        }
    }
}
