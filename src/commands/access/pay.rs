//! `cairn access pay`: the wallet of demos and tests on regtest.

use cairn_lightning::{BackendKind, PayError};
use cairn_model::Network;

use crate::{
    cli::AccessPay,
    exit::{Exit, Failure},
    lightning::{blocking, simulated},
    out::{print, time},
    with_state::with_state,
};

pub(super) fn pay(args: &AccessPay) -> Result<Exit, Failure> {
    if let Some(kind) = args.lightning.kind().filter(|kind| *kind != BackendKind::Simulated) {
        let message = format!("an invoice of {kind} cannot be paid here: Cairn has no wallet");
        return Err(Failure::usage(message)
            .hint("pay it with a Lightning wallet; this command pays invoices of --lightning simulated"));
    }
    let paid = with_state(&args.at.url()?, async |state| {
        // Only regtest has simulated invoices, whatever index is in the data folder.
        let node = simulated(Network::Regtest, state).await?;
        let invoice = args.invoice.clone();
        blocking(move || node.pay(&invoice)).await
    })?;
    match paid {
        Ok(preimage) => {
            print(&format!("{}\n", hex::encode(preimage.as_bytes())))?;
            Ok(Exit::Done)
        }
        Err(error) => Err(failure(&error)),
    }
}

fn failure(error: &PayError) -> Failure {
    match error {
        PayError::Expired(at) => {
            Failure::new(Exit::Other, format!("the invoice expired at {}; ask for a new one", time(*at)))
        }
        PayError::NotOurs => Failure::new(Exit::Other, error.to_string())
            .hint("name the database of the server that made it, with --datadir or --state-url"),
        PayError::AlreadyPaid | PayError::Store(_) => Failure::new(Exit::Other, error.to_string()),
    }
}
