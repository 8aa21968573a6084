//! A long list that grows without being copied.

use std::ops::{Index, IndexMut};

/// Items of a segment, as a power of two.
const SEGMENT: u32 = 14;

/// Items by number. They never move. A growing `Vec` temporarily needs two or three times the memory of its items, for
/// the old and the new ones.
pub(crate) struct Segments<T>(Vec<Vec<T>>);

impl<T> Segments<T> {
    pub(crate) fn new() -> Self {
        Segments(Vec::new())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.last().map_or(0, |last| ((self.0.len() - 1) << SEGMENT) + last.len())
    }

    pub(crate) fn push(&mut self, item: T) {
        match self.0.last_mut() {
            Some(last) if last.len() < 1 << SEGMENT => last.push(item),
            _ => {
                let mut segment = Vec::with_capacity(1 << SEGMENT);
                segment.push(item);
                self.0.push(segment);
            }
        }
    }

    /// Its memory in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.0.len() * ((size_of::<T>() << SEGMENT) + size_of::<Vec<T>>())
    }
}

impl<T> Index<u32> for Segments<T> {
    type Output = T;

    fn index(&self, number: u32) -> &T {
        &self.0[(number >> SEGMENT) as usize][(number & ((1 << SEGMENT) - 1)) as usize]
    }
}

impl<T> IndexMut<u32> for Segments<T> {
    fn index_mut(&mut self, number: u32) -> &mut T {
        &mut self.0[(number >> SEGMENT) as usize][(number & ((1 << SEGMENT) - 1)) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_keep_their_numbers() {
        let mut items = Segments::new();
        assert_eq!((items.len(), items.memory()), (0, 0));
        for n in 0..40_000u32 {
            items.push(n);
            assert_eq!(items.len(), n as usize + 1);
        }
        items[20_000] = 7;
        assert!((0..40_000).all(|n| items[n] == if n == 20_000 { 7 } else { n }));
        assert!((40_000 * 4..4 << 16).contains(&items.memory()));
    }
}
