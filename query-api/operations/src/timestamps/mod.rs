//! Timestamps: proofs that a file existed before a block.

mod attested;
mod input;

crate::area::area! {
    verify::VerifyTimestamp,
}

pub(crate) use input::FILE_HASH;
