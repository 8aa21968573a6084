//! The till of x402 payments of a server, and the work that finds out the outcomes of payments in the background.

use std::{sync::Arc, time::Duration};

use cairn_access::{Reconciled, X402Till};
use cairn_clock::now_secs;
use cairn_http::X402Gate;
use cairn_state::State;
use tokio::{runtime::Handle, task::spawn_blocking, time::sleep};

use crate::{
    config::{Access, x402_terms_failure},
    exit::Failure,
    holder::holder,
};

/// Interval at which the facilitator is asked about payments whose outcome is not known.
const PAUSE: Duration = Duration::from_secs(60);

/// Creates the till of a server; `None` if it sells no calls by x402.
///
/// # Errors
/// Fails if the settings give no terms.
pub(crate) fn till(access: &Access) -> Result<Option<Arc<X402Till>>, Failure> {
    if !access.mode().is_live() {
        if access.x402.gate() != X402Gate::Off {
            tracing::info!("the facilitator of x402 is not used: nothing is sold in access mode beta");
        }
        return Ok(None);
    }
    let Some((settings, facilitator)) = access.x402.seller()? else { return Ok(None) };
    let till = X402Till::new(settings, Arc::new(facilitator), holder()).map_err(x402_terms_failure)?;
    Ok(Some(Arc::new(till)))
}

/// Asks the facilitator whether it settles payments of these terms, and logs it. One that is away may come back.
pub(crate) fn introduce(till: Arc<X402Till>, gate: X402Gate, runtime: &Handle) {
    if gate == X402Gate::Closed {
        tracing::info!(
            "x402 payments are not settled (--x402-settlement closed): calls are offered without a way to pay by x402"
        );
    }
    // It ends with the time-out of the facilitator.
    runtime.spawn_blocking(move || match till.is_supported() {
        Ok(true) => tracing::info!("calls are sold by x402"),
        Ok(false) => tracing::error!(
            "no call can be paid by x402: the facilitator does not settle payments of the scheme exact on the chain of \
             --x402-network"
        ),
        Err(error) => {
            tracing::warn!(%error, "the facilitator does not answer; it is asked again when a payment comes");
        }
    });
}

/// Finds out the outcomes of payments again and again. Never ends by itself. Any number of processes may do so on one
/// database.
pub(crate) async fn reconcile(till: Arc<X402Till>, state: State) {
    loop {
        sleep(PAUSE).await;
        let (till, state, runtime) = (Arc::clone(&till), state.clone(), Handle::current());
        match spawn_blocking(move || till.reconcile(&state, &runtime, now_secs())).await {
            Ok(Ok(found)) if found == Reconciled::default() => {}
            Ok(Ok(Reconciled { settled, refused, open })) => {
                tracing::info!(settled, refused, open, "the facilitator was asked about x402 payments");
            }
            // The failure is logged where it happens.
            Ok(Err(_)) => {}
            Err(error) => tracing::error!(%error, "asking about x402 payments failed; this is a bug"),
        }
    }
}
