//! Blocks that are added while the demo runs: when a payment or an anchor of timestamps waits, and while a batch of
//! timestamps waits to be final. The ordinary follower indexes them.

mod node;
mod orders;
mod thread;

use std::{
    collections::HashSet,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use cairn_demo::{DemoCoin, DemoWallet, Payee, Unconfirmed, coin};
use cairn_link::{IndexSlot, IndexSource, Publish, SocketPublisher};
use cairn_model::{MempoolDelta, Outpoint, RemoveReason, TxNum, Txid};
use cairn_reader::{ReadError, View};
use parking_lot::Mutex;

use super::{
    errors::generator,
    mempool::{arriving, txid},
};
use crate::exit::{Exit, Failure};

pub(super) use node::DemoNode;
pub(super) use orders::pay;
pub(super) use thread::Miner;

/// Descriptor of the addresses that clients pay to. Nobody needs its keys.
pub(super) const DESCRIPTOR: &str = "wpkh(tpubDC5FSnBiZDMmhiuCmWAYsLwgLYrrT9rAqvTySfuCCrgsWz8wxMXUS9Tb9iVMvcRbvFcAHGkMD5Kx8koh4GquNGNTfohfk7pgjhaPCdXpoba/0/*)";
const MAX_COINS: usize = 2_000;

/// Why a transaction is not accepted.
#[derive(Debug)]
pub(super) enum Refused {
    InChain,
    /// A coin does not exist, or a transaction spends it that is not replaced.
    Spent,
    /// It does not pay more than those that it would replace.
    Fee,
    /// It cannot be read, or the index cannot.
    Other(String),
}

/// The words of Bitcoin Core, which the anchorer knows.
impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refused::InChain => "transaction already in block chain",
            Refused::Spent => "bad-txns-inputs-missingorspent",
            Refused::Fee => "insufficient fee",
            Refused::Other(why) => why,
        })
    }
}

/// A transaction that waits for the next block.
#[derive(Clone, Debug)]
struct Waiting {
    txid: Txid,
    made: Unconfirmed,
    order: Option<PathBuf>,
}

impl Waiting {
    fn spends(&self, (txid, vout): (Txid, u32)) -> bool {
        self.coins().any(|coin| coin == (txid, vout))
    }

    fn coins(&self) -> impl Iterator<Item = (Txid, u32)> {
        self.made.tx.input.iter().map(|input| &input.previous_output).map(|at| (txid(at.txid.as_ref()), at.vout))
    }
}

/// The demo's chain, wallet and waiting transactions.
pub(super) struct Live {
    slot: Arc<IndexSlot>,
    /// For other processes that read the index: they hear of a change as from an indexer.
    announced: SocketPublisher,
    wallet: DemoWallet,
    /// Coins that the demo's unconfirmed transactions spend. They stay unconfirmed.
    taken: HashSet<(Txid, u32)>,
    waiting: Mutex<Vec<Waiting>>,
}

impl Live {
    /// Creates the wallet. `unconfirmed` are the transactions of the mempool. Readers in other processes find the
    /// socket in `dir`.
    pub(super) fn new(slot: Arc<IndexSlot>, unconfirmed: &[MempoolDelta], dir: &Path) -> Result<Self, Failure> {
        let added = unconfirmed.iter().filter_map(|delta| match delta {
            MempoolDelta::Add(tx) => Some(tx),
            _ => None,
        });
        let taken = added.flat_map(|tx| tx.inputs.iter().map(|input| (input.prev_txid, input.prev_vout))).collect();
        let announced = SocketPublisher::open(dir, slot.pool());
        announced.publish_best_height(slot.best_height());
        announced.publish_source(&slot.source().unwrap_or_default());
        let wallet = DemoWallet::new().map_err(generator)?;
        Ok(Live { slot, announced, wallet, taken, waiting: Mutex::default() })
    }

    fn view<T>(&self, read: impl FnOnce(&View<'_>) -> Result<T, ReadError>) -> Result<T, Failure> {
        let reader = self.slot.reader().ok_or_else(|| Failure::new(Exit::Index, "the index is closed"))?;
        let view = reader.view()?;
        Ok(read(&view)?)
    }

    /// Confirmed coins of the wallet that nothing spends, the largest first.
    fn coins(&self) -> Result<Vec<DemoCoin>, Failure> {
        let mut coins = self.view(|view| {
            let Some(own) = view.scripts().find(self.wallet.script())? else { return Ok(Vec::new()) };
            let first = Outpoint { tx_num: TxNum(0), vout: 0 };
            let mut coins = Vec::new();
            for (at, sats) in view.scripts().coins(own.id, first, MAX_COINS)? {
                if let Some((Txid(txid), _)) = view.transactions().txid(at.tx_num)? {
                    coins.push(DemoCoin { txid, vout: at.vout, sats });
                }
            }
            Ok(coins)
        })?;
        let waiting = self.waiting.lock();
        coins.retain(|coin| {
            let at = (Txid(coin.txid), coin.vout);
            !self.taken.contains(&at) && !waiting.iter().any(|other| other.spends(at))
        });
        coins.sort_by_key(|coin| (std::cmp::Reverse(coin.sats), coin.txid, coin.vout));
        Ok(coins)
    }

    /// Pays a script with the wallet: `None` if it has too few coins.
    fn pay(&self, script: &[u8], sats: u64, feerate: u64, order: PathBuf) -> Result<Option<Txid>, Failure> {
        let payee = Payee::Script { script, sats };
        let draft = self.wallet.draft(&[], &self.coins()?, payee, feerate).map_err(generator)?;
        let Some(draft) = draft else { return Ok(None) };
        let raw = self.wallet.sign(&draft.psbt).and_then(|psbt| self.wallet.finish(&psbt)).map_err(generator)?;
        let sent = self.accept(&raw, Some(order));
        sent.map(Some).map_err(|why| Failure::new(Exit::Other, format!("the payment is not accepted: {why}")))
    }

    /// Takes a signed transaction into the mempool. It takes the place of those that spend the same coins for less.
    fn accept(&self, raw: &[u8], order: Option<PathBuf>) -> Result<Txid, Refused> {
        let (made, txid) = self.resolved(raw)?;
        let new = Waiting { txid, made, order };
        let mut waiting = self.waiting.lock();
        if waiting.iter().any(|other| other.txid == txid) {
            return Ok(txid);
        }
        if new.coins().any(|coin| self.taken.contains(&coin)) {
            return Err(Refused::Spent);
        }
        let replaced = |other: &Waiting| new.coins().any(|coin| other.spends(coin));
        let fees: u64 = waiting.iter().filter(|other| replaced(other)).map(|other| other.made.fee()).sum();
        if waiting.iter().any(|other| replaced(other) && other.order.is_some()) {
            return Err(Refused::Spent);
        }
        if fees > 0 && new.made.fee() <= fees {
            return Err(Refused::Fee);
        }
        let tx = arriving(&new.made, cairn_clock::now_ms());
        let tx = tx.ok_or_else(|| Refused::Other("it is too large".to_owned()))?;
        let mut deltas: Vec<MempoolDelta> = waiting
            .iter()
            .filter(|other| replaced(other))
            .map(|other| MempoolDelta::Remove { txid: other.txid, reason: RemoveReason::Replaced { by: txid } })
            .collect();
        deltas.push(MempoolDelta::Add(Arc::new(tx)));
        waiting.retain(|other| !replaced(other));
        waiting.push(new);
        let pool = self.slot.pool();
        pool.apply(&deltas);
        self.announced.publish_mempool(&deltas);
        drop(waiting);
        pool.refresh();
        Ok(txid)
    }

    /// Reads a signed transaction, and looks up its coins.
    fn resolved(&self, raw: &[u8]) -> Result<(Unconfirmed, Txid), Refused> {
        let other = |error: cairn_demo::Error| Refused::Other(error.to_string());
        let points = Unconfirmed::spends(raw).map_err(other)?;
        let points: Vec<(Txid, u32)> = points.into_iter().map(|(txid, vout)| (Txid(txid), vout)).collect();
        let found = self.view(|view| view.transactions().coins(&points));
        let found = found.map_err(|failure| Refused::Other(failure.to_string()))?;
        let spent: Option<Vec<_>> =
            found.into_iter().map(|of| of.map(|of| coin(of.value, &of.script, of.height, of.coinbase))).collect();
        let id = Txid(Unconfirmed::txid(raw).map_err(other)?);
        let Some(spent) = spent else {
            let known = self.view(|view| Ok(view.transactions().by_txid(&id)?.is_some()));
            return Err(if known.unwrap_or_default() { Refused::InChain } else { Refused::Spent });
        };
        Ok((Unconfirmed::read(raw, spent).map_err(other)?, id))
    }
}
