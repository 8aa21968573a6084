//! Who hears of what: subscriptions of all connections, and the news that wait for each.
//!
//! News are kept by script, so a connection that does not read has at most one for each of its subscriptions. Memory: a
//! subscription takes about 230 bytes, so [`MAX_SUBSCRIPTIONS`] take 110 MiB; news take up to 160 bytes each.

use std::{
    collections::{BTreeMap, HashMap},
    mem,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use cairn_domain::mempool::ScriptHash;
use cairn_model::{BlockHash, Height};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::{failure::Failure, params::script_hash_text, rpc::notification};

/// Most subscriptions of a connection.
pub(crate) const MAX_OF_CONNECTION: usize = 10_000;
/// Most subscriptions of all connections.
pub(crate) const MAX_SUBSCRIPTIONS: usize = 500_000;

/// SHA-256 of a history; `None` without a transaction.
pub(crate) type Status = Option<[u8; 32]>;

/// The newest block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TipHeader {
    pub(crate) height: Height,
    pub(crate) hash: BlockHash,
    pub(crate) header: [u8; 80],
}

impl TipHeader {
    /// Its form in answers and notifications.
    pub(crate) fn value(&self) -> Value {
        json!({"height": self.height, "hex": hex::encode(self.header)})
    }
}

/// News with the number of the look that found it: looks pin the index later, the higher their number.
#[derive(Clone, Copy)]
pub(crate) struct News<T> {
    pub(crate) look: u64,
    pub(crate) what: T,
}

#[derive(Default)]
struct Pending {
    tip: Option<News<TipHeader>>,
    scripts: HashMap<ScriptHash, News<Status>>,
}

/// News for a connection.
#[derive(Default)]
struct Outbox {
    wants_tips: AtomicBool,
    pending: Mutex<Pending>,
    wake: Notify,
}

#[derive(Default)]
struct Registry {
    /// In order, so that scripts are found by the prefix of their hash.
    by_script: BTreeMap<ScriptHash, Vec<Arc<Outbox>>>,
    connections: HashMap<u64, Arc<Outbox>>,
    next: u64,
    count: usize,
}

/// The subscriptions of all connections.
#[derive(Default)]
pub(crate) struct Hub {
    registry: Mutex<Registry>,
    look: AtomicU64,
}

impl Hub {
    /// Begins a look at the index: call it before the index is pinned.
    pub(crate) fn begin_look(&self) -> u64 {
        self.look.fetch_add(1, Ordering::SeqCst) + 1
    }

    fn last_look(&self) -> u64 {
        self.look.load(Ordering::SeqCst)
    }

    /// True if no script is subscribed to.
    pub(crate) fn is_idle(&self) -> bool {
        self.registry.lock().by_script.is_empty()
    }

    /// Subscribed scripts after this one, ascending; at most `limit`.
    pub(crate) fn scripts_after(&self, after: Option<&ScriptHash>, limit: usize) -> Vec<ScriptHash> {
        use std::ops::Bound::{Excluded, Unbounded};
        let from = after.map_or(Unbounded, |after| Excluded(*after));
        self.registry.lock().by_script.range((from, Unbounded)).take(limit).map(|(script, _)| *script).collect()
    }

    /// The subscribed scripts whose hashes begin with one of these prefixes.
    pub(crate) fn scripts_with<'p>(&self, prefixes: impl IntoIterator<Item = &'p [u8]>) -> Vec<ScriptHash> {
        let registry = self.registry.lock();
        let mut found = Vec::new();
        for prefix in prefixes {
            let (mut from, mut to) = ([0; 32], [255; 32]);
            for (at, byte) in prefix.iter().take(32).enumerate() {
                (from[at], to[at]) = (*byte, *byte);
            }
            found.extend(registry.by_script.range(from..=to).map(|(script, _)| *script));
        }
        drop(registry);
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Announces a new tip to those who subscribe to headers.
    pub(crate) fn tell_tip(&self, tip: News<TipHeader>) {
        for outbox in self.registry.lock().connections.values() {
            if outbox.wants_tips.load(Ordering::SeqCst) {
                outbox.pending.lock().tip = Some(tip);
                outbox.wake.notify_one();
            }
        }
    }

    /// Announces the statuses of these scripts to those who subscribe to them; the new tip, if there is one, before.
    pub(crate) fn tell_statuses(&self, look: u64, statuses: &[(ScriptHash, Status)], tip: Option<News<TipHeader>>) {
        let registry = self.registry.lock();
        for (script, status) in statuses {
            for outbox in registry.by_script.get(script).into_iter().flatten() {
                let mut pending = outbox.pending.lock();
                pending.scripts.insert(*script, News { look, what: *status });
                if tip.is_some() && outbox.wants_tips.load(Ordering::SeqCst) {
                    pending.tip = tip;
                }
                drop(pending);
                outbox.wake.notify_one();
            }
        }
    }

    /// Subscriptions of a new connection.
    pub(crate) fn connect(self: &Arc<Self>) -> Subscriptions {
        let outbox = Arc::new(Outbox::default());
        let mut registry = self.registry.lock();
        let number = registry.next;
        registry.next += 1;
        registry.connections.insert(number, Arc::clone(&outbox));
        drop(registry);
        Subscriptions { hub: Arc::clone(self), number, outbox, told: HashMap::new(), tip: None }
    }
}

/// The knowledge of a client about a script or the tip.
#[derive(Clone, Copy)]
struct Told {
    /// News of earlier looks are older than this.
    look: u64,
    /// The status, shortened; `None` until it is answered.
    status: Option<u128>,
}

/// A status, shortened: enough to see that it has changed.
fn short(status: &Status) -> u128 {
    let mut bytes = [0; 16];
    if let Some(hash) = status {
        bytes.copy_from_slice(&hash[..16]);
    }
    u128::from_be_bytes(bytes)
}

/// The subscriptions of a connection. They end when it is dropped.
pub(crate) struct Subscriptions {
    hub: Arc<Hub>,
    number: u64,
    outbox: Arc<Outbox>,
    told: HashMap<ScriptHash, Told>,
    /// The tip that the client knows, and the look before it was read.
    tip: Option<(u64, BlockHash)>,
}

impl Subscriptions {
    /// Subscribes to headers: call it before the tip is read, and [`Subscriptions::told_tip`] afterwards.
    pub(crate) fn want_tips(&self) -> u64 {
        self.outbox.wants_tips.store(true, Ordering::SeqCst);
        self.hub.last_look()
    }

    /// Notes the tip that is answered.
    pub(crate) fn told_tip(&mut self, look: u64, hash: BlockHash) {
        self.tip = Some((look, hash));
    }

    /// Subscribes to a script: call it before its status is read, and [`Subscriptions::told`] afterwards.
    ///
    /// # Errors
    /// Fails at the limits.
    pub(crate) fn add(&mut self, script: ScriptHash) -> Result<u64, Failure> {
        if !self.told.contains_key(&script) {
            if self.told.len() >= MAX_OF_CONNECTION {
                let message = format!("at most {MAX_OF_CONNECTION} subscriptions are allowed; use a second connection");
                return Err(Failure::bad(message));
            }
            let mut registry = self.hub.registry.lock();
            if registry.count >= MAX_SUBSCRIPTIONS {
                return Err(Failure::new(Failure::BUSY, "the server has no room for subscriptions; try again later"));
            }
            registry.count += 1;
            let subscribers = registry.by_script.entry(script).or_insert_with(|| Vec::with_capacity(1));
            subscribers.push(Arc::clone(&self.outbox));
        }
        let look = self.hub.last_look();
        self.told.insert(script, Told { look, status: None });
        Ok(look)
    }

    /// Notes the status that is answered.
    pub(crate) fn told(&mut self, script: ScriptHash, look: u64, status: &Status) {
        self.told.insert(script, Told { look, status: Some(short(status)) });
    }

    /// Ends a subscription. False if there was none.
    pub(crate) fn remove(&mut self, script: &ScriptHash) -> bool {
        let is_subscribed = self.told.remove(script).is_some();
        if is_subscribed {
            unregister(&mut self.hub.registry.lock(), script, &self.outbox);
            self.outbox.pending.lock().scripts.remove(script);
        }
        is_subscribed
    }

    /// Waits until there may be news.
    pub(crate) async fn wait(&self) {
        self.outbox.wake.notified().await;
    }

    /// Takes the news as notifications. News that the client knows already are left out.
    pub(crate) fn notifications(&mut self) -> Vec<String> {
        let Pending { tip, scripts } = mem::take(&mut *self.outbox.pending.lock());
        let mut lines = Vec::new();
        if let (Some(News { look, what }), Some((since, known))) = (tip, self.tip)
            && look >= since
            && what.hash != known
        {
            self.tip = Some((look, what.hash));
            lines.push(notification("blockchain.headers.subscribe", &[what.value()]));
        }
        for (script, News { look, what: status }) in scripts {
            let Some(told) = self.told.get_mut(&script) else { continue };
            // Without a known status the subscription failed: the client asks again.
            let Some(known) = told.status else { continue };
            if look < told.look || known == short(&status) {
                continue;
            }
            *told = Told { look, status: Some(short(&status)) };
            let params = [json!(script_hash_text(&script)), json!(status.map(hex::encode))];
            lines.push(notification("blockchain.scripthash.subscribe", &params));
        }
        lines
    }
}

fn unregister(registry: &mut Registry, script: &ScriptHash, outbox: &Arc<Outbox>) {
    let Some(subscribers) = registry.by_script.get_mut(script) else { return };
    if let Some(at) = subscribers.iter().position(|other| Arc::ptr_eq(other, outbox)) {
        subscribers.swap_remove(at);
        if subscribers.is_empty() {
            registry.by_script.remove(script);
        }
        registry.count = registry.count.saturating_sub(1);
    }
}

impl Drop for Subscriptions {
    fn drop(&mut self) {
        let mut registry = self.hub.registry.lock();
        registry.connections.remove(&self.number);
        for script in self.told.keys() {
            unregister(&mut registry, script, &self.outbox);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tip(height: Height) -> TipHeader {
        TipHeader { height, hash: BlockHash([height as u8; 32]), header: [height as u8; 80] }
    }

    #[test]
    fn only_what_changed_is_told_and_only_the_newest() {
        let hub = Arc::new(Hub::default());
        let (mut one, mut other) = (hub.connect(), hub.connect());
        let script = [7; 32];
        let look = one.add(script).unwrap();
        one.told(script, look, &None);
        other.add([8; 32]).unwrap();
        let look = hub.begin_look();
        hub.tell_statuses(look, &[(script, Some([1; 32])), ([8; 32], None), ([9; 32], None)], None);
        hub.tell_statuses(hub.begin_look(), &[(script, Some([2; 32]))], None);
        let expected = format!(
            r#"{{"jsonrpc":"2.0","method":"blockchain.scripthash.subscribe","params":["{}","{}"]}}"#,
            "07".repeat(32),
            "02".repeat(32)
        );
        assert_eq!(one.notifications(), [expected]);
        hub.tell_statuses(hub.begin_look(), &[(script, Some([2; 32]))], None);
        assert!(one.notifications().is_empty() && other.notifications().is_empty());
    }

    #[test]
    fn news_from_before_the_answer_are_left_out() {
        let hub = Arc::new(Hub::default());
        let mut one = hub.connect();
        let old = hub.begin_look();
        hub.begin_look();
        let look = one.add([7; 32]).unwrap();
        one.told([7; 32], look, &Some([2; 32]));
        hub.tell_statuses(old, &[([7; 32], Some([1; 32]))], None);
        assert!(one.notifications().is_empty());
        hub.tell_statuses(look, &[([7; 32], Some([3; 32]))], None);
        assert_eq!(one.notifications().len(), 1);
    }

    #[test]
    fn tips_are_told_to_those_who_want_them() {
        let hub = Arc::new(Hub::default());
        let (mut one, mut other) = (hub.connect(), hub.connect());
        let look = one.want_tips();
        one.told_tip(look, tip(1).hash);
        for height in [1, 2, 3] {
            hub.tell_tip(News { look: hub.begin_look(), what: tip(height) });
        }
        let lines = one.notifications();
        assert!(lines.len() == 1 && lines[0].contains(r#""height":3"#), "{lines:?}");
        assert!(one.notifications().is_empty() && other.notifications().is_empty());
    }

    #[test]
    fn a_block_is_told_before_its_scripts_and_once() {
        let hub = Arc::new(Hub::default());
        let mut one = hub.connect();
        let look = one.want_tips();
        one.told_tip(look, tip(1).hash);
        let look = one.add([7; 32]).unwrap();
        one.told([7; 32], look, &None);
        let news = News { look: hub.begin_look(), what: tip(2) };
        hub.tell_statuses(hub.begin_look(), &[([7; 32], Some([1; 32]))], Some(news));
        let lines = one.notifications();
        assert!(lines.len() == 2 && lines[0].contains("headers") && lines[1].contains("scripthash"), "{lines:?}");
        hub.tell_tip(news);
        assert!(one.notifications().is_empty());
    }

    #[test]
    fn scripts_are_found_by_prefix() {
        let hub = Arc::new(Hub::default());
        let mut one = hub.connect();
        for script in [[1; 32], [2; 32], [3; 32]] {
            one.add(script).unwrap();
        }
        assert_eq!(hub.scripts_with([&[2, 2][..], &[3; 32][..], &[9][..], &[2][..]]), [[2; 32], [3; 32]]);
        assert_eq!(hub.scripts_after(Some(&[1; 32]), 1), [[2; 32]]);
        assert_eq!(hub.scripts_after(None, 9).len(), 3);
    }

    #[test]
    fn subscriptions_end() {
        let hub = Arc::new(Hub::default());
        let (mut one, mut other) = (hub.connect(), hub.connect());
        for connection in [&mut one, &mut other] {
            connection.add([1; 32]).unwrap();
            connection.add([1; 32]).unwrap();
            connection.add([2; 32]).unwrap();
        }
        assert_eq!(hub.registry.lock().count, 4);
        assert!(one.remove(&[1; 32]) && !one.remove(&[1; 32]));
        drop(other);
        assert_eq!(hub.registry.lock().count, 1);
        assert_eq!(hub.scripts_after(None, 9), [[2; 32]]);
        drop(one);
        let registry = hub.registry.lock();
        assert!(registry.count == 0 && registry.by_script.is_empty() && registry.connections.is_empty());
    }

    #[test]
    fn a_connection_has_a_limit() {
        let hub = Arc::new(Hub::default());
        let mut one = hub.connect();
        let script = |n: usize| {
            let mut script = [0; 32];
            script[..8].copy_from_slice(&n.to_be_bytes());
            script
        };
        assert!((0..MAX_OF_CONNECTION).all(|n| one.add(script(n)).is_ok()));
        assert!(one.add(script(MAX_OF_CONNECTION)).is_err() && one.add(script(0)).is_ok());
    }
}
