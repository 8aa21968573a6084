//! `GET /v1/timestamp/{hash_hex}/proof`.

use base64::{Engine, engine::general_purpose::STANDARD};
use cairn_http::{Freshness, JSON, Output, Selection, SerializedAnswer, Work};
use cairn_model::Network;
use cairn_state::{TimestampRecord, TimestampState};
use cairn_timestamps::{Attestation, Proof, blinded};
use schemars::{Schema, SchemaGenerator};

use super::{
    hash_param::Sha256Param,
    record::{StampState, caveats, confirmations_of, genesis},
    status::find,
    whole::whole_steps,
};
use crate::{definitions::TIMESTAMPS, operation::prelude::*, vocabulary::caveat::Caveat};

pub(super) const OTS: &str = "application/vnd.opentimestamps.ots";
/// Seconds after which a client may ask again for a proof that is not ready.
const RETRY_AFTER_SECS: u32 = 60;

pub(crate) struct TimestampProof;

/// Form of the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ProofFormat {
    /// The file.
    #[default]
    Ots,
    /// An object with the file in base64.
    Json,
}

/// The hash.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TimestampProofInput {
    /// The hash that was handed in.
    hash_hex: Sha256Param,
    /// Form of the answer. `Accept: application/json` and `Accept: application/vnd.opentimestamps.ots` choose it as
    /// well.
    #[serde(default)]
    format: ProofFormat,
}

/// A proof in base64.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TimestampProofOutput {
    /// The hash.
    hash: String,
    /// `confirmed` or `final`.
    state: StampState,
    /// True while the state is `confirmed`: a reorg may still replace the block, and with it the proof.
    provisional: bool,
    /// Number of confirmations of the block; null while the index does not have it.
    confirmations: Option<u32>,
    /// The proof (`*.ots`) in base64. From `final` on, its bytes never change.
    proof_base64: String,
    /// Name for the file. Off the main network, it has the name of the network.
    file_name: String,
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

/// The answer in the form that was asked for.
pub(crate) enum ProofAnswer {
    File(Vec<u8>),
    Json(Box<TimestampProofOutput>),
}

impl Output for ProofAnswer {
    const MEDIA: &'static [&'static str] = &[OTS, JSON];

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<TimestampProofOutput>()
    }

    fn write(self, selection: Selection<'_>, work: &Work) -> Result<SerializedAnswer, ApiError> {
        match self {
            ProofAnswer::Json(output) => output.write(selection, work),
            ProofAnswer::File(bytes) => {
                work.answered(bytes.len())?;
                Ok(SerializedAnswer::File { media_type: OTS, bytes })
            }
        }
    }
}

impl Operation for TimestampProof {
    const INFO: Info = Info {
        summary: "Proof of a timestamp (OpenTimestamps) to download",
        description: "The detached proof (*.ots) of a hash that was handed in: from the hash to the Merkle root of a \
            block. Any client of OpenTimestamps verifies it against any node. It exists from the first confirmation on; \
            before, the answer is 409 `proof_not_ready` with `state` and Retry-After. Below 6 confirmations it is \
            provisional; after that its bytes never change. The file itself by default; with `format=json` or \
            `Accept: application/json` an object with the file in base64.",
        source: "service",
        freshness: &[TIP, Freshness::NOW],
        freshness_semantics: "time of the request",
        errors: &[ErrorCode::TimestampNotFound, ErrorCode::ProofNotReady, ErrorCode::StateUnavailable],
        accepts: &[(JSON, "json"), (OTS, "ots")],
        tool: Tool::UNLISTED,
        ..index_get("timestamp_proof", "/v1/timestamp/{hash_hex}/proof", "timestamps")
    };
    type Input = TimestampProofInput;
    type Output = ProofAnswer;

    fn run(ctx: &Ctx<'_>, input: TimestampProofInput) -> Result<ProofAnswer, ApiError> {
        let view = ctx.view()?;
        let record = find(ctx, view, &input.hash_hex)?;
        let steps = ctx.with_state(|state| whole_steps(state, &record))?;
        let steps = steps.ok_or_else(|| not_ready(&record, "no block has its transaction yet"))?;
        let proof = Proof::of_sha256(input.hash_hex.0, steps.after(blinded(&record.nonce)));
        if !holds(ctx, view, &proof)? {
            return Err(not_ready(&record, "a reorganization has replaced the block of its transaction"));
        }
        let confirmed = confirmations_of(view, &record);
        let (hash, genesis) = (hex::encode(input.hash_hex.0), genesis(view)?);
        let caveat_codes = caveats(view.network(), &genesis, confirmed);
        let file_name = file_name(&hash, view.network());
        let bytes = proof.write();
        if input.format == ProofFormat::Ots {
            ctx.name_file(&file_name);
            for (code, caveat) in caveat_codes.iter().map(|caveat| (code_of(caveat), caveat)) {
                ctx.warn(code, caveat.sentence());
            }
            return Ok(ProofAnswer::File(bytes));
        }
        Ok(ProofAnswer::Json(Box::new(TimestampProofOutput {
            hash,
            state: record.state().into(),
            provisional: record.state() != TimestampState::Final,
            confirmations: confirmed,
            proof_base64: STANDARD.encode(bytes),
            file_name,
            network: view.network().name(),
            genesis,
            caveats: Caveat::sentences(&caveat_codes),
            caveat_codes,
            definition: TIMESTAMPS,
        })))
    }
}

fn file_name(hash: &str, network: Network) -> String {
    match network {
        Network::Main => format!("{hash}.ots"),
        other => format!("{hash}.{}.ots", other.name()),
    }
}

fn code_of(caveat: &Caveat) -> &'static str {
    match caveat {
        Caveat::NotMainnet { .. } => "not_mainnet",
        _ => "provisional_confirmations",
    }
}

/// 409 with the state of the hash.
fn not_ready(record: &TimestampRecord, why: &str) -> ApiError {
    let state = record.state();
    let error = ApiError::new(ErrorCode::ProofNotReady, format!("the hash is {}: {why}", state.name()));
    let error = error.with("state", state.name());
    match state {
        TimestampState::Failed => error,
        _ => error.retryable(Some(RETRY_AFTER_SECS)),
    }
}

/// True unless the index has another block at the height of the proof: the index may be a block ahead of the process
/// that anchors, or behind it.
fn holds(ctx: &Ctx<'_>, view: &View<'_>, proof: &Proof) -> Result<bool, ApiError> {
    let mut holds = true;
    proof.attested(|attestation, message| {
        ctx.work.read(message.len())?;
        let Attestation::Bitcoin { height } = attestation else { return Ok(()) };
        let height = u32::try_from(*height).ok().filter(|height| *height <= view.tip().height);
        if let Some(header) = height.map(|height| view.header(height)).transpose()?.flatten() {
            holds &= header.merkle_root().as_slice() == message;
        }
        Ok::<(), ApiError>(())
    })?;
    Ok(holds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_other_networks_are_named_after_them() {
        assert_eq!(file_name("00", Network::Main), "00.ots");
        assert_eq!(file_name("00", Network::Regtest), "00.regtest.ots");
    }
}
