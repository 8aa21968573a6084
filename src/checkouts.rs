//! Follows the payments of checkouts while a server runs: notices those that nobody asks about, and suspends the keys
//! of those that a reorganization took away.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use cairn_clock::now_secs;
use cairn_link::IndexSource;
use cairn_model::BlockHash;
use cairn_operations::{InvoiceAccess, InvoiceStatus};
use cairn_payments::CheckoutSight;
use cairn_reader::{ReadError, Reader};
use cairn_state::{Checkout, CheckoutPayment, SeenPayment, State};
use tokio::{task::spawn_blocking, time::sleep};

use crate::exit::{Exit, Failure};

/// Interval of looks. With the cache of valid keys, a suspension takes effect within a minute.
const PAUSE: Duration = Duration::from_secs(15);
/// Checkouts that are judged with one view of the index.
const PAGE: u32 = 200;
/// Time after which the Lightning node is asked again for the same invoice, in seconds.
const ASK_AGAIN_SECS: u64 = 30;
/// Invoices that one look asks for at most, and how long it may take.
const MAX_INVOICES: u32 = 100;
const MAX_ASKING: Duration = Duration::from_secs(10);

/// The thread of a look panicked.
fn panicked<E>(_: E) -> Failure {
    Failure::new(Exit::Other, "a look at the payments of checkouts panicked; this is a bug")
}

pub(crate) struct CheckoutWatch {
    state: State,
    index: Arc<dyn IndexSource>,
    invoices: Option<Arc<dyn InvoiceAccess>>,
    /// The tip at which all payments on chain were judged: only another one changes them.
    judged_at: Option<BlockHash>,
}

impl CheckoutWatch {
    pub(crate) fn new(state: State, index: Arc<dyn IndexSource>, invoices: Option<Arc<dyn InvoiceAccess>>) -> Self {
        CheckoutWatch { state, index, invoices, judged_at: None }
    }

    /// Looks again and again. Never ends by itself. Any number of processes may do so on one database.
    pub(crate) async fn follow(mut self) {
        loop {
            sleep(PAUSE).await;
            if let Err(error) = self.look(now_secs()).await {
                tracing::warn!(%error, "payments of checkouts are not followed at present");
            }
        }
    }

    /// Looks at all payments that may have changed.
    async fn look(&mut self, now: u64) -> Result<(), Failure> {
        // Both, even if the first one fails.
        let on_chain = self.look_on_chain(now).await;
        self.ask_for_invoices(now).await?;
        on_chain
    }

    async fn look_on_chain(&mut self, now: u64) -> Result<(), Failure> {
        let Some(reader) = self.index.reader() else { return Ok(()) };
        let Some(tip) = tip_of(&reader)? else { return Ok(()) };
        if self.judged_at == Some(tip) {
            return Ok(());
        }
        let mut after = String::new();
        loop {
            let page = self.state.unsettled_checkouts(&after, now, PAGE).await?;
            let Some(last) = page.last() else { break };
            after.clone_from(&last.id);
            let of_page = Arc::clone(&reader);
            let judged = spawn_blocking(move || judge(&of_page, page)).await.map_err(panicked)??;
            for (checkout, seen) in judged {
                self.note(&checkout, &seen, now).await?;
            }
        }
        self.judged_at = Some(tip);
        Ok(())
    }

    async fn ask_for_invoices(&self, now: u64) -> Result<(), Failure> {
        let Some(invoices) = &self.invoices else { return Ok(()) };
        let began = Instant::now();
        for checkout in self.state.unpaid_invoices(now, ASK_AGAIN_SECS, MAX_INVOICES).await? {
            let CheckoutPayment::Lightning { payment_hash, .. } = checkout.payment else { continue };
            let node = Arc::clone(invoices);
            let asked = spawn_blocking(move || node.look_up(&payment_hash)).await.map_err(panicked)?;
            // First, so that an invoice about which the node always fails keeps no other one waiting.
            self.state.note_invoice_asked(&checkout.id, now).await?;
            // The log has the failure. The node is left alone until the next look.
            let Ok(status) = asked else { break };
            if let InvoiceStatus::Paid { at, received_sats } = status {
                let seen = SeenPayment::of_invoice(checkout.content.price_sats, at, received_sats);
                self.note(&checkout, &seen, now).await?;
            }
            if began.elapsed() > MAX_ASKING {
                break;
            }
        }
        Ok(())
    }

    /// Notes how a payment is seen, if that changes something.
    async fn note(&self, before: &Checkout, seen: &SeenPayment, now: u64) -> Result<(), Failure> {
        if before.seen(seen, now) == *before {
            return Ok(());
        }
        let Some(after) = self.state.note_checkout_payment(&before.id, seen, now).await? else { return Ok(()) };
        let (checkout, had_key) = (before.id.as_str(), after.claimed.is_some());
        match (before.reverted_at, after.reverted_at) {
            (None, Some(_)) => {
                tracing::warn!(checkout, had_key, "a reorganization took the payment of a pass away: it is suspended");
            }
            (Some(_), None) => tracing::info!(checkout, had_key, "the payment of a pass is back: it works again"),
            _ => {}
        }
        Ok(())
    }
}

fn tip_of(reader: &Reader) -> Result<Option<BlockHash>, ReadError> {
    match reader.view() {
        Ok(view) => Ok(Some(view.tip().hash)),
        Err(ReadError::Empty) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Judges payments with one view of the index. Left out are those about which the index cannot say anything.
fn judge(reader: &Reader, checkouts: Vec<Checkout>) -> Result<Vec<(Checkout, SeenPayment)>, ReadError> {
    let view = reader.view()?;
    let mut judged = Vec::new();
    for checkout in checkouts {
        if let Some(sight) = CheckoutSight::look(&view, None, &checkout)? {
            judged.push((checkout, sight.seen));
        }
    }
    Ok(judged)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use bitcoin::{Amount, ScriptBuf, TxOut};
    use cairn_chaingen::{
        BlockSpec, ChainBuilder, Lock, Style,
        corefiles::{FileOptions, Layout, write_chain},
    };
    use cairn_link::IndexSlot;
    use cairn_model::Network;
    use cairn_operations::{LightningInvoice, LightningUnavailable};
    use cairn_pipeline::{Engine, NoProgress, SyncOptions};
    use cairn_reader::Facts;
    use cairn_sources::BlockFiles;
    use cairn_state::{
        Claiming, ClientHashes, IndexUse, NewCheckout, OpeningCheckout, PaymentBlock, PaymentInvoice, StateUrl, Verdict,
    };
    use tempfile::TempDir;

    use super::*;

    const NOW: u64 = 1_900_000_000;
    const PRICE: u64 = 9_000;
    const DESCRIPTOR: &str = "dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd";

    /// A node on which every invoice is paid.
    #[derive(Debug)]
    struct Paid;

    impl InvoiceAccess for Paid {
        fn create(&self, _: u64, _: &str, _: u32) -> Result<LightningInvoice, LightningUnavailable> {
            Err(LightningUnavailable { kind: "unreachable" })
        }

        fn look_up(&self, _: &[u8; 32]) -> Result<InvoiceStatus, LightningUnavailable> {
            Ok(InvoiceStatus::Paid { at: NOW, received_sats: PRICE })
        }
    }

    /// A chain that grows, and the watch over its index.
    struct World {
        builder: ChainBuilder,
        engine: Engine,
        watch: CheckoutWatch,
        state: State,
        blocks: TempDir,
        _folder: TempDir,
    }

    impl World {
        async fn new() -> Self {
            let mut builder = ChainBuilder::new(5);
            let anyone = builder.keyring().script(&Lock::anyone()).unwrap();
            for _ in 0..110 {
                builder.mine(&BlockSpec::paying(anyone.clone())).unwrap();
            }
            let (blocks, folder) = (cairn_testkit::temp_dir(), cairn_testkit::temp_dir());
            let engine = Engine::open(&folder.path().join("index"), &Facts::of(Network::Regtest)).unwrap();
            let state = State::open(&StateUrl::in_folder(folder.path())).await.unwrap();
            state.begin_payment_counter(DESCRIPTOR, 0).await.unwrap();
            let mut world = World {
                watch: CheckoutWatch::new(
                    state.clone(),
                    Arc::new(IndexSlot::with(engine.reader())),
                    Some(Arc::new(Paid)),
                ),
                builder,
                engine,
                state,
                blocks,
                _folder: folder,
            };
            world.mine(0);
            world
        }

        /// Mines blocks, and indexes the best chain.
        fn mine(&mut self, blocks: u32) {
            for _ in 0..blocks {
                self.builder.mine(&BlockSpec::default()).unwrap();
            }
            let options = FileOptions::new(bitcoin::Network::Regtest, [1, 2, 3, 4, 5, 6, 7, 8]);
            write_chain(self.blocks.path(), self.builder.chain(), &Layout::tidy(options)).unwrap();
            let files = BlockFiles::open(self.blocks.path(), Network::Regtest).unwrap();
            let survey = files.survey(&|_| {}).unwrap();
            self.engine.sync(&files, &survey, &SyncOptions::default(), &NoProgress).unwrap();
        }

        /// Puts a payment into the next block, which is mined.
        fn pay(&mut self, number: u8) {
            let coin = *self.builder.spendable().iter().find(|at| self.builder.is_mature(at)).unwrap();
            let output = TxOut { value: Amount::from_sat(PRICE), script_pubkey: ScriptBuf::from_bytes(script(number)) };
            let tx = self.builder.spend(&[coin], vec![output], &Style::default()).unwrap();
            self.builder.add(tx).unwrap();
            self.mine(1);
        }

        async fn open(&self, number: u8) -> Checkout {
            let look = |_| Some(IndexUse::Free { script: script(number), address: format!("address {number}") });
            let opening = self.state.open_onchain_checkout(new(), DESCRIPTOR, &client(), NOW, look).await.unwrap();
            let OpeningCheckout::Opened(opened) = opening else { panic!("{opening:?}") };
            opened.checkout
        }

        async fn stored(&self, id: &str) -> Checkout {
            self.state.checkouts(9).await.unwrap().into_iter().find(|of| of.id == id).unwrap()
        }
    }

    fn script(number: u8) -> Vec<u8> {
        [&[0, 20][..], &[number; 20]].concat()
    }

    fn new() -> NewCheckout {
        NewCheckout { plan: "p".to_owned(), price_sats: PRICE, valid_secs: 1_000, expires_at: NOW + 86_400 }
    }

    fn client() -> ClientHashes {
        ClientHashes { number: 1, current: "a".to_owned(), previous: "a".to_owned() }
    }

    #[tokio::test]
    async fn a_key_works_while_the_chain_has_its_payment() {
        let mut world = World::new().await;
        let checkout = world.open(1).await;
        world.watch.look(NOW).await.unwrap();
        assert_eq!(world.stored(&checkout.id).await, checkout);
        // Nobody asks for it.
        world.pay(1);
        world.watch.look(NOW + 1).await.unwrap();
        assert_eq!(world.stored(&checkout.id).await.first_paid_at, Some(NOW + 1));
        let Claiming::Done(_, secret) = world.state.claim_checkout(&checkout.id, NOW + 2).await.unwrap() else {
            panic!()
        };
        let verdict = async |world: &World| world.state.check(&secret, NOW + 3).await.unwrap();
        assert!(matches!(verdict(&world).await, Verdict::Valid(_)));

        let fork = world.builder.ancestor(2);
        world.builder.checkout(&fork).unwrap();
        world.builder.discard();
        world.mine(3);
        world.watch.look(NOW + 3).await.unwrap();
        assert_eq!(world.stored(&checkout.id).await.reverted_at, Some(NOW + 3));
        assert_eq!(verdict(&world).await, Verdict::Suspended);
        world.pay(1);
        world.watch.look(NOW + 4).await.unwrap();
        assert!(matches!(verdict(&world).await, Verdict::Valid(_)));
        // Buried, it is not looked at again.
        world.mine(99);
        world.watch.look(NOW + 5).await.unwrap();
        assert!(world.stored(&checkout.id).await.is_settled);
    }

    #[tokio::test]
    async fn an_index_that_is_behind_takes_nothing_back() {
        let mut world = World::new().await;
        let checkout = world.open(1).await;
        let seen = SeenPayment {
            received_sats: PRICE,
            completed_at: Some(NOW),
            block: Some(PaymentBlock { height: 10_000, hash: "ab".to_owned() }),
            tip_height: Some(10_000),
            is_accepted: true,
            is_settled: false,
        };
        let paid = world.state.note_checkout_payment(&checkout.id, &seen, NOW).await.unwrap().unwrap();
        world.mine(1);
        world.watch.look(NOW + 1).await.unwrap();
        assert_eq!(world.stored(&checkout.id).await, paid);
    }

    #[tokio::test]
    async fn paid_invoices_are_noticed() {
        let mut world = World::new().await;
        let invoice =
            PaymentInvoice { provider: "lnd".to_owned(), payment_hash: [7; 32], invoice: "lnbcrt".to_owned() };
        let opening = world.state.open_lightning_checkout(new(), invoice, &client(), NOW).await.unwrap();
        let OpeningCheckout::Opened(opened) = opening else { panic!("{opening:?}") };
        world.watch.look(NOW + 40).await.unwrap();
        let paid = world.stored(&opened.checkout.id).await;
        assert_eq!((paid.paid_at, paid.first_paid_at, paid.is_settled), (Some(NOW), Some(NOW + 40), true));
    }
}
