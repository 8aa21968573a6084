//! Random numbers of the operating system.

use crate::StateError;

pub(crate) fn random<const BYTES: usize>() -> Result<[u8; BYTES], StateError> {
    let mut random = [0u8; BYTES];
    getrandom::fill(&mut random).map_err(|error| StateError::Random(error.to_string()))?;
    Ok(random)
}
