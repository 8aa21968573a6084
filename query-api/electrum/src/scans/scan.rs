//! The task of a subscription: scans blocks, and then follows tip and mempool.

use std::{collections::HashSet, sync::Arc, time::Duration};

use cairn_chain::Pinned;
use cairn_domain::silent_payments::Scanner;
use cairn_http::{ApiError, Asker, Cost, Work};
use cairn_model::{BlockHash, Height, TxNum, Txid};
use serde_json::{Value, json};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep, timeout},
};

use super::{
    name::{ScanName, ScanRange},
    shared::Changes,
};
use crate::{
    electrum::Electrum,
    failure::{Failure, Refusal},
};

/// Tweaks after which a piece ends: they take 0.1 s. A block stays whole.
const TWEAKS_OF_PIECE: usize = 2_000;
/// Blocks after which it ends, whatever they have.
const BLOCKS_OF_PIECE: u32 = 2_000;
/// Unconfirmed tweaks of a piece.
const UNCONFIRMED_OF_PIECE: usize = 5_000;
/// Transactions of a notification, as Frigate recommends.
const MAX_HISTORY: usize = 100;
/// A client hears of the progress at least this often.
const PROGRESS: Duration = Duration::from_secs(5);
/// Pause after work was refused, and before tweaks of a new block are looked for again.
const PAUSE: Duration = Duration::from_secs(2);
/// Looks for the tweaks of a new block, each half a second after the one before.
const LOOKS: u32 = 8;
/// Blocks are looked for this often, also if no change was announced.
const GLANCE: Duration = Duration::from_secs(10);
/// Blocks that are scanned again after a reorganization.
const REORG_BLOCKS: u32 = 100;

/// A transaction that pays the client; `height` 0 if it is unconfirmed.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Payment {
    height: Height,
    txid: Txid,
    tweak: [u8; 33],
}

impl Payment {
    fn value(&self) -> Value {
        json!({"height": self.height, "tx_hash": self.txid.to_string(), "tweak_key": hex::encode(self.tweak)})
    }
}

/// The result of a piece of blocks.
struct Piece {
    found: Vec<Payment>,
    /// The block that comes next, and the hash of the one before.
    next: Height,
    before: Option<BlockHash>,
    /// The newest block that has tweaks.
    newest: Height,
    /// True if the index has newer blocks whose tweaks are not made yet.
    is_behind: bool,
}

/// A scan.
pub(super) struct Scan {
    electrum: Arc<Electrum>,
    asker: Asker,
    scanner: Arc<Scanner>,
    name: ScanName,
    range: ScanRange,
    send: mpsc::Sender<String>,
    next: Height,
    before: Option<BlockHash>,
    /// The last unconfirmed entry that was looked at.
    unconfirmed: u64,
    /// Unconfirmed transactions that the client has heard of: they are left out when a block has them.
    told: HashSet<Txid>,
    /// The part that is done, between 0 and 1.
    progress: f64,
    /// The failure that the client has heard of, until a piece succeeds.
    failed: Option<Failure>,
}

/// The connection has ended.
struct Gone;

impl Scan {
    pub(super) fn new(
        electrum: &Arc<Electrum>,
        asker: Asker,
        scanner: Scanner,
        (name, range): (ScanName, ScanRange),
        send: mpsc::Sender<String>,
    ) -> Self {
        Scan {
            electrum: Arc::clone(electrum),
            asker,
            scanner: Arc::new(scanner),
            name,
            range,
            send,
            next: range.start,
            before: None,
            unconfirmed: 0,
            told: HashSet::new(),
            progress: 0.0,
            failed: None,
        }
    }

    /// Scans until the range ends, or the connection does.
    pub(super) async fn run(mut self, mut changes: watch::Receiver<Changes>) {
        // An error means that nobody listens any more.
        let _ = self.scan(&mut changes).await;
    }

    async fn scan(&mut self, changes: &mut watch::Receiver<Changes>) -> Result<(), Gone> {
        let mut seen = *changes.borrow_and_update();
        self.scan_past().await?;
        if self.range.end.is_some() {
            return self.tell(Vec::new(), 1.0, true).await;
        }
        let unconfirmed = self.scan_mempool().await?;
        self.tell(unconfirmed, 1.0, true).await?;
        loop {
            // Without a change it is looked at nevertheless: tweaks may have been behind.
            let waited = timeout(GLANCE, changes.changed()).await;
            let now = *changes.borrow_and_update();
            if now.tips != seen.tips || waited.is_err() {
                self.scan_new().await?;
            }
            seen = now;
            let unconfirmed = self.scan_mempool().await?;
            self.tell(unconfirmed, 1.0, false).await?;
        }
    }

    /// Scans new blocks. The tweaks of a block come a moment after it.
    async fn scan_new(&mut self) -> Result<(), Gone> {
        let mut looks = 0;
        while looks < LOOKS {
            let Some(piece) = self.piece().await? else { return Ok(()) };
            let told = &mut self.told;
            let news: Vec<Payment> = piece.found.into_iter().filter(|of| !told.remove(&of.txid)).collect();
            self.tell(news, 1.0, false).await?;
            if self.next > piece.newest {
                if !piece.is_behind {
                    return Ok(());
                }
                looks += 1;
                sleep(PAUSE / 4).await;
            }
        }
        Ok(())
    }

    /// Scans up to the newest block, or the last of the range.
    async fn scan_past(&mut self) -> Result<(), Gone> {
        let (mut found, mut heard) = (Vec::new(), Instant::now());
        loop {
            let Some(piece) = self.piece().await? else {
                sleep(PAUSE).await;
                continue;
            };
            found.extend(piece.found);
            let last = self.range.end.map_or(piece.newest, |end| end.min(piece.newest));
            let is_done = self.next > last;
            let is_full = found.len() >= MAX_HISTORY;
            if is_full || is_done && !found.is_empty() || heard.elapsed() > PROGRESS {
                let all = f64::from(last.saturating_sub(self.range.start).saturating_add(1));
                let part = f64::from(self.next.saturating_sub(self.range.start));
                // The end has a notification of its own.
                let progress = (part / all).min(0.999);
                self.tell(std::mem::take(&mut found), progress, true).await?;
                heard = Instant::now();
            }
            if is_done {
                return Ok(());
            }
        }
    }

    /// Scans some blocks. `None` if that is not possible now.
    async fn piece(&mut self) -> Result<Option<Piece>, Gone> {
        let (scanner, next, before) = (Arc::clone(&self.scanner), self.next, self.before);
        let (start, end) = (self.range.start, self.range.end);
        let read = self.electrum.read(Cost::Heavy, self.asker, move |at, work| {
            let is_gone = next > start
                && before.is_some_and(|hash| !next.checked_sub(1).is_some_and(|last| at.view.chain().is(last, &hash)));
            let from = if is_gone { next.saturating_sub(REORG_BLOCKS).max(start) } else { next };
            blocks(at, work, &scanner, from, end)
        });
        match read.await {
            Ok(piece) => {
                (self.next, self.before) = (piece.next, piece.before);
                self.failed = None;
                Ok(Some(piece))
            }
            Err(failure) => self.refused(failure).await.map(|()| None),
        }
    }

    /// Scans unconfirmed transactions that were not looked at yet.
    async fn scan_mempool(&mut self) -> Result<Vec<Payment>, Gone> {
        let mut payments = Vec::new();
        loop {
            let some = self.electrum.scans.after(self.unconfirmed, UNCONFIRMED_OF_PIECE);
            let Some(last) = some.last().map(|entry| entry.number) else { break };
            let scanner = Arc::clone(&self.scanner);
            let read = self.electrum.read(Cost::Standard, self.asker, move |at, work| {
                let mempool = at.mempool()?;
                let mut found = Vec::new();
                for entry in &some {
                    work.poll()?;
                    let is_there = mempool.get(&entry.txid).is_some();
                    if is_there && scanner.finds(&entry.tweak.tweak, &entry.tweak.outputs) {
                        found.push(Payment { height: 0, txid: entry.txid, tweak: entry.tweak.tweak });
                    }
                }
                Ok(found)
            });
            match read.await {
                Ok(found) => {
                    self.unconfirmed = last;
                    payments.extend(found.into_iter().filter(|of| self.told.insert(of.txid)));
                }
                Err(failure) => {
                    self.refused(failure).await?;
                    break;
                }
            }
        }
        Ok(payments)
    }

    /// Waits after a failure. The client's budget, a place, or the index come back. Of a failure that does not pass by
    /// itself, such as a damaged row, the client hears once.
    async fn refused(&mut self, failure: Failure) -> Result<(), Gone> {
        tracing::debug!(failure.message, "a scan waits");
        if failure.code != Failure::BUSY && self.failed.as_ref() != Some(&failure) {
            let mut params = self.params(&[]);
            params["error"] = failure.object();
            self.notify(&params).await?;
            self.failed = Some(failure);
        }
        sleep(PAUSE).await;
        if self.send.is_closed() { Err(Gone) } else { Ok(()) }
    }

    /// Sends payments; with `always` also an empty list.
    async fn tell(&mut self, payments: Vec<Payment>, progress: f64, always: bool) -> Result<(), Gone> {
        self.progress = progress;
        if payments.is_empty() && !always {
            return Ok(());
        }
        let mut chunks: Vec<&[Payment]> = payments.chunks(MAX_HISTORY).collect();
        if chunks.is_empty() {
            chunks.push(&[]);
        }
        for chunk in chunks {
            self.notify(&self.params(chunk)).await?;
        }
        Ok(())
    }

    /// The parameters of a notification.
    fn params(&self, payments: &[Payment]) -> Value {
        let history: Vec<Value> = payments.iter().map(Payment::value).collect();
        json!({"subscription": self.name.value(), "progress": self.progress, "history": history})
    }

    async fn notify(&self, params: &Value) -> Result<(), Gone> {
        let line = json!({"jsonrpc": "2.0", "method": "blockchain.silentpayments.subscribe", "params": params});
        self.send.send(line.to_string()).await.map_err(|_| Gone)
    }
}

/// Scans blocks from one on, at most to `end`.
fn blocks(
    at: &Pinned<'_>,
    work: &Work,
    scanner: &Scanner,
    from: Height,
    end: Option<Height>,
) -> Result<Piece, Refusal> {
    let silent = at.view.silent_payments();
    let span = silent.span()?.ok_or_else(not_indexed)?;
    let last = end.map_or(span.height, |end| end.min(span.height));
    // Blocks before the first have no tweaks.
    let (mut next, mut read, mut found) = (from.max(span.first.min(last.saturating_add(1))), 0, Vec::new());
    let begun = next;
    while next <= last && read < TWEAKS_OF_PIECE && next - begun < BLOCKS_OF_PIECE {
        let row = silent.block(next)?.ok_or_else(ApiError::internal)?;
        read += row.tweaks.len();
        for of in &row.tweaks {
            work.poll()?;
            if scanner.finds(&of.tweak, &of.outputs) {
                let first = at.view.chain().get(next).ok_or_else(ApiError::internal)?.first_tx;
                let tx_num = TxNum(first.0 + u64::from(of.index));
                let (txid, _) = at.view.transactions().txid(tx_num)?.ok_or_else(ApiError::internal)?;
                found.push(Payment { height: next, txid, tweak: of.tweak });
            }
        }
        next += 1;
    }
    let before = match next.checked_sub(1).filter(|last| *last <= at.view.tip().height) {
        Some(last) => Some(at.header(last)?.hash),
        None => None,
    };
    Ok(Piece { found, next, before, newest: span.height, is_behind: span.height < at.view.tip().height })
}

/// The failure without tweaks.
pub(crate) fn not_indexed() -> Failure {
    Failure::bad("silent payments are not indexed here: the operator can have the indexer do it (--silent-payments)")
}
