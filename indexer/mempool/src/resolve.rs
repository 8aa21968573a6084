//! Combines a transaction and the coins that it spends into a resolved transaction, if they are valid together. The
//! node's answers are checked, not trusted.

use std::collections::HashMap;

use bitcoin::{Amount, OutPoint, ScriptBuf, TxOut, hashes::Hash};
use cairn_model::{Height, MAX_MONEY, MempoolInput, MempoolOutput, MempoolTx, Sats, Txid};

use crate::body::Body;

/// Weight of the largest block.
const MAX_WEIGHT: u64 = 4_000_000;
/// Maximum cost of the signature operations of a block.
const MAX_SIGOPS: usize = 80_000;

#[derive(Clone, Debug)]
pub(crate) struct Spent {
    pub(crate) value: Sats,
    pub(crate) script: Box<[u8]>,
    pub(crate) birth: Option<Height>,
}

/// Why a transaction cannot be in a mempool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Impossible {
    #[error("it has no inputs or is a coinbase")]
    Inputs,
    #[error("it spends a coin twice")]
    Twice,
    #[error("it spends an output that its parent does not have")]
    NoSuchOutput,
    #[error("its amounts do not add up")]
    Amounts,
    #[error("it is larger than a block")]
    Size,
    #[error("it has more signature operations than a block may hold")]
    Sigops,
}

/// The outpoint of an input in our types.
pub(crate) fn outpoint(from: &OutPoint) -> (Txid, u32) {
    (Txid(from.txid.to_byte_array()), from.vout)
}

/// Checks that are independent of the spent coins.
pub(crate) fn check(body: &Body) -> Result<(), Impossible> {
    let tx = &body.tx;
    if tx.input.is_empty() || tx.is_coinbase() || tx.input.iter().any(|input| input.previous_output.is_null()) {
        return Err(Impossible::Inputs);
    }
    let mut coins: Vec<&OutPoint> = tx.input.iter().map(|input| &input.previous_output).collect();
    coins.sort_unstable();
    if coins.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Impossible::Twice);
    }
    if tx.weight().to_wu() > MAX_WEIGHT {
        return Err(Impossible::Size);
    }
    Ok(())
}

fn sum(mut values: impl Iterator<Item = Sats>) -> Result<Sats, Impossible> {
    let total = values.try_fold(0, |sum: Sats, value| sum.checked_add(value).filter(|sum| *sum <= MAX_MONEY));
    total.ok_or(Impossible::Amounts)
}

/// Builds a resolved transaction. `spent` are the coins of its inputs, in order.
pub(crate) fn build(txid: Txid, body: Body, spent: Vec<Spent>, first_seen_ms: u64) -> Result<MempoolTx, Impossible> {
    check(&body)?;
    let Body { tx, raw } = body;
    let income = sum(spent.iter().map(|coin| coin.value))?;
    let outgo = sum(tx.output.iter().map(|output| output.value.to_sat()))?;
    let fee_sats = income.checked_sub(outgo).ok_or(Impossible::Amounts)?;
    let txouts: HashMap<OutPoint, TxOut> = (tx.input.iter().map(|input| input.previous_output))
        .zip(&spent)
        .map(|(outpoint, coin)| {
            let script_pubkey = ScriptBuf::from_bytes(coin.script.to_vec());
            (outpoint, TxOut { value: Amount::from_sat(coin.value), script_pubkey })
        })
        .collect();
    let sigops = tx.total_sigop_cost(|outpoint| txouts.get(outpoint).cloned());
    if sigops > MAX_SIGOPS {
        return Err(Impossible::Sigops);
    }
    let size = |bytes: usize| u32::try_from(bytes).map_err(|_| Impossible::Size);
    let inputs = tx.input.iter().zip(spent).map(|(input, coin)| {
        let (prev_txid, prev_vout) = outpoint(&input.previous_output);
        let Spent { value, script, birth } = coin;
        MempoolInput { prev_txid, prev_vout, sequence: input.sequence.0, value, script, birth }
    });
    let outputs = tx
        .output
        .iter()
        .map(|output| MempoolOutput { value: output.value.to_sat(), script: output.script_pubkey.as_bytes().into() });
    Ok(MempoolTx {
        txid,
        wtxid: Txid(tx.compute_wtxid().to_byte_array()),
        size: size(raw.len())?,
        base_size: size(tx.base_size())?,
        sigop_cost: u32::try_from(sigops).map_err(|_| Impossible::Sigops)?,
        fee_sats,
        version: tx.version.0,
        lock_time: tx.lock_time.to_consensus_u32(),
        first_seen_ms,
        inputs: inputs.collect(),
        outputs: outputs.collect(),
        raw: Some(raw),
    })
}

#[cfg(test)]
mod tests {
    use bitcoin::{
        Sequence, Transaction, TxIn, Witness, absolute::LockTime, consensus::serialize, transaction::Version,
    };

    use super::*;

    fn body(inputs: &[u32], outputs: &[u64]) -> (Txid, Body) {
        let input = |&vout: &u32| TxIn {
            previous_output: OutPoint { txid: bitcoin::Txid::from_byte_array([7; 32]), vout },
            script_sig: ScriptBuf::new(),
            sequence: Sequence::MAX,
            witness: Witness::from_slice(&[vec![1u8; 64]]),
        };
        let output =
            |&value: &u64| TxOut { value: Amount::from_sat(value), script_pubkey: ScriptBuf::from(vec![0xac]) };
        let tx = Transaction {
            version: Version(-1),
            lock_time: LockTime::from_consensus(5),
            input: inputs.iter().map(input).collect(),
            output: outputs.iter().map(output).collect(),
        };
        Body::read(serialize(&tx).into()).unwrap()
    }

    fn coins(values: &[u64]) -> Vec<Spent> {
        values.iter().map(|&value| Spent { value, script: Box::from([0x51]), birth: Some(3) }).collect()
    }

    #[test]
    fn a_transaction_is_resolved() {
        let (txid, body) = body(&[0, 4], &[100, 20]);
        let raw = body.raw.clone();
        let tx = build(txid, body, coins(&[60, 90]), 9).unwrap();
        assert_eq!((tx.fee_sats, tx.version, tx.lock_time, tx.first_seen_ms), (30, -1, 5, 9));
        // A bare OP_CHECKSIG in each output, at four each.
        assert_eq!(tx.sigop_cost, 8);
        assert_ne!(tx.wtxid, txid);
        assert_eq!((tx.size as usize, tx.raw), (raw.len(), Some(raw)));
        assert!(tx.base_size < tx.size);
        assert_eq!((tx.inputs[1].prev_vout, tx.inputs[1].value, tx.inputs[1].birth), (4, 90, Some(3)));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let refused = |(txid, body): (Txid, Body), spent: &[u64]| build(txid, body, coins(spent), 0).unwrap_err();
        assert_eq!(refused(body(&[0], &[100]), &[99]), Impossible::Amounts);
        assert_eq!(refused(body(&[0], &[u64::MAX, 1]), &[99]), Impossible::Amounts);
        assert_eq!(refused(body(&[0, 1], &[1]), &[MAX_MONEY, 1]), Impossible::Amounts);
        assert_eq!(refused(body(&[0, 1], &[1]), &[u64::MAX, u64::MAX]), Impossible::Amounts);
        assert_eq!(refused(body(&[3, 3], &[1]), &[5, 5]), Impossible::Twice);
        let (txid, mut coinbase) = body(&[0], &[1]);
        coinbase.tx.input[0].previous_output = OutPoint::null();
        assert_eq!(refused((txid, coinbase), &[5]), Impossible::Inputs);
        let (txid, mut large) = body(&[0], &[1]);
        large.tx.output[0].script_pubkey = ScriptBuf::from(vec![0x51; 1_000_000]);
        assert_eq!(refused((txid, large), &[5]), Impossible::Size);
        let (txid, mut many) = body(&[0], &[1]);
        many.tx.output[0].script_pubkey = ScriptBuf::from(vec![0xac; 20_001]);
        assert_eq!(refused((txid, many), &[5]), Impossible::Sigops);
    }
}
