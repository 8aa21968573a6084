//! Transactions.

mod io;
pub(crate) mod lookup;
pub(crate) mod op_return;
pub(crate) mod status;

use cairn_reader::StoredTx;

use crate::{context::Ctx, error::ApiError, identifiers::TxidParam};

/// The confirmed transaction of that id.
fn find(ctx: &Ctx<'_>, txid: TxidParam) -> Result<StoredTx, ApiError> {
    let found = ctx.view()?.tx_by_id(&txid.0)?;
    found.ok_or_else(|| ctx.missing("tx_not_found", format!("no block of the index holds transaction {}", txid.0)))
}
