//! Somebody who asks the same questions all the time, whatever happens, and believes only answers that fit together.
//!
//! It watches a script that is only ever paid to. Payment `i` is worth `UNIT << i`, so every sum shows which payments
//! it holds, and one that were counted twice would show as another. A payment that was seen is seen again in every
//! later answer, confirmed or not, as long as the node has not dropped it.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use bitcoin::{ScriptBuf, Txid, hashes::Hash};
use cairn_support::{Client, ServedAddress, name_of};
use serde_json::Value;

/// Value of the first payment, satoshis.
pub(crate) const UNIT: u64 = 10_000;
/// Most payments to one script.
pub(crate) const PAYMENTS: usize = 12;
/// Between two questions.
const PAUSE: Duration = Duration::from_millis(3);

/// A watched script and its payments.
pub(crate) struct Watch {
    /// The script that is only paid to. Nobody has its key.
    pub(crate) script: ScriptBuf,
    /// Payments that may be seen, as bits.
    issued: AtomicU64,
    /// The transactions.
    sent: Mutex<Vec<Txid>>,
    /// Whether nothing that was seen may vanish.
    strict: AtomicBool,
}

impl Watch {
    fn new(seed: u64) -> Self {
        let hash = bitcoin::hashes::hash160::Hash::hash(&seed.to_le_bytes());
        Watch {
            script: ScriptBuf::new_p2wpkh(&bitcoin::WPubkeyHash::from_raw_hash(hash)),
            issued: AtomicU64::new(0),
            sent: Mutex::default(),
            strict: AtomicBool::new(true),
        }
    }

    /// The next payment is about to be made: its value, if there may be one more.
    pub(crate) fn announce(&self) -> Option<u64> {
        let place = self.sent.lock().unwrap().len();
        (place < PAYMENTS).then(|| {
            self.issued.fetch_or(1 << place, Ordering::SeqCst);
            UNIT << place
        })
    }

    /// The payment that was announced was made.
    pub(crate) fn made(&self, txid: Txid) {
        self.sent.lock().unwrap().push(txid);
    }

    /// From here on payments may vanish.
    pub(crate) fn relax(&self) {
        self.strict.store(false, Ordering::SeqCst);
    }
}

/// The thread that asks.
pub(crate) struct Witness {
    watch: Arc<Mutex<Arc<Watch>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Count, String>>>,
}

/// How much was asked.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Count {
    /// Answers about confirmed and unconfirmed data.
    pub(crate) whole: u64,
    /// Answers that said why they had no unconfirmed data.
    pub(crate) partial: u64,
    /// 503 and answers that did not come because nobody served.
    pub(crate) none: u64,
}

impl Witness {
    /// Begins to ask.
    pub(crate) fn start(served: Arc<ServedAddress>) -> Self {
        let watch = Arc::new(Mutex::new(Arc::new(Watch::new(u64::MAX))));
        let stop = Arc::new(AtomicBool::new(false));
        let (asked, ended) = (Arc::clone(&watch), Arc::clone(&stop));
        let thread = thread::spawn(move || {
            let (mut client, mut count) = (Client::new(""), Count::default());
            let mut seen = (Arc::clone(&asked.lock().unwrap()), 0);
            while !ended.load(Ordering::SeqCst) {
                let watch = Arc::clone(&asked.lock().unwrap());
                if !Arc::ptr_eq(&watch, &seen.0) {
                    seen = (watch, 0);
                }
                look(&served, &mut client, &seen.0, &mut seen.1, &mut count)?;
                thread::sleep(PAUSE);
            }
            Ok(count)
        });
        Witness { watch, stop, thread: Some(thread) }
    }

    /// Watches another script from now on.
    pub(crate) fn turn_to(&self, seed: u64) -> Arc<Watch> {
        let watch = Arc::new(Watch::new(seed));
        *self.watch.lock().unwrap() = Arc::clone(&watch);
        watch
    }

    /// The fault that it has found so far.
    pub(crate) fn objection(&mut self) -> Option<String> {
        if !self.thread.as_ref()?.is_finished() {
            return None;
        }
        self.thread.take()?.join().unwrap().err()
    }

    /// Ends it.
    pub(crate) fn finish(mut self) -> Count {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.take().map(|thread| thread.join().unwrap().unwrap()).unwrap_or_default()
    }
}

/// Payments in a sum, as bits.
fn payments(sats: u64) -> Result<u64, String> {
    if sats.is_multiple_of(UNIT) { Ok(sats / UNIT) } else { Err(format!("{sats} sat are no sum of payments")) }
}

/// Asks once; `seen` are the payments that were there before.
fn look(
    served: &Arc<ServedAddress>,
    client: &mut Client,
    watch: &Watch,
    seen: &mut u64,
    count: &mut Count,
) -> Result<(), String> {
    let Some(address) = served.address() else {
        count.none += 1;
        return Ok(());
    };
    if client.address() != address {
        *client = Client::new(&address);
    }
    let strict = || watch.strict.load(Ordering::SeqCst);
    let before = strict();
    let (status, overview) = match client.get(&format!("/v1/wallets/{}/overview", name_of(&watch.script))) {
        Ok(answer) => answer,
        Err(_) if served.address().as_ref() != Some(&address) => return Ok(()),
        Err(error) => return Err(format!("no answer: {error}")),
    };
    if status == 503 {
        count.none += 1;
        return Ok(());
    }
    if status != 200 {
        return Err(format!("{status} {overview}"));
    }
    let balance = &overview["balance"];
    let confirmed = payments(balance["confirmed_sats"].as_u64().ok_or("no confirmed balance")?)?;
    let issued = watch.issued.load(Ordering::SeqCst);
    if confirmed & !issued != 0 {
        return Err(format!("confirmed before it was paid: {overview}"));
    }
    let Some(total) = balance["total_sats"].as_u64() else {
        count.partial += 1;
        return match balance["unconfirmed_reason"].as_str() {
            Some(reason) if !reason.is_empty() => Ok(()),
            _ => Err(format!("null without a reason: {overview}")),
        };
    };
    count.whole += 1;
    let (total, unconfirmed) = (payments(total)?, balance["unconfirmed_sats"].as_u64().ok_or("a negative change")?);
    let unconfirmed = payments(unconfirmed)?;
    if confirmed & unconfirmed != 0 || confirmed | unconfirmed != total || total & !issued != 0 {
        return Err(format!("payments are counted twice, or invented ({issued:#b} were made): {overview}"));
    }
    // The flag is looked at before and after: what vanishes in between may be allowed to.
    if before && *seen & !total != 0 && strict() {
        return Err(format!("{:#b} vanished: {overview}", *seen & !total));
    }
    *seen |= total;
    // One of them, by itself.
    let sent = watch.sent.lock().unwrap().clone();
    if sent.is_empty() {
        return Ok(());
    }
    let at = count.whole as usize % sent.len();
    one(served, client, &address, sent[at], *seen & (1 << at) != 0, &strict)
}

fn one(
    served: &Arc<ServedAddress>,
    client: &mut Client,
    address: &String,
    txid: Txid,
    was_seen: bool,
    strict: &dyn Fn() -> bool,
) -> Result<(), String> {
    let before = strict();
    let (status, answer) = match client.get(&format!("/v1/tx/{txid}/status")) {
        Ok(answer) => answer,
        Err(_) if served.address().as_ref() != Some(address) => return Ok(()),
        Err(error) => return Err(format!("no answer: {error}")),
    };
    if status == 503 {
        return Ok(());
    }
    if status != 200 {
        return Err(format!("{status} {answer}"));
    }
    let warnings = answer["_meta"]["warnings"].as_array().map(Vec::as_slice).unwrap_or_default();
    let partial = warnings.iter().any(|w| w["code"].as_str().is_some_and(|c| c.contains("mempool")));
    let there = matches!(&answer["state"], Value::String(state) if state == "mempool" || state == "confirmed");
    if before && was_seen && !there && !partial && strict() {
        return Err(format!("a payment vanished: {answer}"));
    }
    Ok(())
}
