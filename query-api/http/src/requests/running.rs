//! Running work, of operations and of other protocols: its panics, and its cost at the end.

use std::any::Any;

use cairn_work::Work;

use crate::{answers::error::ApiError, contract::cost::Cost, limits::client::Client, server::Server};

/// A panic of work: 500, and the reason in the log.
pub(super) fn panicked(panic: &(dyn Any + Send)) -> ApiError {
    let error = panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str));
    tracing::error!(error = error.unwrap_or_default(), "an operation panicked");
    ApiError::internal()
}

/// Charges the units that a request has used beyond its deposit, even if it failed.
pub(super) struct ExtraCharge<'s> {
    pub(super) server: &'s Server,
    pub(super) client: Option<&'s Client>,
    pub(super) cost: Cost,
    pub(super) work: &'s Work,
}

impl Drop for ExtraCharge<'_> {
    fn drop(&mut self) {
        let used = self.work.used();
        let rest = Cost::units_of(&used).saturating_sub(self.cost.units());
        if let Some(client) = self.client.filter(|_| rest > 0) {
            self.server.budgets.owe(client, rest);
        }
    }
}
