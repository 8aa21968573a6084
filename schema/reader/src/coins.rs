//! Coins by outpoint, for unconfirmed transactions.

use cairn_model::{Height, Outpoint, Sats, TxNum, Txid};
use cairn_tables::{
    Table,
    block_log::{BlockLog, Decoded, LogRow, TXS_PER_ROW},
    coins::{Coin, Coins},
    stages::COINS,
    tx_nums::TxNums,
};
use rocksdb::DBPinnableSlice;

use crate::{ReadError, subjects::TransactionView};

/// Rows that are held at a time while many are looked up.
const AT_A_TIME: usize = 64;

/// A confirmed output that is not spent at the view's tip.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnspentCoin {
    /// Its value.
    pub value: Sats,
    /// Its whole scriptPubKey.
    pub script: Box<[u8]>,
    /// Height of the block that created it.
    pub height: Height,
    /// True if it is an output of a coinbase.
    pub coinbase: bool,
}

/// A candidate for a requested coin: its txid has the same prefix.
struct Candidate {
    /// Index of the requested outpoint.
    question: usize,
    at: Outpoint,
    coin: Coin,
}

impl<'v> TransactionView<'v> {
    /// The coin of an outpoint; `None` if the output does not exist, is spent or unspendable. At most four row reads,
    /// and three more for each other transaction with the same txid prefix.
    pub fn coin(self, txid: &Txid, vout: u32) -> Result<Option<UnspentCoin>, ReadError> {
        Ok(self.coins(&[(*txid, vout)])?.pop().flatten())
    }

    /// The coins of many outpoints, in the order of the request. As [`TransactionView::coin`], but read in disk order.
    pub fn coins(self, outpoints: &[(Txid, u32)]) -> Result<Vec<Option<UnspentCoin>>, ReadError> {
        self.view.require(&COINS)?;
        let mut found = vec![None; outpoints.len()];
        let (mut decoded, mut row) = (Decoded::default(), None);
        for candidate in self.candidates(outpoints)? {
            let (txid, vout) = &outpoints[candidate.question];
            let tx_num = candidate.at.tx_num;
            let height = self.one_logged(tx_num, &mut row, &mut decoded)?;
            let tx = decoded.txs.first().filter(|tx| tx.txid == *txid);
            let Some(tx) = tx else { continue };
            let output = decoded.outputs_of(tx).get(*vout as usize);
            let output = output.ok_or_else(|| self.view.broken("a coin without an output"))?;
            let Coin { value, coinbase, .. } = candidate.coin;
            let script = decoded.script(output).into();
            found[candidate.question] = Some(UnspentCoin { value, script, height, coinbase });
        }
        Ok(found)
    }

    /// The unspent outputs of transactions with the requested txid prefixes, in chain order.
    fn candidates(self, outpoints: &[(Txid, u32)]) -> Result<Vec<Candidate>, ReadError> {
        let mut order: Vec<usize> = (0..outpoints.len()).collect();
        order.sort_unstable_by_key(|i| &outpoints[*i]);
        let mut rows = self.view.prefix_iterator::<TxNums>()?;
        let mut named: Vec<(Outpoint, usize)> = Vec::with_capacity(outpoints.len());
        let mut last: Option<(&Txid, Vec<TxNum>)> = None;
        for question in order {
            let (txid, vout) = &outpoints[question];
            let numbers = match &mut last {
                Some((of, numbers)) if *of == txid => numbers,
                _ => &mut last.insert((txid, self.numbers_of(txid, &mut rows)?)).1,
            };
            named.extend(numbers.iter().map(|&tx_num| (Outpoint { tx_num, vout: *vout }, question)));
        }
        named.sort_unstable();
        let mut candidates = Vec::with_capacity(named.len());
        for some in named.chunks(AT_A_TIME) {
            let keys: Vec<Outpoint> = some.iter().map(|(at, _)| *at).collect();
            for (&(at, question), value) in some.iter().zip(self.view.bytes_of_many::<Coins>(&keys)?) {
                if let Some(bytes) = value {
                    candidates.push(Candidate { question, at, coin: Coins::decode_value(&bytes)? });
                }
            }
        }
        Ok(candidates)
    }

    /// Decodes one transaction of the log, without the rest of its row; returns its height. `row` is the previous row,
    /// if any.
    fn one_logged(
        self,
        tx_num: TxNum,
        row: &mut Option<(TxNum, DBPinnableSlice<'v>)>,
        into: &mut Decoded,
    ) -> Result<Height, ReadError> {
        let missing = || self.view.broken("tx_nums names a missing transaction");
        let height =
            self.view.chain().height_of(tx_num).filter(|_| tx_num < self.view.tip().tx_end).ok_or_else(missing)?;
        let first = self.view.chain().get(height).ok_or_else(missing)?.first_tx;
        let at = (tx_num.0 - first.0) as usize % TXS_PER_ROW;
        let key = TxNum(tx_num.0 - at as u64);
        let bytes = match row {
            Some((of, bytes)) if *of == key => bytes,
            _ => &mut row.insert((key, self.view.bytes::<BlockLog>(&key)?.ok_or_else(missing)?)).1,
        };
        match LogRow::decode_one(bytes, at, into)? {
            Some(found) if found.height == height => Ok(height),
            _ => Err(self.view.broken("a row of block_log is not the requested one")),
        }
    }
}
