//! Items without repetition.

/// The items in ascending order, each once.
#[must_use]
pub fn each_once<T: Ord>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.into_iter().collect();
    items.sort_unstable();
    items.dedup();
    items
}
