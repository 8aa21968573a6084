//! Sums of an entity with the other scripts of its scripts' clusters.

use bitcoin::ScriptBuf;
use cairn_events::{Claim, ClaimType, EvidenceTier};
use cairn_model::Network;
use serde_json::json;

use crate::{
    claims::{claim, of_one_cluster, take},
    support::{World, everything_world, get_ok},
};

const LOOKUP: &str = "/v1/entities/{entity_name}";
const OKX: &str = "/v1/entities/okx";
const TRUST: &str = "/v1/wallets/{address}/trust-safety";

#[tokio::test]
async fn what_other_scripts_of_a_cluster_hold_stands_apart() {
    let world = &everything_world();
    let router = world.open_router();
    let [(script, _), (other, _)] = of_one_cluster(world);
    let strong = Claim { level: 90, tier: EvidenceTier::SelfDisclosed, ..claim(&script, "okx") };
    take(world, "okx", 1_760_000_000, false, std::slice::from_ref(&strong));
    let in_cluster = others_of_cluster(world, &script);
    assert!(in_cluster.contains(&other));
    let found = get_ok(&router, LOOKUP, OKX).await;
    let holds = |script: &ScriptBuf| world.oracle.totals(script).map_or(0, |of| of.funded_sats - of.spent_sats);
    let balance = |scripts: &[ScriptBuf]| scripts.iter().map(holds).sum::<u64>();
    let (direct, inherited) = (balance(std::slice::from_ref(&script)), balance(&in_cluster));
    assert_eq!((&found["direct_balance_sats"], &found["inherited_balance_sats"]), (&direct.into(), &inherited.into()));
    assert_eq!((&found["balance_sats"], &found["address_count"]), (&(direct + inherited).into(), &1.into()));
    let facts = json!({
        "address_count": in_cluster.len(),
        "cluster_count": 1,
        "suspect_cluster_count": 0,
        "suspect_balance_sats": 0,
    });
    assert_eq!(found["inherited"], facts);
    // Every one of them has a card that says so.
    for script in &in_cluster {
        let Some(address) = cairn_domain::address_of(script.as_bytes(), Network::Regtest) else { continue };
        let card = get_ok(&router, TRUST, &TRUST.replace("{address}", &address)).await;
        assert_eq!((&card["assessment"]["state"], &card["label"]["entity"]), (&"inferred".into(), &"okx".into()));
    }
    // A script that a list names somebody for counts by that alone.
    let named = Claim { claim_type: ClaimType::MentionedIn, ..claim(&other, "xyz") };
    take(world, "blog", 1_760_000_001, false, &[named]);
    let found = get_ok(&router, LOOKUP, OKX).await;
    let rest: Vec<ScriptBuf> = in_cluster.iter().filter(|script| **script != other).cloned().collect();
    assert_eq!(found["inherited_balance_sats"], balance(&rest));
    assert_eq!(found["inherited"]["address_count"], rest.len());
    // Somebody else with as good a claim: nobody has the votes.
    take(world, "xyz", 1_760_000_002, false, &[Claim { level: 90, ..claim(&other, "xyz") }]);
    let found = get_ok(&router, LOOKUP, OKX).await;
    assert_eq!((&found["inherited"]["cluster_count"], &found["inherited_balance_sats"]), (&0.into(), &0.into()));
}

/// The other scripts of the cluster of a script.
fn others_of_cluster(world: &World, of: &ScriptBuf) -> Vec<ScriptBuf> {
    let reader = world.engine.lock().unwrap().reader();
    let view = reader.view().unwrap();
    let root = |script: &bitcoin::Script| {
        let found = view.scripts().find(script.as_bytes()).unwrap()?;
        view.clusters().of_script(found.id, view.as_of_tip()).unwrap().root
    };
    let wanted = root(of).unwrap();
    world
        .oracle
        .scripts()
        .filter(|script| *script != of && root(script) == Some(wanted))
        .map(ToOwned::to_owned)
        .collect()
}
