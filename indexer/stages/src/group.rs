//! A group of deltas, as folds and listeners get it. It is decoded once for all of them.

use std::{
    any::Any,
    cell::{Cell, OnceCell},
    ops::Deref,
};

use crate::deltas::{Delta, StageError};

/// Memory for what is read of one group after the other.
#[derive(Default)]
pub struct Reading(Cell<Option<Box<dyn Any>>>);

/// Deltas whose keys share the lane's `group_len` bytes, sorted by key and then by value. Never empty.
pub struct Group<'g> {
    deltas: &'g [Delta<'g>],
    memory: &'g Reading,
    read: OnceCell<Box<dyn Any>>,
}

impl<'g> Group<'g> {
    /// These deltas, of which nothing is read yet.
    #[must_use]
    #[inline]
    pub fn new(deltas: &'g [Delta<'g>], memory: &'g Reading) -> Self {
        Group { deltas, memory, read: OnceCell::new() }
    }

    /// Returns the decoded group: `read` decodes the deltas once for all callers. It gets a value to fill, perhaps that
    /// of an earlier group, so that it can use the memory again. All callers must read groups of a lane as the same
    /// type.
    pub fn read_as<T: Default + 'static>(
        &self,
        read: impl FnOnce(&[Delta<'_>], &mut T) -> Result<(), StageError>,
    ) -> Result<&T, StageError> {
        if self.read.get().is_none() {
            let earlier = self.memory.0.take().and_then(|earlier| earlier.downcast::<T>().ok());
            let mut value = earlier.unwrap_or_default();
            read(self.deltas, &mut value)?;
            self.read.get_or_init(|| value);
        }
        let value = self.read.get().and_then(|value| value.downcast_ref::<T>());
        value.ok_or(StageError::Contradiction { stage: "groups", what: "a group is read as two types" })
    }
}

impl<'g> Deref for Group<'g> {
    type Target = [Delta<'g>];

    #[inline]
    fn deref(&self) -> &Self::Target {
        self.deltas
    }
}

impl Drop for Group<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(read) = self.read.take() {
            self.memory.0.set(Some(read));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_read_once_and_its_memory_used_again() {
        let (memory, reads) = (Reading::default(), Cell::new(0));
        let fill = |deltas: &[Delta<'_>], list: &mut Vec<u8>| {
            reads.set(reads.get() + 1);
            list.clear();
            list.extend(deltas.iter().map(|delta| delta.key[0]));
            Ok(())
        };
        let first = [Delta { key: &[1], value: &[] }, Delta { key: &[2], value: &[] }];
        let group = Group::new(&first, &memory);
        let at = group.read_as(fill).unwrap().as_ptr();
        assert_eq!((group.read_as(fill).unwrap(), reads.get()), (&vec![1, 2], 1));
        assert!(group.read_as(|_, _: &mut u8| Ok(())).is_err(), "another type");
        drop(group);
        let second = [Delta { key: &[3], value: &[] }];
        let group = Group::new(&second, &memory);
        let read = group.read_as(fill).unwrap();
        assert_eq!((read, read.as_ptr(), reads.get()), (&vec![3], at, 2));
        // A group that could not be read is read again by the next caller.
        let third = Group::new(&second, &memory);
        let broken =
            |_: &[Delta<'_>], _: &mut Vec<u8>| Err(StageError::Contradiction { stage: "groups", what: "damaged" });
        assert!(third.read_as(broken).is_err());
        assert_eq!(third.read_as(fill).unwrap(), &vec![3]);
    }
}
