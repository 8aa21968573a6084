//! Timestamps: hashes that are anchored in the chain, and proofs that a file existed before a block.

mod anchoring;
mod attested;
pub(crate) mod calendar;
mod hash_param;
mod input;
mod record;
mod whole;

crate::area::area! {
    submit::SubmitTimestamp,
    quote::TimestampQuote,
    status::TimestampStatus,
    proof::TimestampProof,
    verify::VerifyTimestamp,
}

pub(crate) use hash_param::SHA256;
pub(crate) use input::FILE_HASH;
