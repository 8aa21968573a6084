//! `POST /v1/timestamp/verify`.

use cairn_http::FileBody;
use cairn_model::Network;
use cairn_timestamps::MAX_BYTES;

use super::{
    attested::{AttestationState, TimestampAttestation, check, headers},
    input::{EXAMPLE, FileHashParam, MAX_TEXT, read_proof},
};
use crate::{context::SETTLED_AT, definitions::TIMESTAMPS, operation::prelude::*, vocabulary::caveat::Caveat};

pub(crate) struct VerifyTimestamp;

/// A proof, and the hash of the file if it is to be compared: `{ hash, proof }` or `{ proof_base64 }`.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend(
    "x-exactly-one" = [["proof_base64", "proof"]],
    "x-at-most-one" = [["hash", "hash_hex"]],
))]
pub(crate) struct VerifyTimestampInput {
    /// The proof (`*.ots`) in base64. Line breaks are left out. Maximum size of the file: 64 KiB.
    #[schemars(length(max = MAX_TEXT), example = EXAMPLE)]
    proof_base64: Option<String>,
    /// Alias of `proof_base64`. Give one of the two.
    #[schemars(length(max = MAX_TEXT), example = EXAMPLE)]
    proof: Option<String>,
    /// Hash of the file. It is compared with the hash in the proof.
    hash: Option<FileHashParam>,
    /// Alias of `hash`. Give one of the two.
    hash_hex: Option<FileHashParam>,
}

/// Verification of a timestamp.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct VerifyTimestampOutput {
    /// Hash of the file that the proof is about.
    file_hash: String,
    /// Hash function: `sha256`, `sha1`, `ripemd160` or `keccak256`.
    file_hash_function: &'static str,
    /// True if the given hash is that of the proof; null if no hash was given.
    hash_matches: Option<bool>,
    /// Network of the index, whose blocks the proof was compared with.
    network: &'static str,
    /// Hash of the first block of this network.
    genesis: String,
    /// True if the proof leads to the Merkle root of a block, and `hash_matches` is not false.
    verified: bool,
    /// The result in one sentence.
    statement: String,
    /// The lowest block that the proof leads to; null unless `verified`.
    earliest: Option<EarliestBlock>,
    /// The attestations of the proof, at most 100. Those that are verified come first, the lowest block first.
    attestations: Vec<TimestampAttestation>,
    /// Number of attestations that are not listed. They were checked, too.
    attestations_omitted: usize,
    /// Caveats as sentences.
    caveats: Vec<String>,
    /// The same caveats as codes with parameters.
    caveat_codes: Vec<Caveat>,
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
}

/// The lowest block that a proof leads to.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EarliestBlock {
    height: Height,
    hash: String,
    /// Time in the header of the block, from the clock of a miner.
    time: String,
    time_unix: u32,
    /// Median of the header times of the block and the 10 blocks before it, as in Bitcoin Core's `mediantime`.
    mtp: String,
    mtp_unix: u32,
    /// Two hours after `time`: the file existed before.
    existed_before: String,
    existed_before_unix: u32,
}

const MAX_LISTED: usize = 100;
/// Seconds by which the time of a header may differ from the time at which the block was found.
const MINERS_CLOCK_SECS: u32 = 7_200;
/// Blocks whose times make the median time past.
const MEDIAN_BLOCKS: u32 = 11;

impl Operation for VerifyTimestamp {
    const INFO: Info = Info {
        summary: "Verify the proof of a timestamp (OpenTimestamps) against the block headers of this index",
        description: "Follows an OpenTimestamps proof from the hash of a file to its attestations, and compares what a \
            Bitcoin attestation leads to with the Merkle root in the header of its block. If both are equal, the file \
            existed before T + 2 h, where T is the time of that header: the clock of a miner. Attestations of \
            calendars that are pending, of other chains and of unknown kinds are listed and not checked. The body is \
            JSON, or the file *.ots itself as application/vnd.opentimestamps.ots. The file that the proof is about is not \
            needed: compute its hash yourself, and compare it with `file_hash` or send it as `hash`. A malformed proof is \
            400 `invalid_proof` with the `offset` of its first wrong byte. Limits: 64 KiB, 256 operations in a row, 10 000 \
            in all.",
        errors: &[ErrorCode::InvalidProof],
        file_body: Some(FileBody {
            media: "application/vnd.opentimestamps.ots",
            field: "proof_base64",
            max_bytes: MAX_BYTES,
            max_fitting: MAX_TEXT / 4 * 3,
        }),
        tool: Tool::reads(
            "the user has an OpenTimestamps proof (.ots) and asks if, or since when, a file existed",
            "making a timestamp, or completing a pending proof, which its calendar does",
        ),
        ..index_post("verify_timestamp", "/v1/timestamp/verify", "timestamps")
    };
    type Input = VerifyTimestampInput;
    type Output = VerifyTimestampOutput;

    fn run(ctx: &Ctx<'_>, input: VerifyTimestampInput) -> Result<VerifyTimestampOutput, ApiError> {
        let (name, text) = match (&input.proof_base64, &input.proof) {
            (Some(text), _) => ("proof_base64", text),
            (None, Some(text)) => ("proof", text),
            // The validation ensures that one of them is given.
            (None, None) => return Err(ApiError::internal()),
        };
        let proof = read_proof(name, text)?;
        let view = ctx.view()?;
        let mut attestations = check(ctx, view, &proof)?;
        let expected = input.hash.or(input.hash_hex);
        let hash_matches = expected.map(|hash| hash.0 == proof.file_hash());
        let lowest = attestations.first().filter(|row| row.state == AttestationState::Verified);
        let lowest = lowest.filter(|_| hash_matches != Some(false));
        let settles = lowest.and_then(|row| row.confirmations);
        let earliest = lowest.and_then(|row| Height::try_from(row.height?).ok());
        let earliest = earliest.map(|height| EarliestBlock::new(view, height)).transpose()?;
        let genesis = headers(view, [0].into())?.remove(&0).ok_or_else(ApiError::internal)?.hash.to_string();
        let caveat_codes = caveats(view.network(), &genesis, settles);
        let statement = statement(hash_matches, earliest.as_ref(), &attestations);
        let attestations_omitted = attestations.len().saturating_sub(MAX_LISTED);
        attestations.truncate(MAX_LISTED);
        Ok(VerifyTimestampOutput {
            file_hash: hex::encode(proof.file_hash()),
            file_hash_function: proof.function().name(),
            hash_matches,
            network: view.network().name(),
            genesis,
            verified: earliest.is_some(),
            statement,
            earliest,
            attestations,
            attestations_omitted,
            caveats: Caveat::sentences(&caveat_codes),
            caveat_codes,
            definition: TIMESTAMPS,
        })
    }
}

impl EarliestBlock {
    /// Reads the block and the 10 before it.
    fn new(view: &View<'_>, height: Height) -> Result<Self, ApiError> {
        let first = height.saturating_sub(MEDIAN_BLOCKS - 1);
        let rows = headers(view, (first..=height).collect())?;
        let row = rows.get(&height).ok_or_else(ApiError::internal)?;
        let mut times: Vec<u32> = rows.values().map(|row| row.time()).collect();
        times.sort_unstable();
        let mtp = times.get(times.len() / 2).copied().unwrap_or(row.time());
        let existed_before = row.time().saturating_add(MINERS_CLOCK_SECS);
        Ok(EarliestBlock {
            height,
            hash: row.hash.to_string(),
            time: rfc3339(row.time()),
            time_unix: row.time(),
            mtp: rfc3339(mtp),
            mtp_unix: mtp,
            existed_before: rfc3339(existed_before),
            existed_before_unix: existed_before,
        })
    }
}

/// The caveats; `settles` has the confirmations of the lowest block.
fn caveats(network: Network, genesis: &str, settles: Option<u32>) -> Vec<Caveat> {
    let foreign =
        (network != Network::Main).then(|| Caveat::NotMainnet { network: network.name(), genesis: genesis.to_owned() });
    let young = settles.filter(|confirmations| *confirmations < SETTLED_AT);
    let young = young.map(|confirmations| Caveat::ProvisionalConfirmations { confirmations, settled_at: SETTLED_AT });
    foreign.into_iter().chain(young).collect()
}

/// The result in one sentence. `attestations` has at least one, and those that say most come first.
fn statement(
    hash_matches: Option<bool>,
    earliest: Option<&EarliestBlock>,
    attestations: &[TimestampAttestation],
) -> String {
    if hash_matches == Some(false) {
        return "The proof is about another file: its hash differs from the given one.".to_owned();
    }
    if let Some(block) = earliest {
        return format!(
            "The file existed before {}: two hours after the time of block {}, which is the clock of a miner.",
            block.existed_before, block.height
        );
    }
    let said = match attestations.first().map(|row| row.state) {
        Some(AttestationState::Mismatch) => "it does not lead to the Merkle root of the block that it names",
        Some(AttestationState::HeightUnknown) => "it names a block that this index does not have yet",
        Some(AttestationState::Pending) => {
            "no calendar has added a block to it yet; complete it with a client of OpenTimestamps (ots upgrade)"
        }
        _ => "it has no attestation of Bitcoin",
    };
    format!("The proof shows nothing on this chain: {said}.")
}
