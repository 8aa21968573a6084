//! A timestamp, as operations answer it.

use base64::{Engine, engine::general_purpose::STANDARD};
use cairn_model::{BlockHash, Network, Txid};
use cairn_state::{TimestampRecord, TimestampState};
use cairn_timestamps::{Attestation, Proof, Step, blinded};

use crate::{
    context::{SETTLED_AT, block_ref, confirmations},
    definitions::TIMESTAMPS,
    operation::prelude::*,
    values::rfc3339_ms,
    vocabulary::caveat::Caveat,
};

/// State of a timestamp.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum StampState {
    /// The hash is stored and waits for a batch.
    Pending,
    /// It is in a batch, whose transaction is not sent yet.
    Aggregated,
    /// The transaction of its batch was sent.
    Broadcast,
    /// The transaction is in a block. A reorg may still undo it.
    Confirmed,
    /// The block has 6 confirmations. The proof does not change any more.
    Final,
    /// Its batch was given up. Handing the hash in again puts it into another one.
    Failed,
}

impl From<TimestampState> for StampState {
    fn from(state: TimestampState) -> Self {
        match state {
            TimestampState::Pending => StampState::Pending,
            TimestampState::Aggregated => StampState::Aggregated,
            TimestampState::Broadcast => StampState::Broadcast,
            TimestampState::Confirmed => StampState::Confirmed,
            TimestampState::Final => StampState::Final,
            TimestampState::Failed => StampState::Failed,
        }
    }
}

/// A batch: hashes that one transaction anchors.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct StampBatch {
    id: i64,
    /// Root of its tree, as the transaction has it.
    root: String,
    /// Number of its hashes.
    hashes: u32,
    made_at: String,
}

/// A timestamp.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TimestampOutput {
    /// The hash.
    hash: String,
    state: StampState,
    /// Why its batch was given up; null unless the state is `failed`.
    reason: Option<String>,
    /// Time at which the hash was handed in.
    submitted_at: String,
    /// Its batch; null while the hash waits for one.
    batch: Option<StampBatch>,
    /// The transaction of its batch that was sent last, or the one in the block; null before.
    txid: Option<String>,
    /// Height of the block that has the transaction; null before.
    height: Option<u32>,
    block_hash: Option<String>,
    /// Number of confirmations of the block; null before the index has it.
    confirmations: Option<u32>,
    /// URL of the proof. It is answered with 409 `proof_not_ready` before the first confirmation.
    proof_url: String,
    /// Proof (`*.ots`) in base64 that a client of OpenTimestamps completes later (`ots upgrade`): with it, nothing else
    /// of this server is needed. Null if the server has no public calendar.
    pending_proof_base64: Option<String>,
    /// Why there is no pending proof; otherwise null.
    pending_proof_reason: Option<&'static str>,
    /// Network of the chain.
    network: &'static str,
    /// Hash of the first block of this network.
    genesis: String,
    /// Caveats as sentences.
    caveats: Vec<String>,
    /// The same caveats as codes with parameters.
    caveat_codes: Vec<Caveat>,
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
}

const NO_CALENDAR: &str = "the operator has not set the public address of the calendar (calendar_url)";

impl TimestampOutput {
    pub(super) fn new(ctx: &Ctx<'_>, view: &View<'_>, record: &TimestampRecord) -> Result<Self, ApiError> {
        let (genesis, confirmed) = (genesis(view)?, confirmations_of(view, record));
        let caveat_codes = caveats(view.network(), &genesis, confirmed);
        let pending = pending_proof(ctx, record);
        let batch = record.batch.as_ref().map(|(batch, _)| batch);
        let confirmation = batch.and_then(|batch| batch.confirmation.as_ref());
        let hash = hex::encode(&record.hash);
        Ok(TimestampOutput {
            state: record.state().into(),
            reason: batch.and_then(|batch| batch.failure.clone()),
            submitted_at: rfc3339_ms(record.submitted_at.saturating_mul(1_000)),
            txid: batch.and_then(|batch| batch.txid).map(|txid| Txid(txid).to_string()),
            height: confirmation.map(|block| block.height),
            block_hash: confirmation.map(|block| BlockHash(block.block_hash).to_string()),
            confirmations: confirmed,
            proof_url: format!("{}/v1/timestamp/{hash}/proof", ctx.config.base_url),
            pending_proof_reason: pending.is_none().then_some(NO_CALENDAR),
            pending_proof_base64: pending,
            network: view.network().name(),
            genesis,
            caveats: Caveat::sentences(&caveat_codes),
            caveat_codes,
            definition: TIMESTAMPS,
            batch: batch.map(|batch| StampBatch {
                id: batch.id,
                root: hex::encode(batch.root),
                hashes: batch.leaves,
                made_at: rfc3339_ms(batch.made_at.saturating_mul(1_000)),
            }),
            hash,
        })
    }
}

/// Hash of the first block.
pub(super) fn genesis(view: &View<'_>) -> Result<String, ApiError> {
    Ok(block_ref(view, 0)?.hash)
}

/// Confirmations of the block of a hash; `None` while the index does not have it.
pub(super) fn confirmations_of(view: &View<'_>, record: &TimestampRecord) -> Option<u32> {
    let (batch, _) = record.batch.as_ref()?;
    let height = batch.confirmation.as_ref()?.height;
    (height <= view.tip().height).then(|| confirmations(view.tip(), height))
}

pub(super) fn caveats(network: Network, genesis: &str, confirmed: Option<u32>) -> Vec<Caveat> {
    let foreign =
        (network != Network::Main).then(|| Caveat::NotMainnet { network: network.name(), genesis: genesis.to_owned() });
    let young = confirmed.filter(|confirmations| *confirmations < SETTLED_AT);
    let young = young.map(|confirmations| Caveat::ProvisionalConfirmations { confirmations, settled_at: SETTLED_AT });
    foreign.into_iter().chain(young).collect()
}

/// The pending proof of a hash; `None` without a calendar.
fn pending_proof(ctx: &Ctx<'_>, record: &TimestampRecord) -> Option<String> {
    let calendar = Attestation::pending(ctx.chain.timestamps.calendar_url.as_deref()?)?;
    let hash = record.hash.as_slice().try_into().ok()?;
    let proof = Proof::of_sha256(hash, Step::attested_by(calendar).after(blinded(&record.nonce)));
    Some(STANDARD.encode(proof.write()))
}
