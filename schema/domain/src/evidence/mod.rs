//! Evidence packs: what their digest covers, and how it is checked. Nothing here needs an index.

mod canonical;
mod diff;
mod headers;
mod keys;
mod pack;
mod proofs;
mod signature;
mod verify;

pub use cairn_json::parse;
pub use canonical::{MAX_SAFE, canonical};
pub use diff::{Change, diff};
pub use headers::{BadHeaders, HeaderChain};
pub use keys::{KeyRecord, keys_document, read_keys};
pub use pack::{BadPack, FORMAT, OUTSIDE, covered, digest, digestible, signed_bytes};
pub use proofs::{MAX_PROVEN, Proven, check_proofs, named_txids};
pub use signature::{ALGORITHM, KeyError, PublicKey, SecretKey};
pub use verify::{Signed, Verdict, verify};
