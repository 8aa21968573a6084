//! The pool of a script, by claims.

use cairn_domain::{
    claims::{At, Stated},
    pools::pool_of_script,
};
use cairn_events::{Category, Claim, ClaimType, DocumentHash, EvidenceTier, Slug};

fn claim(pool: &str, level: u8) -> Claim {
    Claim {
        level,
        entity: Some(pool.parse().unwrap()),
        entity_name: pool.to_uppercase().into(),
        category: Some(Category::MiningPool),
        ..Claim::bare(1, [0x51].into(), ClaimType::CoinbasePayoutOf, EvidenceTier::Community)
    }
}

/// Who the script is paid for, if each source says so much of it.
fn found(claims: &[(&str, Claim)], change: impl Fn(&mut Stated<'_>)) -> Option<String> {
    let document = DocumentHash([1; 32]);
    let sources: Vec<Slug> = claims.iter().map(|(source, _)| source.parse().unwrap()).collect();
    let licence: Slug = "mit".parse().unwrap();
    let stated: Vec<Stated<'_>> = claims
        .iter()
        .zip(&sources)
        .map(|((_, claim), source)| {
            let mut stated = Stated {
                claim,
                source,
                licence: &licence,
                document: &document,
                retrieved_at: 100,
                ended_at: None,
                is_contested: false,
                inherited: false,
            };
            change(&mut stated);
            stated
        })
        .collect();
    pool_of_script(&stated, At::time(200)).map(|of| {
        assert_eq!(of.claim.entity(), Some(of.pool));
        of.pool.to_string()
    })
}

#[test]
fn claims_of_control_that_name_a_pool_vote() {
    let is = |pool: &str| Some(pool.to_owned());
    assert_eq!(found(&[], |_| ()), None);
    assert_eq!(found(&[("a", claim("one", 10))], |_| ()), is("one"));
    let controlled = Claim { claim_type: ClaimType::ControlledBy, ..claim("one", 40) };
    assert_eq!(found(&[("a", controlled.clone())], |_| ()), is("one"));
    // Claims that only report, and entities other than pools, do not count.
    let reported = Claim { claim_type: ClaimType::ReportedAs, ..claim("one", 70) };
    let exchange = Claim { category: Some(Category::Exchange), ..controlled };
    assert_eq!(found(&[("a", reported), ("b", exchange)], |_| ()), None);
    // Of two lists that name two pools none counts; the better evidence does.
    assert_eq!(found(&[("a", claim("one", 10)), ("b", claim("two", 10))], |_| ()), None);
    assert_eq!(found(&[("a", claim("one", 10)), ("b", claim("two", 70))], |_| ()), is("two"));
}

#[test]
fn claims_that_do_not_stand_do_not_count() {
    let one = [("a", claim("one", 10))];
    assert_eq!(found(&one, |stated| stated.ended_at = Some(150)), None);
    assert_eq!(found(&one, |stated| stated.retrieved_at = 201), None);
    assert_eq!(found(&one, |stated| stated.is_contested = true), None);
}
