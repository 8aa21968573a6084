//! Data that the parts of an answer, and the addresses of a batch, share.

use cairn_http::ApiError;

use super::exposure::{moment::Moment, reader::ExposureReader};
use crate::{context::Ctx, wallets::claims::ClaimsCache};

/// Claims and transactions that were read. All of them are of now.
#[derive(Default)]
pub(crate) struct SharedReads<'r> {
    pub(super) claims: ClaimsCache,
    exposure: Option<ExposureReader<'r>>,
}

impl<'r> SharedReads<'r> {
    /// The reader of traces; it begins with the first call.
    pub(super) fn exposure(&mut self, ctx: &'r Ctx<'r>) -> Result<&mut ExposureReader<'r>, ApiError> {
        match &mut self.exposure {
            Some(reader) => Ok(reader),
            none => Ok(none.insert(ExposureReader::new(ctx, Moment::now(ctx)?)?)),
        }
    }
}
