//! The public tweak of a transaction.

use bitcoin::{
    OutPoint, Transaction,
    consensus::encode::serialize,
    hashes::{Hash, HashEngine, sha256t_hash_newtype},
    secp256k1::{PublicKey, Scalar},
};

use super::{curve::SECP, input::SpentScript};

sha256t_hash_newtype! {
    struct InputsTag = hash_str("BIP0352/Inputs");
    struct InputsHash(_);
}

/// The tweak of a transaction whose inputs spend coins of these scripts, in the order of its inputs.
///
/// `None` if no silent payment can be found in it: it pays to no P2TR output, none of its inputs has a public key,
/// their sum is the point at infinity, or it spends from a newer witness version.
#[must_use]
pub fn tweak(tx: &Transaction, spent: &[SpentScript]) -> Option<PublicKey> {
    let pays_taproot = tx.output.iter().any(|output| output.script_pubkey.is_p2tr());
    if !pays_taproot || spent.len() != tx.input.len() {
        return None;
    }
    if spent.iter().any(|script| matches!(script, SpentScript::NewerWitness)) {
        return None;
    }
    let keys: Vec<PublicKey> =
        tx.input.iter().zip(spent).filter_map(|(input, script)| script.public_key(input)).collect();
    if keys.is_empty() {
        return None;
    }
    // Fails if they sum up to the point at infinity.
    let sum = PublicKey::combine_keys(&keys.iter().collect::<Vec<_>>()).ok()?;
    let smallest = tx.input.iter().map(|input| serialize::<OutPoint>(&input.previous_output)).min()?;
    let mut engine = InputsHash::engine();
    engine.input(&smallest);
    engine.input(&sum.serialize());
    let input_hash = Scalar::from_be_bytes(InputsHash::from_engine(engine).to_byte_array()).ok()?;
    sum.mul_tweak(&*SECP, &input_hash).ok()
}
