//! Partially signed bitcoin transactions (BIP 174, BIP 370): the whole transaction, if all signatures are there.
//!
//! A PSBT shows keys and coins of a wallet, so no error holds any part of it.

use bitcoin::{Psbt, Transaction, secp256k1::Secp256k1};
use miniscript::psbt::PsbtExt;
use thiserror::Error;

use crate::psbt_v2::to_version_0;

/// First bytes of a PSBT.
pub const PSBT_MAGIC: &[u8] = b"psbt\xff";
/// Largest PSBT in bytes: it may contain the transactions that it spends from.
pub const MAX_PSBT_BYTES: usize = 4_000_000;
/// Inputs that are finalized at most. Each is checked against all others.
pub(crate) const MAX_FINALIZED: usize = 250;

/// A PSBT that was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PsbtState {
    /// All inputs have their scriptSigs and witnesses.
    Complete(Transaction),
    /// An input lacks signatures, or data of the coin that it spends.
    Incomplete {
        /// The transaction without the missing scriptSigs and witnesses.
        tx: Transaction,
        /// Index of the first such input.
        input: usize,
    },
}

/// Why a PSBT is not read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum PsbtFlaw {
    /// It is too large.
    #[error("is a PSBT that is too large: at most {} bytes are read", MAX_PSBT_BYTES)]
    TooLarge,
    /// It is not as BIP 174 or BIP 370 says.
    #[error("is a damaged PSBT: it can be read neither as BIP 174 (version 0) nor as BIP 370 (version 2) defines")]
    Damaged,
    /// It has too many inputs to finalize.
    #[error("is a PSBT with more than {} inputs to finalize: finalize it in a wallet", MAX_FINALIZED)]
    TooManyInputs,
}

/// Reads a PSBT, and finalizes the inputs that have all their signatures. Signatures are checked against the coins that
/// the PSBT claims; only a node knows if these exist.
///
/// # Errors
/// Fails if the bytes are not a PSBT, or too many.
pub fn read_psbt(bytes: &[u8]) -> Result<PsbtState, PsbtFlaw> {
    if bytes.len() > MAX_PSBT_BYTES {
        return Err(PsbtFlaw::TooLarge);
    }
    let of_version_2 = bytes.strip_prefix(PSBT_MAGIC).and_then(to_version_0).map(|maps| [PSBT_MAGIC, &maps].concat());
    let mut rest = of_version_2.as_deref().unwrap_or(bytes);
    let mut psbt = Psbt::deserialize_from_reader(&mut rest).map_err(|_| PsbtFlaw::Damaged)?;
    if !rest.is_empty() {
        return Err(PsbtFlaw::Damaged);
    }
    let is_final = |psbt: &Psbt, at: usize| {
        let input = psbt.inputs.get(at);
        input.is_some_and(|input| input.final_script_sig.is_some() || input.final_script_witness.is_some())
    };
    let open: Vec<usize> = (0..psbt.inputs.len()).filter(|at| !is_final(&psbt, *at)).collect();
    if open.len() > MAX_FINALIZED {
        return Err(PsbtFlaw::TooManyInputs);
    }
    let secp = Secp256k1::verification_only();
    let missing = open.into_iter().find(|at| psbt.finalize_inp_mut(&secp, *at).is_err());
    let tx = psbt.extract_tx_unchecked_fee_rate();
    Ok(match missing {
        None => PsbtState::Complete(tx),
        Some(input) => PsbtState::Incomplete { tx, input },
    })
}

#[cfg(test)]
mod tests {
    use bitcoin::{
        Amount, CompressedPublicKey, EcdsaSighashType, OutPoint, ScriptBuf, Sequence, TxIn, TxOut, Witness,
        absolute::LockTime,
        hashes::Hash,
        secp256k1::{Message, SecretKey},
        sighash::SighashCache,
        transaction::Version,
    };

    use super::*;

    /// A PSBT that spends coins of one key, with signatures on the first `signed` inputs.
    fn psbt(inputs: u32, signed: usize) -> Psbt {
        let secp = Secp256k1::new();
        let secret = SecretKey::from_slice(&[7; 32]).unwrap();
        let public = CompressedPublicKey(secret.public_key(&secp));
        let coin =
            TxOut { value: Amount::from_sat(50_000), script_pubkey: ScriptBuf::new_p2wpkh(&public.wpubkey_hash()) };
        let input = |vout| TxIn {
            previous_output: OutPoint { txid: bitcoin::Txid::all_zeros(), vout },
            script_sig: ScriptBuf::new(),
            sequence: Sequence::ENABLE_RBF_NO_LOCKTIME,
            witness: Witness::new(),
        };
        let tx = Transaction {
            version: Version::TWO,
            lock_time: LockTime::ZERO,
            input: (0..inputs).map(input).collect(),
            output: vec![TxOut { value: Amount::from_sat(40_000), script_pubkey: coin.script_pubkey.clone() }],
        };
        let mut psbt = Psbt::from_unsigned_tx(tx.clone()).unwrap();
        let mut cache = SighashCache::new(&tx);
        for (at, input) in psbt.inputs.iter_mut().enumerate() {
            input.witness_utxo = Some(coin.clone());
            if at < signed {
                let kind = EcdsaSighashType::All;
                let hash = cache.p2wpkh_signature_hash(at, &coin.script_pubkey, coin.value, kind).unwrap();
                let signature = secp.sign_ecdsa(&Message::from_digest(hash.to_byte_array()), &secret);
                let signature = bitcoin::ecdsa::Signature { signature, sighash_type: kind };
                input.partial_sigs.insert(public.into(), signature);
            }
        }
        psbt
    }

    #[test]
    fn signed_inputs_are_finalized() {
        let PsbtState::Complete(tx) = read_psbt(&psbt(3, 3).serialize()).unwrap() else { panic!("it is complete") };
        assert!(tx.input.iter().all(|input| input.witness.len() == 2));
        // The same, finalized by a wallet before.
        let finalized = psbt(3, 3).finalize(&Secp256k1::verification_only()).unwrap();
        assert_eq!(read_psbt(&finalized.serialize()), Ok(PsbtState::Complete(tx)));
    }

    #[test]
    fn the_first_input_without_a_signature_is_named() {
        let PsbtState::Incomplete { tx, input } = read_psbt(&psbt(3, 1).serialize()).unwrap() else {
            panic!("it is incomplete")
        };
        assert_eq!((input, tx.input.len()), (1, 3));
        // A signature of another transaction does not count.
        let mut wrong = psbt(1, 1);
        wrong.unsigned_tx.output[0].value = Amount::from_sat(1);
        assert!(matches!(read_psbt(&wrong.serialize()), Ok(PsbtState::Incomplete { input: 0, .. })));
    }

    #[test]
    fn damage_and_excess_are_refused() {
        let whole = psbt(2, 2).serialize();
        assert!(whole.starts_with(PSBT_MAGIC));
        for end in 0..whole.len() {
            assert_eq!(read_psbt(&whole[..end]), Err(PsbtFlaw::Damaged), "{end} bytes");
        }
        let more = [whole.as_slice(), &[0]].concat();
        assert_eq!(read_psbt(&more), Err(PsbtFlaw::Damaged));
        assert_eq!(read_psbt(&vec![0; MAX_PSBT_BYTES + 1]), Err(PsbtFlaw::TooLarge));
        let inputs = MAX_FINALIZED as u32 + 1;
        assert_eq!(read_psbt(&psbt(inputs, 0).serialize()), Err(PsbtFlaw::TooManyInputs));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200), at in 0..300_usize) {
            let _ = read_psbt(&bytes);
            let mut whole = psbt(2, 1).serialize();
            let at = at.min(whole.len() - bytes.len().min(whole.len()));
            let end = (at + bytes.len()).min(whole.len());
            whole[at..end].copy_from_slice(&bytes[..end - at]);
            let _ = read_psbt(&whole);
        }
    }
}
