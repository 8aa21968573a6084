//! Deltas that are sums, added up in memory by key.

use std::collections::BTreeMap;

use cairn_stages::{Delta, FoldDirection, StageError};
use cairn_tables::{ValueCodec, codec::Input, sums::Sums};

#[derive(Default)]
pub(crate) struct SumsByKey {
    sums: BTreeMap<Vec<u8>, Sums>,
    /// Sums other than zero, of all keys together.
    held: usize,
}

fn decoded(lane: &'static str, bytes: &[u8]) -> Result<Sums, StageError> {
    let mut input = Input::new(lane, bytes);
    let sums = Sums::decode(&mut input)?;
    input.finish()?;
    Ok(sums)
}

fn encoded(sums: &Sums) -> Vec<u8> {
    let mut out = Vec::new();
    sums.encode(&mut out);
    out
}

impl SumsByKey {
    pub(crate) fn add(&mut self, lane: &'static str, key: &[u8], value: &[u8]) -> Result<(), StageError> {
        let sums = decoded(lane, value)?;
        match self.sums.get_mut(key) {
            Some(known) => {
                self.held -= known.len();
                let added = known.add_all(&sums);
                self.held += known.len();
                added?;
            }
            None => {
                self.held += sums.len();
                self.sums.insert(key.to_vec(), sums);
            }
        }
        Ok(())
    }

    /// How many numbers are held.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// Keys and sums other than zero, ascending, as deltas.
    pub(crate) fn rows(self) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
        self.sums.into_iter().filter(|(_, sums)| !sums.is_zero()).map(|(key, sums)| (key, encoded(&sums)))
    }
}

/// The row of a key after its deltas: those of one group. `prior` is the row before. `None` if the sums are zero.
pub(crate) fn row_of(
    lane: &'static str,
    group: &[Delta<'_>],
    direction: FoldDirection,
    prior: Option<&[u8]>,
) -> Result<Option<Vec<u8>>, StageError> {
    let mut sums = Sums::default();
    for delta in group {
        sums.add_all(&decoded(lane, delta.value)?)?;
    }
    if direction == FoldDirection::Back {
        sums = sums.negated()?;
    }
    if let Some(prior) = prior {
        sums.add_all(&decoded(lane, prior)?)?;
    }
    Ok((!sums.is_zero()).then(|| encoded(&sums)))
}
