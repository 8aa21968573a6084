//! The Lightning backend of a server and of `cairn access`. Simulated invoices are in the service state, so that all
//! processes on one database are one backend.

use std::{
    fmt,
    future::Future,
    sync::{Arc, OnceLock},
    time::Duration,
};

use cairn_access::LightningTill;
use cairn_http::{Till, X402Gate};
use cairn_lightning::{
    BackendError, BackendKind, Invoice, InvoiceState, InvoiceStore, Invoices, NewInvoice, NodeInfo, PaymentHash,
    Preimage, Secret, Simulated, StoreError, StoredInvoice,
};
use cairn_link::IndexSource;
use cairn_model::Network;
use cairn_operations::InvoiceAccess;
use cairn_state::{SimulatedInvoice, State, StateError};
use tokio::{runtime::Handle, task::spawn_blocking, time::timeout};

use crate::{
    config::{Access, Lightning, lightning_failure},
    exit::{Exit, Failure},
    holder::holder,
    pass_invoices::PassInvoices,
};

/// Timeout of a call of the database.
const PATIENCE: Duration = Duration::from_secs(2);
/// Name of the secret from which the key of the simulated node is derived.
const SECRET: &str = "simulated_lightning";

/// Keeps simulated invoices in the service state. Its methods block: call them on threads that may.
#[derive(Debug)]
struct StateInvoices {
    state: State,
    runtime: Handle,
}

impl StateInvoices {
    fn wait<T>(&self, work: impl Future<Output = Result<T, StateError>>) -> Result<T, StoreError> {
        // The timer is made within the runtime that drives it.
        match self.runtime.block_on(async { timeout(PATIENCE, work).await }) {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => {
                tracing::warn!(%error, "the store of simulated invoices failed");
                Err(StoreError::Failed(format!("the database: {}", error.brief())))
            }
            Err(_) => Err(StoreError::Failed(format!("no answer of the database within {} s", PATIENCE.as_secs()))),
        }
    }
}

impl InvoiceStore for StateInvoices {
    fn insert(&self, invoice: StoredInvoice) -> Result<(), StoreError> {
        let row = SimulatedInvoice {
            payment_hash: invoice.payment_hash.0,
            preimage: *invoice.preimage.as_bytes(),
            label: invoice.label,
            bolt11: invoice.bolt11,
            amount_sats: invoice.amount_sats,
            expires_at: invoice.expires_at,
            paid_at: invoice.paid_at,
        };
        if self.wait(self.state.add_simulated_invoice(&row))? { Ok(()) } else { Err(StoreError::Duplicate) }
    }

    fn get(&self, payment_hash: &PaymentHash) -> Result<Option<StoredInvoice>, StoreError> {
        let row = self.wait(self.state.simulated_invoice(&payment_hash.0))?;
        Ok(row.map(|row| StoredInvoice {
            payment_hash: PaymentHash(row.payment_hash),
            preimage: Preimage::new(row.preimage),
            label: row.label,
            bolt11: row.bolt11,
            amount_sats: row.amount_sats,
            expires_at: row.expires_at,
            paid_at: row.paid_at,
        }))
    }

    fn mark_paid(&self, payment_hash: &PaymentHash, paid_at: u64) -> Result<bool, StoreError> {
        self.wait(self.state.mark_simulated_invoice_paid(&payment_hash.0, paid_at))
    }
}

/// Creates the backend of simulated invoices. Its key is derived from a secret of the service state.
///
/// # Errors
/// Fails on every network but regtest.
pub(crate) async fn simulated(network: Network, state: &State) -> Result<Simulated, Failure> {
    let secret = state.service_secret(SECRET).await?;
    let key = Secret::new(secret.mac(&["key of the simulated node"]));
    let store = StateInvoices { state: state.clone(), runtime: Handle::current() };
    Simulated::new(network, &key, Arc::new(store)).map_err(lightning_failure)
}

/// Creates the backend of the settings. A daemon is not asked yet.
pub(crate) async fn backend(
    settings: &Lightning,
    kind: BackendKind,
    network: Network,
    state: &State,
) -> Result<Arc<dyn Invoices>, Failure> {
    if kind == BackendKind::Simulated {
        return Ok(Arc::new(simulated(network, state).await?));
    }
    let daemon = settings.daemon(kind, network)?.to_backend(None).map_err(lightning_failure)?;
    Ok(Arc::from(daemon))
}

/// Runs work that calls a backend on a thread that may block.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
    spawn_blocking(work)
        .await
        .map_err(|_| Failure::new(Exit::Other, "a call of the Lightning backend panicked; this is a bug"))
}

#[derive(Debug)]
pub(crate) struct LightningSales {
    /// Sells single calls.
    pub(crate) till: Arc<dyn Till>,
    /// Makes the invoices of passes.
    pub(crate) invoices: Arc<dyn InvoiceAccess>,
}

/// Creates what sells over Lightning; `None` if nothing is sold so. `network` is that of the index; if it is not given,
/// the index says it.
///
/// # Errors
/// Fails if the settings give no backend for the network, or if calls are sold without a service state.
pub(crate) async fn sales(
    access: &Access,
    state: Option<&State>,
    network: Option<Network>,
    index: &Arc<dyn IndexSource>,
) -> Result<Option<LightningSales>, Failure> {
    let (settings, kind) = (&access.lightning, access.lightning.kind());
    if !access.mode().is_live() {
        if let Some(kind) = kind {
            tracing::info!(
                lightning = kind.name(),
                "the Lightning node is not used: nothing is sold in access mode beta"
            );
        }
        return Ok(None);
    }
    let Some(state) = state else {
        let message = "--access-mode live needs a database for the service state, which has the payments";
        let hint = "name it with --state-url, CAIRN_STATE_URL or state_url, or give a data folder with --datadir";
        return Err(Failure::usage(message).hint(hint));
    };
    let Some(kind) = kind else {
        if access.x402.gate() != X402Gate::Open {
            tracing::warn!(
                "no call can be paid: calls are sold, and --lightning is not set. Only keys and sessions open them"
            );
        }
        return Ok(None);
    };
    let network = network.or_else(|| network_of(index.as_ref()));
    access.check(network)?;
    let runtime = Handle::current();
    let invoices: Arc<dyn Invoices> = match network {
        Some(network) => {
            let made = backend(settings, kind, network, state).await?;
            introduce(kind, Arc::clone(&made), &runtime);
            made
        }
        None => Arc::new(AwaitedBackend {
            settings: settings.clone(),
            kind,
            state: state.clone(),
            index: Arc::clone(index),
            runtime,
            made: OnceLock::new(),
        }),
    };
    Ok(Some(LightningSales {
        till: Arc::new(LightningTill::new(kind, Arc::clone(&invoices), holder())),
        invoices: Arc::new(PassInvoices::new(kind, invoices)),
    }))
}

fn network_of(index: &dyn IndexSource) -> Option<Network> {
    index.reader().map(|reader| reader.facts().network)
}

/// Asks the node who it is, and logs it. A node that is away may come back; one on another network is a mistake.
fn introduce(kind: BackendKind, invoices: Arc<dyn Invoices>, runtime: &Handle) {
    let lightning = kind.name();
    // It ends with the time-out of the node.
    runtime.spawn_blocking(move || match invoices.node() {
        Ok(NodeInfo { network, alias }) => {
            let alias = alias.unwrap_or_default();
            tracing::info!(lightning, %network, alias, "calls are sold over Lightning");
        }
        Err(error @ BackendError::WrongNetwork { .. }) => {
            tracing::error!(lightning, %error, "no invoice can be made: the Lightning node is on another network");
        }
        Err(error) => {
            tracing::warn!(lightning, %error, "the Lightning node does not answer; it is asked again when a call is sold");
        }
    });
}

/// The backend of a server whose index does not exist yet: the index decides the network.
struct AwaitedBackend {
    settings: Lightning,
    kind: BackendKind,
    state: State,
    index: Arc<dyn IndexSource>,
    runtime: Handle,
    made: OnceLock<Arc<dyn Invoices>>,
}

impl fmt::Debug for AwaitedBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AwaitedBackend").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl AwaitedBackend {
    /// Returns the backend; creates it once there is an index.
    fn made(&self) -> Result<&dyn Invoices, BackendError> {
        if let Some(made) = self.made.get() {
            return Ok(made.as_ref());
        }
        let away = |reason: String| BackendError::Unreachable {
            backend: self.kind.name(),
            url: self.settings.url().to_owned(),
            reason,
        };
        let network = network_of(self.index.as_ref()).ok_or_else(|| away("nothing is indexed yet".to_owned()))?;
        let made = self.runtime.block_on(backend(&self.settings, self.kind, network, &self.state));
        let made = made.map_err(|failure| away(failure.message))?;
        let first = self.made.get_or_init(|| {
            introduce(self.kind, Arc::clone(&made), &self.runtime);
            made
        });
        Ok(first.as_ref())
    }
}

impl Invoices for AwaitedBackend {
    fn create(&self, new: &NewInvoice) -> Result<Invoice, BackendError> {
        self.made()?.create(new)
    }

    fn lookup(&self, payment_hash: &PaymentHash) -> Result<InvoiceState, BackendError> {
        self.made()?.lookup(payment_hash)
    }

    fn node(&self) -> Result<NodeInfo, BackendError> {
        self.made()?.node()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use cairn_lightning::PayError;
    use cairn_link::IndexSlot;
    use cairn_state::StateUrl;

    use super::*;

    /// Two backends on one database, as two processes have them.
    #[tokio::test]
    async fn processes_on_one_database_are_one_backend() {
        let folder = cairn_testkit::temp_dir();
        let url = StateUrl::in_folder(folder.path());
        let (one, other) = (State::open(&url).await.unwrap(), State::open(&url).await.unwrap());
        let one = simulated(Network::Regtest, &one).await.unwrap();
        let other = simulated(Network::Regtest, &other).await.unwrap();
        blocking(move || {
            let new = |label: &str| NewInvoice::new(5, "m", 60, label).unwrap();
            let made = one.create(&new("a")).unwrap();
            assert_eq!(other.create(&new("a")), Err(BackendError::DuplicateLabel));
            assert_eq!(other.lookup(&made.payment_hash), Ok(InvoiceState::Open));
            let preimage = other.pay(&made.bolt11).unwrap();
            assert!(preimage.opens(&made.payment_hash));
            assert_eq!(one.pay(&made.bolt11), Err(PayError::AlreadyPaid));
            let state = one.lookup(&made.payment_hash).unwrap();
            assert!(matches!(state, InvoiceState::Paid { preimage: found, received_sats: 5, .. } if found == preimage));
            // The invoices show one node: their signatures are of one key.
            let payee = |bolt11: &str| cairn_lightning::decode(bolt11).unwrap().payee;
            assert_eq!(payee(&made.bolt11), payee(&other.create(&new("b")).unwrap().bolt11));
            assert_eq!(one.lookup(&PaymentHash([0; 32])), Ok(InvoiceState::Unknown));
        })
        .await
        .unwrap();
    }

    #[tokio::test]
    async fn a_server_sells_only_with_a_state_and_on_regtest_only_simulated() {
        let folder = cairn_testkit::temp_dir();
        let state = State::open(&StateUrl::in_folder(folder.path())).await.unwrap();
        let index: Arc<dyn IndexSource> = Arc::new(IndexSlot::new());
        let live = Access::of_flags(&["--access-mode", "live", "--lightning", "simulated"]);
        for free in [
            Access::of_flags(&[]),
            Access::of_flags(&["--lightning", "simulated"]),
            Access::of_flags(&["--access-mode", "live"]),
        ] {
            assert!(sales(&free, Some(&state), Some(Network::Main), &index).await.unwrap().is_none());
        }
        let refused = sales(&live, None, Some(Network::Regtest), &index).await.unwrap_err();
        assert_eq!(refused.exit, Exit::Usage);
        assert!(refused.to_string().contains("--state-url"), "{refused}");
        let refused = sales(&live, Some(&state), Some(Network::Main), &index).await.unwrap_err();
        assert_eq!(refused.exit, Exit::Usage);
        assert!(sales(&live, Some(&state), Some(Network::Regtest), &index).await.unwrap().is_some());
        assert!(sales(&live, Some(&state), None, &index).await.unwrap().is_some(), "it waits for the index");
    }

    #[tokio::test]
    async fn without_an_index_there_is_no_invoice_yet() {
        let folder = cairn_testkit::temp_dir();
        let awaited = AwaitedBackend {
            settings: Access::of_flags(&["--lightning", "simulated"]).lightning,
            kind: BackendKind::Simulated,
            state: State::open(&StateUrl::in_folder(folder.path())).await.unwrap(),
            index: Arc::new(IndexSlot::new()),
            runtime: Handle::current(),
            made: OnceLock::new(),
        };
        let error = blocking(move || awaited.node()).await.unwrap().unwrap_err();
        assert!(error.to_string().contains("nothing is indexed yet"), "{error}");
    }
}
