//! Inputs that spend the outputs of a transaction.

use std::collections::HashMap;

use cairn_chain::{At, Pinned};
use cairn_http::{ApiError, Work};
use cairn_model::{Height, MempoolTx, TxNum, Txid};
use cairn_reader::StoredTx;
use serde::Serialize;

use crate::status::TxStatus;

/// Whether an output is spent, and by which input.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct OutspendJson {
    spent: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    txid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    vin: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<TxStatus>,
}

/// An unspent output, or one that nobody knows.
pub(crate) const UNSPENT: OutspendJson = OutspendJson { spent: false, txid: None, vin: None, status: None };

impl OutspendJson {
    fn new(txid: &Txid, vin: u32, at: Option<At>) -> Self {
        let status = Some(TxStatus::new(at));
        OutspendJson { spent: true, txid: Some(txid.to_string()), vin: Some(vin), status }
    }

    /// The height at which it was spent.
    pub(crate) fn height(&self) -> Option<Height> {
        self.status.as_ref().and_then(TxStatus::height)
    }
}

/// The inputs that spend outputs of one transaction.
pub(crate) struct Outspends<'a, 'p> {
    at: &'a Pinned<'p>,
    work: &'a Work,
    txid: Txid,
    /// Number of outputs; 0 if nobody knows the transaction.
    outputs: u32,
    /// Confirmed spenders by output.
    confirmed: HashMap<u32, (TxNum, u32)>,
    /// Confirmed spenders that were looked up: one often spends many outputs.
    known: HashMap<TxNum, (Txid, At)>,
    /// For each unconfirmed spender, the outputs that its inputs spend.
    pending: HashMap<Txid, HashMap<u32, u32>>,
}

impl<'a, 'p> Outspends<'a, 'p> {
    /// Finds the transaction; `None` if nobody knows it.
    pub(crate) fn find(at: &'a Pinned<'p>, work: &'a Work, txid: Txid) -> Result<Option<Self>, ApiError> {
        let stored = at.view.transactions().by_txid(&txid)?;
        let outputs = stored.as_ref().map(StoredTx::outputs).map(<[_]>::len);
        let outputs = match outputs {
            Some(outputs) => Some(outputs),
            None => at.mempool()?.get(&txid).map(|tx| tx.outputs.len()),
        };
        let Some(outputs) = outputs else { return Ok(None) };
        let spenders = match &stored {
            Some(tx) => at.view.transactions().spenders(tx.tx_num)?,
            None => Vec::new(),
        };
        let confirmed = spenders.into_iter().map(|(vout, by, vin)| (vout, (by, vin))).collect();
        let (known, pending) = (HashMap::new(), HashMap::new());
        let outputs = u32::try_from(outputs).unwrap_or(u32::MAX);
        Ok(Some(Outspends { at, work, txid, outputs, confirmed, known, pending }))
    }

    /// The input that spends an output.
    pub(crate) fn of_output(&mut self, vout: u32) -> Result<OutspendJson, ApiError> {
        self.work.poll()?;
        if let Some((by, vin)) = self.confirmed.get(&vout).copied() {
            let (txid, at) = self.confirmed_spender(by)?;
            return Ok(OutspendJson::new(&txid, vin, Some(at)));
        }
        Ok(self.unconfirmed_spender(vout)?.map_or(UNSPENT, |(txid, vin)| OutspendJson::new(&txid, vin, None)))
    }

    /// The inputs that spend its outputs, in their order.
    pub(crate) fn all(&mut self) -> Result<Vec<OutspendJson>, ApiError> {
        (0..self.outputs).map(|vout| self.of_output(vout)).collect()
    }

    fn confirmed_spender(&mut self, by: TxNum) -> Result<(Txid, At), ApiError> {
        if let Some(known) = self.known.get(&by) {
            return Ok(*known);
        }
        let (txid, height) = self.at.view.transactions().txid(by)?.ok_or_else(ApiError::internal)?;
        let found = (txid, self.at.at(height)?);
        self.known.insert(by, found);
        Ok(found)
    }

    fn unconfirmed_spender(&mut self, vout: u32) -> Result<Option<(Txid, u32)>, ApiError> {
        let (mempool, txid) = (self.at.mempool()?, self.txid);
        let Some(by) = mempool.spender(&txid, vout) else { return Ok(None) };
        let vins = self
            .pending
            .entry(by)
            .or_insert_with(|| mempool.get(&by).map_or_else(HashMap::new, |tx| vins_of(tx, &txid)));
        Ok(vins.get(&vout).map(|vin| (by, *vin)))
    }
}

/// The inputs that spend outputs of `txid`, by output.
fn vins_of(tx: &MempoolTx, txid: &Txid) -> HashMap<u32, u32> {
    let spending = (0u32..).zip(&tx.inputs).filter(|(_, input)| input.prev_txid == *txid);
    spending.map(|(vin, input)| (input.prev_vout, vin)).collect()
}
