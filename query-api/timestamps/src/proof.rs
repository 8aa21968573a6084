//! A proof in memory.

use crate::{
    attestation::Attestation,
    operation::{HashFunction, Operation},
};

/// A proof: the hash of a file, and all that follows from it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proof {
    pub(crate) function: HashFunction,
    pub(crate) file_hash: Vec<u8>,
    /// All that follows from the hash.
    pub(crate) root: Step,
}

/// All that follows from a message: its attestations, and the operations on it. At least one of both.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Step {
    /// Attestations of the message, in the order of the format, each once.
    pub(crate) attestations: Vec<Attestation>,
    /// Operations on the message, in the order of the format.
    pub(crate) branches: Vec<Branch>,
}

/// An operation on a message, and what follows from the result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Branch {
    pub(crate) operation: Operation,
    /// The step that continues with the operation's result.
    pub(crate) next: Step,
}

impl Proof {
    /// The function that made the hash of the file.
    #[must_use]
    pub fn function(&self) -> HashFunction {
        self.function
    }

    /// The hash of the file.
    #[must_use]
    pub fn file_hash(&self) -> &[u8] {
        &self.file_hash
    }

    /// All that follows from the hash.
    #[must_use]
    pub fn root(&self) -> &Step {
        &self.root
    }

    /// Calls `visit` with each attestation and the message that it attests, in the order of the format. The work is
    /// bounded: reading has added up the lengths of all messages.
    ///
    /// # Errors
    /// Fails with the first error of `visit`.
    pub fn attested<E>(&self, mut visit: impl FnMut(&Attestation, &[u8]) -> Result<(), E>) -> Result<(), E> {
        self.root.attested(&self.file_hash, &mut visit)
    }
}

impl Step {
    /// Attestations of the message.
    #[must_use]
    pub fn attestations(&self) -> &[Attestation] {
        &self.attestations
    }

    /// Operations on the message.
    #[must_use]
    pub fn branches(&self) -> &[Branch] {
        &self.branches
    }

    /// The recursion is at most [`crate::MAX_DEPTH`] deep.
    fn attested<E>(
        &self,
        message: &[u8],
        visit: &mut impl FnMut(&Attestation, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        for attestation in &self.attestations {
            visit(attestation, message)?;
        }
        for branch in &self.branches {
            branch.next.attested(&branch.operation.apply(message), visit)?;
        }
        Ok(())
    }
}

impl Branch {
    /// The operation.
    #[must_use]
    pub fn operation(&self) -> &Operation {
        &self.operation
    }

    /// All that follows from its result.
    #[must_use]
    pub fn next(&self) -> &Step {
        &self.next
    }
}
