//! Digest and signature of a pack.

use cairn_domain::evidence::{SecretKey, digest, signed_bytes};
use cairn_http::ApiError;

use super::pack::{Pack, PackSignature};

/// Sets digest and signature. While tables are being built, two machines may show different things at the same tip:
/// such a pack has neither.
pub(super) fn seal(mut pack: Pack, is_settled: bool, key: Option<&SecretKey>) -> Result<Pack, ApiError> {
    if !is_settled {
        (pack.digest_reason, pack.signature_reason) = (Some("tables_unfinished"), Some("no_digest"));
        return Ok(pack);
    }
    let bytes = signed_bytes(&serde_json::to_value(&pack)?).map_err(|error| {
        // Sections are made fit for it.
        tracing::error!(%error, "an evidence pack has no canonical form");
        ApiError::internal()
    })?;
    pack.digest_sha256 = Some(digest(&bytes));
    match key {
        None => pack.signature_reason = Some("no_key"),
        Some(key) => {
            let [alg, key_id, value] = key.sign(&bytes);
            pack.signature = Some(PackSignature { alg, key_id, value });
        }
    }
    Ok(pack)
}
