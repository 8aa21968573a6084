//! Answers as of a height: what the chain was after the block there.

use crate::operation::prelude::*;

impl Ctx<'_> {
    /// The height that an answer is as of: the one that was asked for, or the tip's.
    ///
    /// # Errors
    /// Fails if the index is empty, or if the height is above the tip.
    pub(crate) fn as_of(&self, asked: Option<Height>) -> Result<Height, ApiError> {
        let tip = self.view()?.tip().height;
        match asked {
            Some(height) if height > tip => {
                let detail = format!("as_of is {height}, but the newest block has height {tip}");
                Err(self.missing(ErrorCode::BlockNotFound, detail))
            }
            asked => Ok(asked.unwrap_or(tip)),
        }
    }
}
