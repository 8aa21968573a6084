//! Newest alerts of scanners that touch an address. They are found from the address: its transactions of the last 30
//! days are looked up in the tables of alerts. Flushes and wake-ups, which are about clusters, are few: all of the last
//! 30 days are read.

use std::collections::HashMap;

use cairn_domain::{
    dormancy::{AWAKENING_DAYS, AWAKENING_SATS},
    dust::is_dust,
    transfers::LARGE_SATS,
};
use cairn_model::DAY_SECS;
use cairn_reader::{FoundScript, Membership};
use cairn_tables::{block_log::BlockLog, flushes::Holder, history::HistoryEntry};

use super::cluster_alerts::{ClusterAlert, RecentClusterAlerts, if_built};
use crate::{
    definitions::{CONSOLIDATIONS, DORMANCY_FLUSHES, DUST_CAMPAIGNS, FEED, OLD_COINS, WHALE_ALERTS, WHALE_WAKEUPS},
    operation::prelude::*,
    parameters::since::SinceParam,
    wallets::surveillance::{Judge, is_of_campaign},
    window::Window,
};

/// Days before the newest block that are covered.
const DAYS: u32 = 30;
pub(super) const MAX_SIGNALS: usize = 20;
/// Most transactions of the address that are looked up, the newest.
const MAX_ENTRIES: usize = 500;
/// Transactions of a history that are read at a time.
const ENTRIES: usize = 128;
/// Most transactions whose inputs are read for old coins, the newest.
const MAX_OLD_SPENDS: usize = 50;
/// Most pings of dust that are judged, the newest.
const MAX_PINGS: usize = 20;
/// Why a scanner says nothing.
pub(super) const REBUILT: &str = "the tables of this scanner are being rebuilt";
/// Why a scanner covers a part.
const CUT: &str = "the address has more transactions than are looked up; only the newest are";

/// A scanner, by the type of its events.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Scanner {
    WhaleTx,
    CoinjoinRound,
    Consolidation,
    Awakening,
    DormancyFlush,
    WhaleWakeup,
    DustCampaign,
}

/// The part of an address in the transaction of an alert.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "SignalRole")]
pub(crate) enum Role {
    Sender,
    Recipient,
    SenderAndRecipient,
    Cluster,
}

/// Whether a scanner covers the last 30 days.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ScannerState")]
pub(crate) enum State {
    Examined,
    Cut,
    Unavailable,
}

/// An alert of a scanner that touches the address.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ScannerSignal {
    /// `whale_tx`, `coinjoin_round`, `consolidation`, `awakening`, `dormancy_flush`, `whale_wakeup` or `dust_campaign`.
    scanner: Scanner,
    /// Id of the transaction of the alert; for a dormancy_flush, of its newest spend that involves the address.
    txid: String,
    height: Height,
    /// Part of the address in this transaction: `sender` (the transaction spends from it), `recipient`,
    /// `sender_and_recipient`, or `cluster` if only another script of its cluster takes part.
    role: Role,
    /// Value that the address spends in the transaction, or else receives. With the role `cluster`: value of the old
    /// coins that the alert is about.
    value_sats: u64,
}

/// Coverage of a scanner: without a signal of it, the address was in no such alert only as far as it is covered.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ScannerCoverage {
    scanner: Scanner,
    /// `examined` for all of the last 30 days; `cut` if older blocks are not covered; `unavailable`.
    state: State,
    /// Why the state is not `examined`; otherwise null.
    reason: Option<&'static str>,
    /// Lowest block height that is covered; null if the scanner is unavailable.
    covered_from_height: Option<Height>,
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
}

pub(super) struct Scanned {
    pub(super) signals: Vec<ScannerSignal>,
    pub(super) omitted: u64,
    pub(super) coverage: Vec<ScannerCoverage>,
}

impl Scanner {
    const fn definition(self) -> &'static str {
        match self {
            Scanner::WhaleTx => WHALE_ALERTS,
            Scanner::CoinjoinRound => FEED,
            Scanner::Consolidation => CONSOLIDATIONS,
            Scanner::Awakening => OLD_COINS,
            Scanner::DormancyFlush => DORMANCY_FLUSHES,
            Scanner::WhaleWakeup => WHALE_WAKEUPS,
            Scanner::DustCampaign => DUST_CAMPAIGNS,
        }
    }
}

impl ScannerSignal {
    pub(super) fn scanner(&self) -> Scanner {
        self.scanner
    }
}

impl ScannerCoverage {
    pub(super) fn is_cut(&self) -> bool {
        self.state != State::Examined
    }

    pub(super) fn scanner(&self) -> Scanner {
        self.scanner
    }
}

impl Role {
    fn of(entry: &HistoryEntry) -> Self {
        match (entry.sent > 0, entry.received > 0) {
            (true, true) => Role::SenderAndRecipient,
            (true, false) => Role::Sender,
            _ => Role::Recipient,
        }
    }
}

/// An alert that was found, before its transaction is looked up.
struct Hit {
    tx_num: TxNum,
    scanner: Scanner,
    role: Role,
    sats: Sats,
}

impl Hit {
    fn of(entry: &HistoryEntry, scanner: Scanner) -> Self {
        let sats = if entry.sent > 0 { entry.sent } else { entry.received };
        Hit { tx_num: entry.tx_num, scanner, role: Role::of(entry), sats }
    }
}

/// A search for the alerts of one address.
struct Search<'s> {
    ctx: &'s Ctx<'s>,
    view: &'s View<'s>,
    window: Window,
    /// Transactions of the address in the window, the newest first.
    entries: Vec<HistoryEntry>,
    /// True if there are more.
    is_cut: bool,
    hits: Vec<Hit>,
    coverage: Vec<ScannerCoverage>,
}

/// Alerts of the last 30 days that touch a script. Reads at most 500 entries of its history, some four rows for each,
/// and the flushes and wake-ups of these days, unless another row of the batch has read them.
pub(super) fn scan(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    script: Option<&FoundScript>,
    member: Option<&Membership>,
    recent: &mut Option<RecentClusterAlerts>,
) -> Result<Scanned, ApiError> {
    let window = Window::of(view, Some(SinceParam::Days(DAYS)), None)?;
    let (entries, is_cut) = match script {
        Some(script) => entries(ctx, view, script, window.first)?,
        None => (Vec::new(), false),
    };
    let mut search = Search { ctx, view, window, entries, is_cut, hits: Vec::new(), coverage: Vec::new() };
    search.transfers()?;
    search.consolidations()?;
    search.awakenings()?;
    let recent = match recent {
        Some(known) => known,
        None => recent.insert(RecentClusterAlerts::read(ctx, view, &window)?),
    };
    search.of_clusters(script, member, recent);
    search.dust(script)?;
    search.finish()
}

/// Transactions of a script from `first` on, the newest first, and whether there are more.
fn entries(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    script: &FoundScript,
    first: TxNum,
) -> Result<(Vec<HistoryEntry>, bool), ApiError> {
    let mut found = Vec::new();
    loop {
        ctx.work.poll()?;
        let page = view.scripts().history(script, found.len() as u64, ENTRIES)?;
        for entry in &page {
            if entry.tx_num < first {
                return Ok((found, false));
            }
            if found.len() == MAX_ENTRIES {
                return Ok((found, true));
            }
            found.push(*entry);
        }
        if page.len() < ENTRIES {
            return Ok((found, false));
        }
    }
}

impl Search<'_> {
    /// Notes how far a scanner covers the window: `None` if its tables are being rebuilt.
    fn covers(&mut self, scanner: Scanner, from: Option<Height>, cut: &'static str) {
        let (state, reason) = match from {
            None => (State::Unavailable, Some(REBUILT)),
            Some(from) if from > self.window.since => (State::Cut, Some(cut)),
            Some(_) => (State::Examined, None),
        };
        let definition = scanner.definition();
        self.coverage.push(ScannerCoverage { scanner, state, reason, covered_from_height: from, definition });
    }

    /// Lowest height that the entries which were read cover.
    fn covered_from(&self) -> Height {
        let oldest = self.entries.last().filter(|_| self.is_cut).map(|entry| entry.tx_num);
        oldest.map_or(self.window.since, |oldest| self.height_of(oldest).saturating_add(1))
    }

    fn height_of(&self, tx_num: TxNum) -> Height {
        self.view.chain().height_of(tx_num).unwrap_or_default()
    }

    fn tx_nums(&self) -> Vec<TxNum> {
        self.entries.iter().map(|entry| entry.tx_num).collect()
    }

    fn transfers(&mut self) -> Result<(), ApiError> {
        let found = if_built(self.view.movements().transfers_of(&self.tx_nums()))?;
        for (entry, transfer) in self.entries.iter().zip(found.iter().flatten()) {
            let Some(transfer) = transfer.filter(|of| of.net_external >= LARGE_SATS) else { continue };
            let scanner = if transfer.coinjoin { Scanner::CoinjoinRound } else { Scanner::WhaleTx };
            self.hits.push(Hit::of(entry, scanner));
        }
        let from = found.map(|_| self.covered_from());
        self.covers(Scanner::WhaleTx, from, CUT);
        self.covers(Scanner::CoinjoinRound, from, CUT);
        Ok(())
    }

    fn consolidations(&mut self) -> Result<(), ApiError> {
        let found = if_built(self.view.movements().consolidations_of(&self.tx_nums()))?;
        for (entry, _) in self.entries.iter().zip(found.iter().flatten()).filter(|(_, row)| row.is_some()) {
            self.hits.push(Hit::of(entry, Scanner::Consolidation));
        }
        let from = found.map(|_| self.covered_from());
        self.covers(Scanner::Consolidation, from, CUT);
        Ok(())
    }

    fn awakenings(&mut self) -> Result<(), ApiError> {
        let found = if_built(self.view.movements().dormant_of(&self.tx_nums()))?;
        let mut from = self.covered_from();
        let is_large = |row: &cairn_tables::ages::DormantRow| {
            row.0.iter().map(|of| of.sats).fold(0, Sats::saturating_add) >= AWAKENING_SATS
        };
        let rows = self.entries.iter().zip(found.iter().flatten());
        let old = rows.filter(|(_, row)| row.as_ref().is_some_and(is_large)).map(|(entry, _)| *entry);
        for (number, entry) in old.collect::<Vec<_>>().into_iter().enumerate() {
            if number == MAX_OLD_SPENDS {
                from = from.max(self.height_of(entry.tx_num).saturating_add(1));
                break;
            }
            self.ctx.work.poll()?;
            if spends_an_old_coin(self.view, entry.tx_num)? {
                self.hits.push(Hit::of(&entry, Scanner::Awakening));
            }
        }
        self.covers(Scanner::Awakening, found.map(|_| from), CUT);
        Ok(())
    }

    /// Alerts about clusters: those about the cluster of the script, and those whose transactions involve it.
    fn of_clusters(&mut self, script: Option<&FoundScript>, member: Option<&Membership>, recent: &RecentClusterAlerts) {
        let root = member.and_then(|member| member.root).map(|root| Holder::Cluster(root.0));
        let own = root.or(script.map(|script| Holder::Script(script.id)));
        let entries: HashMap<TxNum, HistoryEntry> = self.entries.iter().map(|entry| (entry.tx_num, *entry)).collect();
        for (scanner, found) in [(Scanner::DormancyFlush, &recent.flushes), (Scanner::WhaleWakeup, &recent.wakeups)] {
            for alert in found.iter().flat_map(|found| &found.alerts) {
                let involved = alert.txs.iter().rev().find_map(|tx_num| entries.get(tx_num));
                let of_cluster = || Some(alert).filter(|alert| own == Some(alert.holder)).map(ClusterAlert::hit);
                let hit = involved
                    .map(|entry| Hit::of(entry, scanner))
                    .or_else(|| of_cluster().map(|(tx_num, sats)| Hit { tx_num, scanner, role: Role::Cluster, sats }));
                self.hits.extend(hit);
            }
            self.covers(scanner, found.as_ref().map(|found| found.covered_from), "only the newest alerts are read");
        }
    }

    fn dust(&mut self, script: Option<&FoundScript>) -> Result<(), ApiError> {
        let Some(followed) = if_built(self.view.movements().dust_height())? else {
            self.covers(Scanner::DustCampaign, None, CUT);
            return Ok(());
        };
        debug_assert!(followed <= self.view.tip().height, "a stage ahead of the chain");
        let first = script.map(|script| script.totals.first.tx_num);
        let is_payment = |entry: &&HistoryEntry| {
            is_dust(entry.received) && entry.sent == 0 && first.is_some_and(|first| entry.tx_num > first)
        };
        let payments: Vec<HistoryEntry> = self.entries.iter().filter(is_payment).copied().collect();
        let rows = self.view.movements().dust_pings(&payments.iter().map(|entry| entry.tx_num).collect::<Vec<_>>())?;
        let pings = payments.iter().zip(rows).filter_map(|(entry, row)| Some((*entry, row?)));
        let (mut judge, mut from) = (Judge::new(self.view), self.covered_from());
        for (number, (entry, row)) in pings.enumerate() {
            if number == MAX_PINGS {
                from = from.max(self.height_of(entry.tx_num).saturating_add(1));
                break;
            }
            self.ctx.work.poll()?;
            if is_of_campaign(self.view, &mut judge, entry.tx_num, &row)? {
                self.hits.push(Hit::of(&entry, Scanner::DustCampaign));
            }
        }
        self.covers(Scanner::DustCampaign, Some(from), CUT);
        Ok(())
    }

    /// The newest signals. A row read for each.
    fn finish(mut self) -> Result<Scanned, ApiError> {
        self.hits.sort_by_key(|hit| (std::cmp::Reverse(hit.tx_num), hit.scanner));
        let omitted = self.hits.len().saturating_sub(MAX_SIGNALS) as u64;
        self.hits.truncate(MAX_SIGNALS);
        self.coverage.sort_by_key(|coverage| coverage.scanner);
        let signal = |hit: &Hit| -> Result<ScannerSignal, ApiError> {
            let missing = || lacks::<BlockLog>(format!("transaction {}", hit.tx_num.0));
            let (txid, height) = self.view.transactions().txid(hit.tx_num)?.ok_or_else(missing)?;
            let Hit { scanner, role, sats, .. } = *hit;
            Ok(ScannerSignal { scanner, txid: txid.to_string(), height, role, value_sats: sats })
        };
        let signals = self.hits.iter().map(signal).collect::<Result<_, _>>()?;
        Ok(Scanned { signals, omitted, coverage: self.coverage })
    }
}

/// True if a transaction spends a coin that is an awakening. Two rows read.
fn spends_an_old_coin(view: &View<'_>, tx_num: TxNum) -> Result<bool, ApiError> {
    let missing = || lacks::<BlockLog>(format!("transaction {}", tx_num.0));
    let tx = view.transactions().get(tx_num)?.ok_or_else(missing)?;
    let now = view.chain().get(tx.height).ok_or_else(missing)?.mono_time;
    let born = |birth: Height| view.chain().get(birth).map_or(now, |block| block.mono_time);
    let is_old = |coin: &cairn_model::SpentCoin| {
        coin.value >= AWAKENING_SATS && now.saturating_sub(born(coin.birth)) >= AWAKENING_DAYS * DAY_SECS
    };
    Ok(view.transactions().inputs(&tx)?.iter().any(is_old))
}
