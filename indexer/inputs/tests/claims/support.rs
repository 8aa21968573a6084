//! Reading in memory, and claims as short text.

use cairn_events::{Claim, Listed};
use cairn_inputs::{ClaimLayout, ClaimOptions, ClaimReport, InputError, read_claims};
use cairn_model::Network;

/// 2026-11-24 00:00 UTC.
pub(crate) const NOW: u32 = 1_795_478_400;
pub(crate) const A: &str = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";
pub(crate) const B: &str = "12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h";
pub(crate) const C: &str = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4";

pub(crate) fn options() -> ClaimOptions {
    ClaimOptions::new(NOW, Network::Main)
}

pub(crate) fn layout(layout: ClaimLayout) -> ClaimOptions {
    ClaimOptions { layout: Some(layout), ..options() }
}

pub(crate) fn try_read(bytes: &[u8], options: &ClaimOptions) -> Result<(Vec<Claim>, ClaimReport), InputError> {
    let mut claims: Vec<Claim> = Vec::new();
    let mut input = bytes;
    let report = read_claims(&mut input, options, &mut |claim| {
        claim.check().unwrap();
        assert!(claims.last().is_none_or(|before| before.row < claim.row), "rows ascend");
        claims.push(claim);
    })?;
    assert!(report.profiles.iter().all(|profile| profile.check().is_ok()));
    check((claims.len() + report.profiles.len()) as u64, &report);
    Ok((claims, report))
}

pub(crate) fn read(text: impl AsRef<[u8]>, options: &ClaimOptions) -> (Vec<Claim>, ClaimReport) {
    try_read(text.as_ref(), options).unwrap()
}

/// Checks the promises of every report.
pub(crate) fn check(taken: u64, report: &ClaimReport) {
    assert_eq!(report.rows, report.taken + report.refused, "nothing is lost");
    assert_eq!(report.taken, taken);
    let refused = report.by_code.iter().filter(|(code, _)| code.is_refused()).map(|(_, count)| *count);
    assert_eq!(report.refused, refused.sum::<u64>());
    assert!(report.bad_rows.len() <= 100);
    assert!(report.bad_rows.iter().all(|bad| bad.to_string().len() < 600));
}

/// `row type tier level entity category behaviour`.
pub(crate) fn show(claim: &Claim) -> String {
    let entity = claim.entity.as_ref().map_or("-", |name| name.as_str());
    let category = claim.category.map_or("-", |word| word.as_str());
    let behaviour = claim.behaviour.map_or("-", |word| word.as_str());
    let (row, says, tier, level) = (claim.row, claim.claim_type, claim.tier, claim.level);
    format!("{row} {says} {tier} {level} {entity} {category} {behaviour}")
}

pub(crate) fn shown(claims: &[Claim]) -> Vec<String> {
    claims.iter().map(show).collect()
}

/// The rows with something wrong as `row field code`.
pub(crate) fn told(report: &ClaimReport) -> Vec<String> {
    let field = |bad: &cairn_inputs::BadClaim| bad.field.clone().unwrap_or("-".to_owned());
    report.bad_rows.iter().map(|bad| format!("{} {} {}", bad.row, field(bad), bad.code)).collect()
}

pub(crate) fn error(bytes: impl AsRef<[u8]>, options: &ClaimOptions) -> String {
    try_read(bytes.as_ref(), options).unwrap_err().to_string()
}
