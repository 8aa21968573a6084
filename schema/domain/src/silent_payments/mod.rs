//! Silent payments ([BIP 352](https://github.com/bitcoin/bips/blob/master/bip-0352.mediawiki)): the public tweak of a
//! transaction, from which a receiver's scan key finds the outputs that are paid to it.
//!
//! ```text
//! A           sum of the public keys of the inputs that have one (`SpentScript::public_key`)
//! input_hash  hash(smallest outpoint ‖ A), tagged BIP0352/Inputs
//! tweak       input_hash · A, the same for every receiver
//! P           spend key + hash(scan key · tweak ‖ 0, tagged BIP0352/SharedSecret) · G, an output of the transaction
//! ```
//!
//! The index keeps the tweaks; a wallet that scans by itself fetches them, and a wallet that lends its scan key to the
//! server has them searched (`Scanner`).

mod address;
mod curve;
mod input;
mod output;
mod scanner;
mod tweak;
mod unconfirmed;
#[cfg(test)]
mod vectors;

pub use self::{
    input::{KeyHash, SpentScript},
    output::{OutputPrefix, output_prefix},
    scanner::{MAX_LABELS, Scanner, ScannerError},
    tweak::tweak,
    unconfirmed::UnconfirmedTweak,
};
