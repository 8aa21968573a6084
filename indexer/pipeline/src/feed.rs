//! Brings the feed to the tip: announces the events of new blocks, and retracts announcements of blocks that are gone.
//! It writes only rows that follow from the feed and the chain, so that an interrupted process continues where it
//! stopped.

use cairn_domain::{
    dormancy::{AWAKENING_DAYS, AWAKENING_SATS},
    transfers::{ANNOUNCED_CONSOLIDATION, LARGE_SATS},
};
use cairn_model::{BlockHash, DAY_SECS, Height, TxNum};
use cairn_reader::{ReadError, View};
use cairn_tables::{
    Table,
    block_log::BlockLog,
    feed::{Announced, AnnouncedKey, Feed, FeedKind, FeedRow, MAX_TEXT},
    headers::Headers,
    stages::LATE,
};
use cairn_writer::Batch;

use crate::{Engine, PipelineError};

/// Number of the newest blocks that a new feed begins with: two weeks on the main chain.
pub const FIRST_ANNOUNCED: u32 = 2_016;
/// Blocks that are announced in one commit.
const BLOCKS_IN_STEP: u32 = 64;

/// Brings the feed of an engine to its tip.
pub(crate) struct FeedFollower<'e> {
    pub(crate) engine: &'e Engine,
}

impl FeedFollower<'_> {
    /// As [`Engine::follow_feed`].
    pub(crate) fn follow(&self, now: u32) -> Result<bool, PipelineError> {
        if self.engine.tip()?.is_none() {
            return Ok(false);
        }
        let view = self.engine.reader.view()?;
        match begun(&view) {
            Err(ReadError::Unfinished(_) | ReadError::StageVersion { .. }) => return Ok(false),
            other => other?,
        }
        let tip = view.tip().height;
        // The next sequence number, and the height that the feed began with.
        let (mut next, began) = match view.feed().span()? {
            Some(feed) => (feed.last + 1, view.feed().announcement(0)?.map_or(tip, |begun| begun.height)),
            None => {
                let from = (tip + 1).saturating_sub(FIRST_ANNOUNCED);
                self.announce(0, vec![FeedRow { height: from, ..row(FeedKind::Begun, now) }], &[])?;
                (1, from)
            }
        };
        let gone = gone(&view)?;
        let stays = view.feed().announced_below(gone.last().map(|(height, _)| *height))?.map(|(height, _)| height);
        let first = match stays {
            Some(height) => height + 1,
            // Nothing that was announced stays.
            None => began.min(tip),
        };
        let mut wrote = !gone.is_empty();
        if !gone.is_empty() {
            next = self.retract(&view, next, now, (first.saturating_sub(1), &gone))?;
        }
        let mut from = first;
        while from <= tip {
            let to = tip.min(from + (BLOCKS_IN_STEP - 1));
            let mut rows = Vec::new();
            for height in from..=to {
                rows.extend(announcements_of(&view, height, now)?);
            }
            let count = rows.len() as u64;
            self.announce(next, rows, &[])?;
            (next, from, wrote) = (next + count, to + 1, true);
        }
        Ok(wrote)
    }

    /// Writes announcements from a sequence number on, and ends others.
    fn announce(&self, first: u64, rows: Vec<FeedRow>, ended: &[AnnouncedKey]) -> Result<(), PipelineError> {
        self.engine.writer.commit::<PipelineError>(|batch| {
            ended.iter().for_each(|key| batch.delete_row::<Announced>(key));
            for (seq, row) in (first..).zip(rows) {
                if row.retracts.is_none() && is_about_a_block(row.kind) {
                    batch.put_row::<Announced>(&AnnouncedKey { height: row.height, seq }, &());
                }
                batch.put_row::<Feed>(&seq, &row);
            }
            Ok(())
        })
    }

    /// Retracts the announcements of blocks that are gone, the newest first, after announcing that. Returns the next
    /// sequence number.
    fn retract(
        &self,
        view: &View<'_>,
        first: u64,
        now: u32,
        (stays, gone): (Height, &[GoneBlock]),
    ) -> Result<u64, PipelineError> {
        let mut rows = Vec::new();
        let mut ended = Vec::new();
        for (height, seqs) in gone {
            for seq in seqs.iter().rev() {
                ended.push(AnnouncedKey { height: *height, seq: *seq });
                // One that a repair dropped cannot be repeated.
                if let Some(said) = view.feed().announcement(*seq)? {
                    rows.push(FeedRow { at: now, retracts: Some(*seq), ..said });
                }
            }
        }
        let was_tip = rows.iter().find(|row| row.kind == FeedKind::Block).map_or([0; 32], |row| row.id);
        let number = gone.len() as u64;
        rows.insert(0, FeedRow { height: stays, id: was_tip, number, ..row(FeedKind::Reorg, now) });
        let count = rows.len() as u64;
        self.announce(first, rows, &ended)?;
        Ok(first + count)
    }
}

/// The sequence numbers of the announcements of a block that is gone.
type GoneBlock = (Height, Vec<u64>);

fn row(kind: FeedKind, at: u32) -> FeedRow {
    FeedRow { kind, at, height: 0, id: [0; 32], sats: 0, number: 0, text: String::new(), retracts: None }
}

/// True if an announcement ends with a block.
fn is_about_a_block(kind: FeedKind) -> bool {
    !matches!(kind, FeedKind::Begun | FeedKind::Reorg) && !kind.is_of_labels()
}

/// Checks that the tables from which announcements follow can be read.
fn begun(view: &View<'_>) -> Result<(), ReadError> {
    let end = view.tip().tx_end;
    view.movements().transfers_before(end)?;
    view.movements().consolidations_before(end)?;
    view.movements().dormant_before(end)?;
    // All of them have followed it: what they lack would never be announced.
    LATE.iter().try_for_each(|stage| match view.late(stage)? {
        height if height == view.tip().height => Ok(()),
        _ => Err(ReadError::Unfinished(stage.name)),
    })
}

/// Announcements of blocks that are not in the chain, the newest first.
fn gone(view: &View<'_>) -> Result<Vec<GoneBlock>, ReadError> {
    let mut gone = Vec::new();
    let mut below = None;
    while let Some((height, seqs)) = view.feed().announced_below(below)? {
        let block = match seqs.first() {
            Some(first) => view.feed().announcement(*first)?,
            None => None,
        };
        let stays = block.is_some_and(|row| row.kind == FeedKind::Block && view.chain().is(height, &BlockHash(row.id)));
        if stays {
            break;
        }
        below = Some(height);
        gone.push((height, seqs));
    }
    Ok(gone)
}

/// Announcements of a block: itself first, then its transactions in order.
fn announcements_of(view: &View<'_>, height: Height, now: u32) -> Result<Vec<FeedRow>, ReadError> {
    let header = view.header(height)?.ok_or_else(|| lacks::<Headers>(format!("block {height}")))?;
    let end = TxNum(header.first_tx.0 + u64::from(header.tx_count));
    let of = |kind| FeedRow { height, ..row(kind, now) };
    let block = FeedRow { id: header.hash.0, sats: header.fees, number: header.tx_count.into(), ..of(FeedKind::Block) };
    let mut found: Vec<(TxNum, FeedRow)> = Vec::new();
    let mut transfers = view.movements().transfers_before(end)?;
    while let Some(transfer) = transfers.as_mut().map(|walk| walk.older()).transpose()?.flatten() {
        if transfer.tx_num < header.first_tx {
            break;
        }
        let kind = if transfer.coinjoin { FeedKind::CoinJoinRound } else { FeedKind::Whale };
        if transfer.net_external >= LARGE_SATS {
            found.push((transfer.tx_num, FeedRow { sats: transfer.net_external, ..of(kind) }));
        }
    }
    let mut gathered = view.movements().consolidations_before(end)?;
    while let Some((tx_num, row)) = gathered.as_mut().map(|walk| walk.older()).transpose()?.flatten() {
        if tx_num < header.first_tx {
            break;
        }
        if row.sats >= ANNOUNCED_CONSOLIDATION {
            let number = row.inputs.into();
            found.push((tx_num, FeedRow { sats: row.sats, number, ..of(FeedKind::Consolidation) }));
        }
    }
    let mut dormant = view.movements().dormant_before(end)?;
    while let Some((tx_num, row)) = dormant.as_mut().map(|walk| walk.older()).transpose()?.flatten() {
        if tx_num < header.first_tx {
            break;
        }
        if row.0.iter().map(|of| of.sats).fold(0, u64::saturating_add) >= AWAKENING_SATS {
            awakenings(view, tx_num, header.mono_time, |number, sats| {
                found.push((tx_num, FeedRow { sats, number, ..of(FeedKind::Awakening) }));
            })?;
        }
    }
    let mut reached: Option<(TxNum, u64)> = None;
    for (tx_num, _, alert) in view.movements().flush_alerts(header.first_tx..end)? {
        let number = reached.filter(|(of, _)| *of == tx_num).map_or(0, |(_, number)| number + 1);
        reached = Some((tx_num, number));
        found.push((tx_num, FeedRow { sats: alert.sats, number, ..of(FeedKind::DormancyFlush) }));
    }
    let mut wakeups = view.movements().wakeups_before(end)?;
    while let Some((key, row)) = wakeups.as_mut().map(|walk| walk.older()).transpose()?.flatten() {
        if key.tx_num < header.first_tx {
            break;
        }
        found.push((key.tx_num, FeedRow { sats: row.sats, number: key.vin.into(), ..of(FeedKind::WhaleWakeup) }));
    }
    for (tx_num, _, alert) in view.movements().dust_alerts(header.first_tx..end)? {
        found.push((tx_num, FeedRow { number: alert.scripts, ..of(FeedKind::DustCampaign) }));
    }
    found.sort_by_key(|(tx_num, row)| (*tx_num, row.kind, row.number));
    let mut rows = vec![block];
    for (tx_num, row) in found {
        let (txid, _) =
            view.transactions().txid(tx_num)?.ok_or_else(|| lacks::<BlockLog>(format!("transaction {}", tx_num.0)))?;
        rows.push(FeedRow { id: txid.0, ..row });
    }
    Ok(rows)
}

fn lacks<T: Table>(what: String) -> ReadError {
    ReadError::Lacks { table: T::NAME, what }
}

/// Shows the old coins that a transaction spends: the input and the value of each.
fn awakenings(view: &View<'_>, tx_num: TxNum, now: u32, mut show: impl FnMut(u64, u64)) -> Result<(), ReadError> {
    let tx = view.transactions().get(tx_num)?.ok_or_else(|| lacks::<BlockLog>(format!("transaction {}", tx_num.0)))?;
    for (vin, coin) in (0..).zip(view.transactions().inputs(&tx)?) {
        let age = view.chain().get(coin.birth).map_or(0, |born| now.saturating_sub(born.mono_time));
        if coin.value >= AWAKENING_SATS && age >= AWAKENING_DAYS * DAY_SECS {
            show(vin, coin.value);
        }
    }
    Ok(())
}

/// Announces that a document changed labels, in the commit that takes it; nothing if no feed has begun.
pub(crate) fn announce_labels(
    view: &View<'_>,
    batch: &mut Batch<'_>,
    (kind, document, rows, text): (FeedKind, [u8; 32], u64, String),
    now: u32,
) -> Result<(), ReadError> {
    let Some(feed) = view.feed().span()? else { return Ok(()) };
    let text = text.chars().take(MAX_TEXT).collect();
    let of = FeedRow { height: view.tip().height, id: document, number: rows, text, ..row(kind, now) };
    batch.put_row::<Feed>(&(feed.last + 1), &of);
    Ok(())
}
