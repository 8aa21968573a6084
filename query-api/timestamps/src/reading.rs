//! Reads proofs.

use crate::{
    attestation::Attestation,
    encoding::{ATTESTATION, FORK, Fault, Input, MAGIC, VERSION},
    flaw::{Flaw, ProofError},
    limits::{MAX_BYTES, MAX_DEPTH, MAX_MESSAGE_BYTES, MAX_OPERATIONS, MAX_PAYLOAD_BYTES, MAX_WORK_BYTES},
    operation::{APPEND, HEXLIFY, HashFunction, Operation, PREPEND, REVERSE},
    proof::{Branch, Proof, Step},
};

impl Proof {
    /// Reads the bytes of a file `*.ots`. Computes no hashes.
    ///
    /// # Errors
    /// Fails at the first byte that no proof has there, or at which the proof exceeds a limit of this crate.
    pub fn read(bytes: &[u8]) -> Result<Self, ProofError> {
        proof(bytes).map_err(|(offset, flaw)| ProofError { offset, flaw })
    }
}

impl Step {
    /// Reads a step as calendars send it, that follows from a message of this length. Computes no hashes.
    ///
    /// # Errors
    /// Fails as [`Proof::read`] does.
    pub fn read(bytes: &[u8], message_length: usize) -> Result<Self, ProofError> {
        let read = || {
            if bytes.len() > MAX_BYTES {
                return Err((MAX_BYTES, Flaw::Size));
            }
            let mut reading = Reading { input: Input { bytes, at: 0 }, operations: 0, work: 0 };
            let step = reading.step(message_length, 0)?;
            reading.input.end(Flaw::Rest).map(|()| step)
        };
        read().map_err(|(offset, flaw)| ProofError { offset, flaw })
    }
}

fn proof(bytes: &[u8]) -> Result<Proof, Fault> {
    let mut input = Input { bytes, at: 0 };
    // A large file of another kind is refused for its beginning, not for its size.
    match bytes.get(..MAGIC.len()) {
        Some(start) if start == MAGIC => input.at = MAGIC.len(),
        None if !bytes.is_empty() && MAGIC.starts_with(bytes) => return Err((bytes.len(), Flaw::End)),
        _ => {
            let offset = bytes.iter().zip(MAGIC).take_while(|(have, want)| have == want).count();
            return Err((offset, Flaw::Magic));
        }
    }
    if bytes.len() > MAX_BYTES {
        return Err((MAX_BYTES, Flaw::Size));
    }
    let at = input.at;
    if input.number()? != VERSION {
        return Err((at, Flaw::Version));
    }
    let at = input.at;
    let byte = input.byte()?;
    let function = HashFunction::from_byte(byte).ok_or((at, Flaw::FileHash(byte)))?;
    let file_hash = input.take(function.length())?.to_vec();
    let mut reading = Reading { input, operations: 0, work: 0 };
    let root = reading.step(file_hash.len(), 0)?;
    reading.input.end(Flaw::Rest)?;
    Ok(Proof { function, file_hash, root })
}

struct Reading<'b> {
    input: Input<'b>,
    /// Number of operations so far.
    operations: usize,
    /// Bytes that they read and write.
    work: usize,
}

impl Reading<'_> {
    /// Reads what follows from a message of this length. The recursion is at most [`MAX_DEPTH`] deep.
    fn step(&mut self, message: usize, depth: usize) -> Result<Step, Fault> {
        let mut step = Step::default();
        loop {
            let at = self.input.at;
            match self.input.byte()? {
                FORK => {
                    let at = self.input.at;
                    let byte = self.input.byte()?;
                    self.part(&mut step, (at, byte), message, depth)?;
                }
                byte => {
                    self.part(&mut step, (at, byte), message, depth)?;
                    break;
                }
            }
        }
        step.attestations.sort();
        step.attestations.dedup();
        step.branches.sort_by(|one, other| one.operation.cmp(&other.operation));
        Ok(step)
    }

    /// Reads one attestation or operation, which begins with this byte.
    fn part(&mut self, step: &mut Step, (at, byte): (usize, u8), message: usize, depth: usize) -> Result<(), Fault> {
        if byte == ATTESTATION {
            let attestation = self.attestation()?;
            push(&mut step.attestations, attestation);
            return Ok(());
        }
        let operation = self.operation(at, byte)?;
        let length = operation.result_length(message);
        self.operations += 1;
        self.work += message + length;
        if length > MAX_MESSAGE_BYTES {
            return Err((at, Flaw::Message));
        }
        if self.operations > MAX_OPERATIONS {
            return Err((at, Flaw::Operations));
        }
        if self.work > MAX_WORK_BYTES {
            return Err((at, Flaw::Work));
        }
        if depth == MAX_DEPTH {
            return Err((at, Flaw::Depth));
        }
        let next = self.step(length, depth + 1)?;
        push(&mut step.branches, Branch { operation, next });
        Ok(())
    }

    fn operation(&mut self, at: usize, byte: u8) -> Result<Operation, Fault> {
        Ok(match byte {
            APPEND => Operation::Append(self.argument()?),
            PREPEND => Operation::Prepend(self.argument()?),
            REVERSE => Operation::Reverse,
            HEXLIFY => Operation::Hexlify,
            _ => Operation::Hash(HashFunction::from_byte(byte).ok_or((at, Flaw::Operation(byte)))?),
        })
    }

    fn argument(&mut self) -> Result<Vec<u8>, Fault> {
        let at = self.input.at;
        match self.input.bytes(MAX_MESSAGE_BYTES, Flaw::Argument)? {
            [] => Err((at, Flaw::Argument)),
            argument => Ok(argument.to_vec()),
        }
    }

    fn attestation(&mut self) -> Result<Attestation, Fault> {
        let mut tag = [0u8; 8];
        tag.copy_from_slice(self.input.take(8)?);
        let payload = self.input.bytes(MAX_PAYLOAD_BYTES, Flaw::Payload)?;
        let from = self.input.at - payload.len();
        // Offsets are those of the whole file.
        let mut payload = Input { bytes: &self.input.bytes[..self.input.at], at: from };
        Attestation::read(tag, &mut payload)
    }
}

/// Adds an item to a list. Most lists have one: room for four, as lists begin with, would be most of a proof's memory.
fn push<T>(list: &mut Vec<T>, item: T) {
    if list.is_empty() {
        list.reserve_exact(1);
    }
    list.push(item);
}
