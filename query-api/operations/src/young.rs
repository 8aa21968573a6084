//! Outputs of young coinbases, kept until the tip changes: they are the same for every wallet.

use std::sync::Arc;

use cairn_http::ApiError;
use cairn_model::BlockHash;
use cairn_reader::{Reader, View, YoungCoinbases};
use parking_lot::Mutex;

/// The outputs of the coinbases that are immature at a tip.
#[derive(Debug, Default)]
pub(crate) struct YoungSlot(Mutex<Option<(BlockHash, Arc<YoungCoinbases>)>>);

impl YoungSlot {
    /// At the tip of a view. The rows that it reads do not count as those of the request.
    pub(crate) fn of(&self, reader: Option<&Arc<Reader>>, view: &View<'_>) -> Result<Arc<YoungCoinbases>, ApiError> {
        let tip = view.tip().hash;
        if let Some((at, known)) = &*self.0.lock()
            && *at == tip
        {
            return Ok(Arc::clone(known));
        }
        let own = reader.map(|reader| reader.view()).transpose()?;
        let own = own.as_ref().filter(|own| own.tip().hash == tip);
        let known = Arc::new(own.unwrap_or(view).scripts().young_coinbases()?);
        *self.0.lock() = Some((tip, Arc::clone(&known)));
        Ok(known)
    }
}
