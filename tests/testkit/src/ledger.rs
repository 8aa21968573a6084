//! A ledger in plain maps: one block after another, nothing clever. It knows no undo; see [`crate::Oracle`].

use std::collections::{BTreeMap, HashMap};

use bitcoin::{Block, OutPoint, ScriptBuf, Transaction, Txid, block::Header, hashes::Hash};
use cairn_model::{Height, MonoTime, MuHash, MuHashDigest, Network, Sats, TxNum, coin_bytes, is_unspendable};

/// An unspent output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Coin {
    /// Number of the transaction that made it.
    pub tx_num: TxNum,
    /// Its value.
    pub value_sats: Sats,
    /// Its scriptPubKey.
    pub script: ScriptBuf,
    /// Height of the block that made it.
    pub height: Height,
    /// A coinbase made it.
    pub coinbase: bool,
}

/// Changes of one script by one transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HistoryRow {
    /// Number of the transaction.
    pub tx_num: TxNum,
    /// Its id.
    pub txid: Txid,
    /// Height of its block.
    pub height: Height,
    /// Sum of its outputs to the script.
    pub received_sats: Sats,
    /// Sum of the script's coins that it spent, or that it overwrote (BIP 30).
    pub spent_sats: Sats,
}

/// All that ever happened to a script, in sums.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Totals {
    /// Sum of its outputs.
    pub funded_sats: Sats,
    /// Sum of those that were spent or overwritten.
    pub spent_sats: Sats,
    /// Number of its outputs.
    pub funded_count: u64,
    /// Number of those that were spent or overwritten.
    pub spent_count: u64,
    /// Number of transactions that touched it, each once.
    pub tx_count: u64,
    /// The first of them.
    pub first: TxNum,
    /// The last of them.
    pub last: TxNum,
}

impl Totals {
    /// The balance: received less spent.
    #[must_use]
    pub fn balance_sats(&self) -> Sats {
        self.funded_sats - self.spent_sats
    }
}

/// Which input spent an output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spender {
    /// Number of the spending transaction.
    pub tx_num: TxNum,
    /// Index of the input in it.
    pub vin: u32,
}

/// A transaction of the chain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TxRow {
    /// Its id.
    pub txid: Txid,
    /// Height of its block.
    pub height: Height,
    /// Fee; 0 for a coinbase.
    pub fee_sats: Sats,
}

/// A block of the chain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeaderRow {
    /// The header.
    pub header: Header,
    /// The largest header time up to here.
    pub monotone_time: MonoTime,
    /// Number of its coinbase.
    pub first_tx: TxNum,
}

/// The chain up to some block, in plain maps.
#[derive(Clone, Default)]
pub(crate) struct Ledger {
    /// By height.
    pub(crate) headers: Vec<HeaderRow>,
    /// By transaction number.
    pub(crate) txs: Vec<TxRow>,
    /// The coin set.
    pub(crate) coins: BTreeMap<OutPoint, Coin>,
    /// Per script, one row per transaction, in chain order.
    pub(crate) history: BTreeMap<ScriptBuf, Vec<HistoryRow>>,
    /// Per script.
    pub(crate) totals: BTreeMap<ScriptBuf, Totals>,
    /// By the output's transaction number and index: two transactions can have one txid.
    pub(crate) spenders: BTreeMap<(TxNum, u32), Spender>,
    /// Every number that a txid was given, in chain order.
    pub(crate) tx_nums: HashMap<Txid, Vec<TxNum>>,
    /// By transaction number: the coins that it spent, in input order.
    pub(crate) spent: Vec<Vec<Coin>>,
    /// The coins that a coinbase overwrote (BIP 30), with the height of its block.
    pub(crate) overwritten: Vec<(Height, Coin)>,
}

impl Ledger {
    /// Adds the block after the last one.
    ///
    /// # Panics
    /// If it cannot follow, or spends a coin that does not exist.
    pub(crate) fn connect(&mut self, network: Network, block: &Block) {
        let height = self.headers.len() as Height;
        let mut monotone_time = block.header.time;
        match self.headers.last() {
            None => {
                let genesis = bitcoin::constants::genesis_block(network.to_bitcoin()).block_hash();
                assert_eq!(block.block_hash(), genesis, "the first block is not the genesis block of {network}");
            }
            Some(last) => {
                assert_eq!(
                    block.header.prev_blockhash,
                    last.header.block_hash(),
                    "block {height} does not follow the one before"
                );
                monotone_time = monotone_time.max(last.monotone_time);
            }
        }
        let first_tx = TxNum(self.txs.len() as u64);
        self.headers.push(HeaderRow { header: block.header, monotone_time, first_tx });
        for (index, tx) in block.txdata.iter().enumerate() {
            assert_eq!(tx.is_coinbase(), index == 0, "block {height}: the coinbase comes first, and once");
            self.transaction(height, tx);
        }
    }

    fn transaction(&mut self, height: Height, tx: &Transaction) {
        let tx_num = TxNum(self.txs.len() as u64);
        let txid = tx.compute_txid();
        let coinbase = tx.is_coinbase();
        let mut brought: Sats = 0;
        let mut spent = Vec::new();

        for (vin, input) in tx.input.iter().enumerate() {
            if coinbase {
                break;
            }
            let Some(coin) = self.coins.remove(&input.previous_output) else {
                panic!("{txid} at height {height} spends {}, which is no coin", input.previous_output);
            };
            brought += coin.value_sats;
            let spender = Spender { tx_num, vin: vin as u32 };
            let earlier = self.spenders.insert((coin.tx_num, input.previous_output.vout), spender);
            assert_eq!(earlier, None, "{} is spent twice", input.previous_output);
            self.moved_out(&coin, tx_num, txid, height);
            spent.push(coin);
        }
        self.spent.push(spent);

        for (vout, output) in tx.output.iter().enumerate() {
            // The genesis coinbase was never put into the coin set, and what starts with OP_RETURN or is too long to
            // run never is.
            if height == 0 || is_unspendable(output.script_pubkey.as_bytes()) {
                continue;
            }
            let coin = Coin {
                tx_num,
                value_sats: output.value.to_sat(),
                script: output.script_pubkey.clone(),
                height,
                coinbase,
            };
            self.moved_in(&coin, txid);
            if let Some(gone) = self.coins.insert(OutPoint { txid, vout: vout as u32 }, coin) {
                // BIP 30: only two coinbases of mainnet ever had the txid of one with unspent outputs. The older coin
                // is gone, unspent; its script lost it in this transaction.
                assert!(coinbase, "{txid} at height {height} has the txid of a transaction with unspent outputs");
                self.moved_out(&gone, tx_num, txid, height);
                self.overwritten.push((height, gone));
            }
        }

        let carried: Sats = tx.output.iter().map(|o| o.value.to_sat()).sum();
        assert!(coinbase || carried <= brought, "{txid} at height {height} makes money");
        let fee_sats = if coinbase { 0 } else { brought - carried };
        self.txs.push(TxRow { txid, height, fee_sats });
        self.tx_nums.entry(txid).or_default().push(tx_num);
    }

    fn moved_in(&mut self, coin: &Coin, txid: Txid) {
        let (row, totals) = self.touch(&coin.script, coin.tx_num, txid, coin.height);
        row.received_sats += coin.value_sats;
        totals.funded_sats += coin.value_sats;
        totals.funded_count += 1;
    }

    fn moved_out(&mut self, coin: &Coin, tx_num: TxNum, txid: Txid, height: Height) {
        let (row, totals) = self.touch(&coin.script, tx_num, txid, height);
        row.spent_sats += coin.value_sats;
        totals.spent_sats += coin.value_sats;
        totals.spent_count += 1;
    }

    /// The script's row for the current transaction, and its totals.
    fn touch(
        &mut self,
        script: &ScriptBuf,
        tx_num: TxNum,
        txid: Txid,
        height: Height,
    ) -> (&mut HistoryRow, &mut Totals) {
        let totals = self.totals.entry(script.clone()).or_insert(Totals {
            funded_sats: 0,
            spent_sats: 0,
            funded_count: 0,
            spent_count: 0,
            tx_count: 0,
            first: tx_num,
            last: tx_num,
        });
        let rows = self.history.entry(script.clone()).or_default();
        if rows.last().is_none_or(|row| row.tx_num != tx_num) {
            rows.push(HistoryRow { tx_num, txid, height, received_sats: 0, spent_sats: 0 });
            totals.tx_count += 1;
            totals.last = tx_num;
        }
        let row = rows.len() - 1;
        (&mut rows[row], totals)
    }

    /// Sum of all coins.
    pub(crate) fn supply_sats(&self) -> Sats {
        self.coins.values().map(|coin| coin.value_sats).sum()
    }

    /// MuHash of the coin set, coin by coin.
    pub(crate) fn muhash(&self) -> MuHashDigest {
        let mut hash = MuHash::new();
        for (outpoint, coin) in &self.coins {
            let mut bytes = Vec::new();
            let txid = cairn_model::Txid(outpoint.txid.to_byte_array());
            let script = coin.script.as_bytes();
            coin_bytes(&txid, outpoint.vout, coin.height, coin.coinbase, coin.value_sats, script, &mut bytes);
            hash.insert(&bytes);
        }
        hash.finalize()
    }
}
