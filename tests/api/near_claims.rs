//! The signals about mixers and lists nearby agree with exposure: both read one trace.

use std::collections::BTreeSet;

use cairn_events::{Category, Claim, ClaimType};
use serde_json::Value;

use crate::{
    claims::{claim, contest, listed, take},
    exposure::scripts,
    support::{count_of, everything_world, get_ok, script_hash},
};

const SIGNALS: &str = "/v1/wallets/{address}/risk-signals";
const RETRIEVED: u32 = 1_760_000_000;

/// The scripts and claims that one direction of an exposure found. A group has one row for each, and the claims of a
/// row are at most ten.
fn found(side: &Value) -> (BTreeSet<String>, BTreeSet<String>) {
    let rows = if side["by_list"].is_array() { &side["by_list"] } else { &side["by_category"] };
    let (mut scripts, mut claims) = (BTreeSet::new(), BTreeSet::new());
    for measure in rows.as_array().unwrap().iter().flat_map(|row| [&row["counterparty"], &row["indirect"]]) {
        assert!(count_of(measure, "claims_total") <= 10, "{measure}");
        for claim in measure["claims"].as_array().unwrap() {
            scripts.insert(claim["address"].as_str().unwrap().to_owned());
            claims.insert(claim["claim_id"].as_str().unwrap().to_owned());
        }
    }
    (scripts, claims)
}

/// Claims of each kind that counts, and of each kind that does not.
fn claimed(scripts: &[bitcoin::ScriptBuf]) -> Vec<Claim> {
    let behaves = |script, behaviour: &str, claim_type, level| Claim {
        claim_type,
        level,
        behaviour: Some(behaviour.parse().unwrap()),
        category: None,
        entity: None,
        entity_name: "".into(),
        ..claim(script, "nobody")
    };
    let of = |(at, script)| match at % 17 {
        1 => Some(listed(script)),
        4 => Some(Claim { category: Some(Category::Mixer), ..claim(script, "mixer") }),
        6 => Some(behaves(script, "mixing", ClaimType::ReportedAs, 40)),
        8 => Some(behaves(script, "mixing", ClaimType::ReportedAs, 39)),
        10 => Some(Claim { behaviour: Some("theft".parse().unwrap()), ..listed(script) }),
        12 => Some(claim(script, "exchange")),
        _ => None,
    };
    (0..).zip(scripts).filter_map(of).collect()
}

#[tokio::test]
async fn signals_and_exposure_find_the_same_claims() {
    let world = &everything_world();
    let mut all = scripts(&world.oracle, 120);
    // A claim cannot be about others.
    all.retain(|script| (1..=10_000).contains(&script.len()));
    let claims = claimed(&all);
    take(world, "study", RETRIEVED, true, &claims);
    // A contested claim counts for neither.
    let contested = claims.iter().find(|claim| claim.category == Some(Category::Mixer)).unwrap();
    contest(world, contested, "study");
    let router = world.open_router();
    let (mut fired, mut quiet, mut cut) = (0, 0, 0);
    for script in &all {
        let address = script_hash(script);
        let body = get_ok(&router, SIGNALS, &SIGNALS.replace("{address}", &address)).await;
        for (id, operation, choice) in [
            ("mixer_exposure", "risk-exposure", "&categories=mixer,mixing"),
            ("sanctioned_indirect", "sanctions-exposure", ""),
        ] {
            let template = format!("/v1/wallets/{{address}}/{operation}");
            let path = format!("/v1/wallets/{address}/{operation}?depth=2&min_share_ppm=0{choice}");
            let answer = get_ok(&router, &template, &path).await;
            let signal = body["signals"].as_array().unwrap().iter().find(|signal| signal["id"] == id).unwrap();
            let [sources, destinations] = ["sources", "destinations"].map(|side| found(&answer[side]));
            let all: BTreeSet<&String> = sources.1.iter().chain(&destinations.1).collect();
            let named = signal["claim_ids"].as_array().unwrap();
            assert!(named.iter().all(|id| all.contains(&id.as_str().unwrap().to_owned())), "{address}: {signal}");
            if answer["truncated"] == true {
                // The signal reads fewer transactions. Exposure finds all that it finds; absence is not examined.
                let state = if named.is_empty() { "not_examined" } else { "fired" };
                assert_eq!(signal["state"], state, "{address}: {signal}");
                cut += 1;
                continue;
            }
            if all.is_empty() {
                quiet += 1;
                assert_eq!(signal["state"], "not_fired", "{address}: {signal}");
                continue;
            }
            fired += 1;
            assert_eq!(signal["state"], "fired", "{address}: {signal}");
            assert_eq!(signal["observed"]["sources"], sources.0.len(), "{address}: {signal}");
            assert_eq!(signal["observed"]["destinations"], destinations.0.len(), "{address}: {signal}");
            assert_eq!(named.len(), all.len().min(10), "{address}: {signal}");
        }
    }
    assert!(fired > 20 && quiet > 20 && cut > 0, "{fired} {quiet} {cut}");
}
