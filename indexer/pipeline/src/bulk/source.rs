//! Whole resolved blocks in order, from block files or from the journal. For each output, a block says whether it is
//! spent later.

use std::{
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hasher},
};

use cairn_model::{
    Block, InputFlags, Outpoint, OutputMeta, Overwritten, ScriptId, ScriptPrefix, ScriptTemplate, SpentCoin, TxNum,
};
use cairn_reader::Facts;
use cairn_sources::{BlockFiles, BlockRef, Decoded, Survey, Undo};
use cairn_stages::{CHAIN, StageError};
use rayon::prelude::*;

use super::{
    BulkOptions, lacks_undo,
    link::batches,
    manifest::{FoldState, Manifest},
    notes::{NotedBlocks, Notes},
    streams::{FoundCoin, Spent, SpilledPrevout, Stream, rows_of_block},
};
use crate::{
    PipelineError,
    collisions::Collisions,
    resolve::{ChainPosition, check_amounts, unresolved},
};

/// A block, and which of its outputs are spent before the last block that is indexed.
pub(crate) struct Resolved {
    pub(crate) block: Block,
    /// Besides [`Block::outputs`].
    pub(crate) spent: Vec<bool>,
    /// Marks of its coins that are spent less the marks of the coins that it spends; over a whole chain it is 0.
    pub(crate) balance: u64,
}

pub(crate) trait Blocks: Send {
    /// The next few; `None` at the end.
    fn next_batch(&mut self) -> Result<Option<Vec<Resolved>>, PipelineError>;

    /// Transactions whose coins may vanish without being spent (BIP 30).
    fn repeated(&self) -> HashSet<TxNum>;

    /// Notes the state from which a later run continues after the last batch.
    fn note(&self, manifest: &mut Manifest);

    /// Removes what no later batch needs; called once that is noted and durable.
    fn remove_read(&self) -> Result<(), PipelineError>;
}

/// Reason given where undo data and blocks disagree about a coin.
pub(crate) const OTHER_COIN: &str = "a coin was spent as another than it was made";

/// Sums of marks show whether every coin was spent as it was made: by value, script and kind. The salt is random, so
/// nobody can make two coins with one mark.
#[derive(Clone, Copy)]
pub(crate) struct Marks([u64; 4]);

impl Marks {
    pub(crate) fn new(salt: u64) -> Self {
        Marks([0, 1, 2, 3].map(|n| {
            let mut hasher = DefaultHasher::new();
            hasher.write_u64(salt);
            hasher.write_u64(n);
            hasher.finish()
        }))
    }

    fn of(self, outpoint: Outpoint, value: u64, script: ScriptId, coinbase: bool) -> u64 {
        let fold = |a: u64, b: u64| {
            let product = u128::from(a) * u128::from(b);
            product as u64 ^ (product >> 64) as u64
        };
        let Marks(keys) = self;
        let place = fold(outpoint.tx_num.0 ^ keys[0], u64::from(outpoint.vout) ^ keys[1]);
        let prefix = u64::from_le_bytes(script.prefix.0);
        let what = fold(prefix ^ keys[2], value << 9 ^ u64::from(script.ordinal) << 1 ^ u64::from(coinbase) ^ keys[3]);
        fold(place ^ keys[3], what ^ keys[0])
    }

    /// The balance of a block whose spent outputs are known.
    pub(crate) fn balance(self, block: &Block, spent: &[bool]) -> u64 {
        let mut balance = 0u64;
        for (i, tx) in block.txs.iter().enumerate() {
            for (vout, o) in tx.outputs.clone().enumerate() {
                let output = &block.outputs[o as usize];
                if spent.get(o as usize) == Some(&true) {
                    let outpoint = Outpoint { tx_num: block.tx_num(i), vout: vout as u32 };
                    balance = balance.wrapping_add(self.of(outpoint, output.value, output.id, i == 0));
                }
            }
        }
        for c in &block.inputs {
            balance = balance.wrapping_sub(self.of(c.outpoint, c.value, c.script, c.flags.coinbase));
        }
        balance
    }
}

/// Why the outputs that are spent cannot be.
pub(crate) enum BadSpend {
    /// There is no such output, or it is not a coin.
    NeverMade(Spent),
    Twice,
}

impl From<BadSpend> for PipelineError {
    fn from(bad: BadSpend) -> Self {
        let what = match bad {
            BadSpend::NeverMade(_) => "an output is spent that was never made",
            BadSpend::Twice => "an output is spent twice",
        };
        StageError::Contradiction { stage: CHAIN, what }.into()
    }
}

/// Which outputs of a block are spent: `rows` are those of its transactions, in order.
pub(crate) fn spent_outputs(block: &Block, rows: &[Spent]) -> Result<Vec<bool>, BadSpend> {
    let mut spent = vec![false; block.outputs.len()];
    for row in rows {
        let tx = row.funding.checked_sub(block.first_tx.0).and_then(|i| block.txs.get(i as usize));
        let index = tx.and_then(|tx| tx.outputs.start.checked_add(row.vout).filter(|o| *o < tx.outputs.end));
        let index = index.filter(|o| block.outputs[*o as usize].spendable);
        let index = index.ok_or(BadSpend::NeverMade(*row))?;
        if std::mem::replace(&mut spent[index as usize], true) {
            return Err(BadSpend::Twice);
        }
    }
    Ok(spent)
}

/// The files' blocks, resolved with the results of link, join and coins.
pub(crate) struct FileBlocks<'s> {
    files: &'s BlockFiles,
    survey: &'s Survey,
    facts: &'s Facts,
    options: BulkOptions,
    noted: NotedBlocks<'s>,
    batches: Box<dyn Iterator<Item = Vec<BlockRef>> + Send + Sync + 's>,
    prevouts: Stream<SpilledPrevout>,
    spent: Stream<Spent>,
    coins: Stream<FoundCoin>,
    /// First transaction of each block.
    firsts: Vec<u64>,
    collisions: Collisions,
    repeats: Repeats,
    marks: Marks,
    /// First transaction after the last batch.
    next_tx: u64,
}

impl<'s> FileBlocks<'s> {
    pub(crate) fn new(
        manifest: &Manifest,
        files: &'s BlockFiles,
        survey: &'s Survey,
        facts: &'s Facts,
        options: &BulkOptions,
        from: u32,
    ) -> Self {
        let prefixes = manifest.colliding_prefixes.iter().map(|p| ScriptPrefix(*p));
        let mut collisions = Collisions::of_prefixes(prefixes);
        collisions.know(manifest.collisions.iter().map(|(prefix, scripts)| {
            (ScriptPrefix(*prefix), scripts.iter().map(|(first, script)| (TxNum(*first), script.clone())).collect())
        }));
        FileBlocks {
            files,
            survey,
            facts,
            options: *options,
            noted: NotedBlocks::new(manifest, files, facts.script_prefix),
            batches: Box::new(batches(survey, from, options.to, manifest.plan.sizes.batch_bytes)),
            prevouts: Stream::new(manifest),
            spent: Stream::new(manifest),
            coins: Stream::new(manifest),
            firsts: survey.blocks(0..options.to + 1).map(|b| b.first_tx.0).collect(),
            collisions,
            repeats: Repeats::new(manifest),
            marks: Marks::new(manifest.salt),
            next_tx: 0,
        }
    }

    fn read(
        &self,
        at: &BlockRef,
        notes: &Notes,
        bufs: &mut (Vec<u8>, Vec<u8>),
    ) -> Result<(Decoded, Option<Undo>), PipelineError> {
        let decoded = self.noted.read(at, notes, &mut bufs.0)?;
        if at.height == 0 || lacks_undo(at.undo.is_some(), at.height, &self.options) {
            return Ok((decoded, None));
        }
        let undo = self.files.read_undo(at, &decoded, &mut bufs.1)?;
        Ok((decoded, Some(undo.ok_or(PipelineError::UndoContradicts(at.height))?)))
    }

    /// `block` is not resolved yet, `decoded` what is left of it.
    fn resolve(
        &self,
        at: &BlockRef,
        mut block: Block,
        decoded: &Decoded,
        undo: Option<&Undo>,
        rows: &BatchRows,
    ) -> Result<Resolved, PipelineError> {
        let txs = at.first_tx.0..at.first_tx.0 + u64::from(at.tx_count);
        let mut prevouts = rows_of_block(&rows.prevouts, txs.clone()).iter();
        let mut coins = rows_of_block(&rows.coins, txs.clone()).iter();
        for i in 0..block.txs.len() {
            let spender = block.tx_num(i).0;
            for (vin, input) in block.txs[i].inputs.clone().enumerate() {
                let prevout = prevouts.next().filter(|p| p.spender == spender && p.vin == vin as u32);
                let prevout = prevout.ok_or_else(|| self.prevouts.damaged())?;
                let outpoint = Outpoint { tx_num: TxNum(prevout.funding), vout: prevout.vout };
                let flags = decoded.flags[input as usize];
                let coin = match undo {
                    Some(undo) => self.coin_of_undo(at, undo, input, outpoint, flags)?,
                    None => {
                        let coin = coins.next().filter(|c| c.spender == spender && c.vin == vin as u32);
                        coin.and_then(|coin| self.coin_found(coin, outpoint, flags))
                            .ok_or_else(|| self.coins.damaged())?
                    }
                };
                block.inputs.push(coin);
            }
        }
        if prevouts.next().is_some() {
            return Err(self.prevouts.damaged());
        }
        check_amounts(self.facts.network, &block)?;
        let spent = spent_outputs(&block, rows_of_block(&rows.spent, txs)).map_err(|bad| match bad {
            BadSpend::NeverMade(coin) => self.missing(&block, coin),
            BadSpend::Twice => bad.into(),
        })?;
        let balance = self.marks.balance(&block, &spent);
        Ok(Resolved { block, spent, balance })
    }

    /// The error about a coin of a block that does not exist. Only now is it asked who wants it.
    fn missing(&self, block: &Block, coin: Spent) -> PipelineError {
        let spender = match self.prevouts.find(coin.funding, |p| p.funding == coin.funding && p.vout == coin.vout) {
            Ok(Some(prevout)) => prevout.spender,
            Ok(None) => return self.spent.damaged(),
            Err(e) => return e,
        };
        let height = self.firsts.partition_point(|first| *first <= spender).saturating_sub(1) as u32;
        let tx = coin.funding.checked_sub(block.first_tx.0).and_then(|i| block.txs.get(i as usize));
        PipelineError::MissingCoin {
            height,
            hash: self.survey.block(height).map(|b| b.hash).unwrap_or_default(),
            txid: tx.map(|tx| tx.txid).unwrap_or_default(),
            vout: coin.vout,
        }
    }

    fn coin_of_undo(
        &self,
        at: &BlockRef,
        undo: &Undo,
        input: u32,
        outpoint: Outpoint,
        flags: InputFlags,
    ) -> Result<SpentCoin, PipelineError> {
        // `read_undo` has compared the numbers of inputs. Its checksum cannot distinguish siblings: the height of the
        // funding block must agree as well, and the balance of marks compares value and script.
        let coin = &undo.coins[input as usize];
        let birth = self.firsts.partition_point(|first| *first <= outpoint.tx_num.0).saturating_sub(1) as u32;
        let script = self.script_id(undo.script(coin)).filter(|_| birth == coin.birth);
        let script = script.ok_or(PipelineError::UndoContradicts(at.height))?;
        let flags = InputFlags { coinbase: coin.coinbase, template: ScriptTemplate::of(undo.script(coin)), ..flags };
        Ok(SpentCoin { outpoint, value: coin.value, script, birth, flags })
    }

    fn coin_found(&self, coin: &FoundCoin, outpoint: Outpoint, flags: InputFlags) -> Option<SpentCoin> {
        let script = self.script_id(&coin.script)?;
        let flags = InputFlags { coinbase: coin.coinbase, template: ScriptTemplate::of(&coin.script), ..flags };
        Some(SpentCoin { outpoint, value: coin.value, script, birth: coin.birth, flags })
    }

    fn script_id(&self, script: &[u8]) -> Option<ScriptId> {
        let prefix = ScriptPrefix::of(script, self.facts.script_prefix);
        self.collisions.find(prefix, script).map(|ordinal| ScriptId { prefix, ordinal })
    }

    /// Scripts with colliding prefixes get ordinals in the order of their first appearance.
    fn give_ordinals(&mut self, block: &mut Block) -> Result<(), PipelineError> {
        for i in 0..block.txs.len() {
            let tx_num = block.tx_num(i);
            for o in block.txs[i].outputs.clone() {
                let output: &mut OutputMeta = &mut block.outputs[o as usize];
                if output.spendable && self.collisions.has(output.id.prefix) {
                    let script = &block.scripts[output.script.start as usize..output.script.end as usize];
                    output.id.ordinal = self.collisions.assign(output.id.prefix, script, tx_num)?;
                }
            }
        }
        Ok(())
    }
}

struct BatchRows {
    prevouts: Vec<SpilledPrevout>,
    spent: Vec<Spent>,
    coins: Vec<FoundCoin>,
}

impl Blocks for FileBlocks<'_> {
    fn next_batch(&mut self) -> Result<Option<Vec<Resolved>>, PipelineError> {
        let Some(batch) = self.batches.next() else { return Ok(None) };
        let (Some(first), Some(last)) = (batch.first(), batch.last()) else { return Ok(None) };
        self.next_tx = last.first_tx.0 + u64::from(last.tx_count);
        let txs = first.first_tx.0..self.next_tx;
        let (prevouts, (spent, coins)) = {
            let FileBlocks { prevouts, spent, coins, .. } = self;
            let rest = || rayon::join(|| spent.take(txs.clone()), || coins.take(txs.clone()));
            rayon::join(|| prevouts.take(txs.clone()), rest)
        };
        let rows = BatchRows { prevouts: prevouts?, spent: spent?, coins: coins? };
        let notes = self.noted.take(&batch)?;
        let mut blocks = if self.collisions.is_empty() {
            let (this, rows) = (&*self, &rows);
            let whole = |bufs: &mut _, at: &BlockRef| {
                let (mut decoded, undo) = this.read(at, &notes, bufs)?;
                let block = unresolved(&mut decoded, ChainPosition::of(at));
                this.resolve(at, block, &decoded, undo.as_ref(), rows)
            };
            batch.par_iter().map_init(Default::default, whole).collect::<Result<Vec<_>, PipelineError>>()?
        } else {
            // Ordinals go by order of appearance, so all are given before any block is resolved.
            let this = &*self;
            let read = |bufs: &mut _, at: &BlockRef| {
                let (mut decoded, undo) = this.read(at, &notes, bufs)?;
                Ok((*at, unresolved(&mut decoded, ChainPosition::of(at)), decoded, undo))
            };
            let mut read =
                batch.par_iter().map_init(Default::default, read).collect::<Result<Vec<_>, PipelineError>>()?;
            read.iter_mut().try_for_each(|(_, block, ..)| self.give_ordinals(block))?;
            let this = &*self;
            let resolve = |(at, block, decoded, undo): (BlockRef, Block, Decoded, Option<Undo>)| {
                this.resolve(&at, block, &decoded, undo.as_ref(), &rows)
            };
            read.into_par_iter().map(resolve).collect::<Result<Vec<_>, _>>()?
        };
        blocks.iter_mut().for_each(|resolved| self.repeats.pass(&mut resolved.block));
        Ok(Some(blocks))
    }

    fn repeated(&self) -> HashSet<TxNum> {
        self.repeats.earlier.keys().copied().collect()
    }

    fn note(&self, manifest: &mut Manifest) {
        self.repeats.save(&mut manifest.fold);
        let rows = self.collisions.rows().into_iter();
        manifest.collisions = rows
            .map(|(prefix, scripts)| (prefix.0, scripts.into_iter().map(|(first, s)| (first.0, s)).collect()))
            .collect();
    }

    fn remove_read(&self) -> Result<(), PipelineError> {
        self.prevouts.remove_before(self.next_tx)?;
        self.spent.remove_before(self.next_tx)?;
        self.noted.remove_before(self.next_tx)?;
        self.coins.remove_before(self.next_tx)
    }
}

/// Transactions that share a txid with an earlier one (BIP 30): whatever is left of the earlier one's coins goes.
struct Repeats {
    /// To each such transaction, the ones before it.
    earlier: HashMap<TxNum, Vec<TxNum>>,
    /// Coins of such transactions that are not spent.
    live: HashMap<TxNum, Vec<SpentCoin>>,
}

impl Repeats {
    fn new(manifest: &Manifest) -> Self {
        let mut live: HashMap<TxNum, Vec<SpentCoin>> = HashMap::new();
        for &(tx_num, vout, value, script, birth, template) in &manifest.fold.live {
            let outpoint = Outpoint { tx_num: TxNum(tx_num), vout };
            let template = ScriptTemplate::from_code(template).unwrap_or_default();
            let flags = InputFlags { coinbase: true, anyone_can_pay: false, template };
            let coin = SpentCoin { outpoint, value, script: ScriptId::from_bytes(script), birth, flags };
            live.entry(outpoint.tx_num).or_default().push(coin);
        }
        Repeats { earlier: manifest.repeats().collect(), live }
    }

    fn save(&self, state: &mut FoldState) {
        let mut coins: Vec<_> = self.live.values().flatten().collect();
        coins.sort_unstable_by_key(|c| (c.outpoint.tx_num, c.outpoint.vout));
        let row = |c: &&SpentCoin| {
            let (outpoint, template) = (c.outpoint, c.flags.template.code());
            (outpoint.tx_num.0, outpoint.vout, c.value, c.script.to_bytes(), c.birth, template)
        };
        state.live = coins.iter().map(row).collect();
    }

    fn pass(&mut self, block: &mut Block) {
        if self.earlier.is_empty() {
            return;
        }
        // Only coinbases can repeat while coins are left of an earlier one; see `resolve::overwritten`.
        let tx_num = block.first_tx;
        if let Some(earlier) = self.earlier.get(&tx_num) {
            let gone = earlier.iter().filter_map(|e| self.live.remove(e)).flatten();
            block.overwritten.extend(gone.map(|coin| Overwritten { by: 0, coin }));
            let made = block.txs.first().map_or(&[][..], |tx| block.outputs_of(tx)).iter().enumerate();
            let coins = made.filter(|(_, o)| o.spendable).map(|(vout, o)| SpentCoin {
                outpoint: Outpoint { tx_num, vout: vout as u32 },
                value: o.value,
                script: o.id,
                birth: block.height,
                flags: InputFlags {
                    coinbase: true,
                    anyone_can_pay: false,
                    template: ScriptTemplate::of(block.script(o)),
                },
            });
            self.live.insert(tx_num, coins.collect());
        }
        for input in &block.inputs {
            if let Some(coins) = self.live.get_mut(&input.outpoint.tx_num) {
                coins.retain(|c| c.outpoint != input.outpoint);
            }
        }
    }
}
