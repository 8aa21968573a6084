//! Owners of scripts by the claims that a test loads, and a chain for them.

use std::collections::HashMap;

use bitcoin::ScriptBuf;
use cairn_chaingen::{BlockSpec, Everything, Joint, Owners, Truth};
use cairn_events::{Claim, ClaimType, EvidenceTier};
use cairn_support::cospending::clusters_of;
use cairn_testkit::{ClusterId, Clusters};

use crate::{
    claims::{claim, take},
    priced::DAY,
    support::World,
};

/// A chain of some owners with joint transactions of all kinds, whose last blocks are days and months apart.
pub fn shared_world(showpieces: bool) -> (World, Truth) {
    let joint = vec![Joint::CoinJoin, Joint::Pledge, Joint::PayJoin, Joint::Mixer];
    let owners = Owners { count: 12, joint, keyless: true };
    let mut generator = Everything::owned(31, 6, showpieces, owners).unwrap();
    generator.grow(118).unwrap();
    for days in [500, 200, 60, 40, 15, 5, 2, 1] {
        let at = generator.chain().active().last().unwrap().block.header.time + days * DAY;
        generator.builder().mine(&BlockSpec { time: Some(at), ..BlockSpec::default() }).unwrap();
        generator.grow(5).unwrap();
    }
    let truth = generator.truth().clone();
    (World::of(generator.into_chain()), truth)
}

/// The owner of each script, by the claims that a test has loaded.
pub struct Said {
    /// Scripts that a list attributes to an entity; a script has no owner if its claims are too weak or contradict each
    /// other.
    direct: HashMap<ScriptBuf, Option<String>>,
    /// The entity that all other scripts of a cluster get from strong claims about some of them.
    heirs: HashMap<ClusterId, String>,
    clusters: Clusters,
}

impl Said {
    fn nothing(world: &World) -> Said {
        let clusters = clusters_of(&world.oracle, world.oracle.tip().unwrap().0);
        Said { direct: HashMap::new(), heirs: HashMap::new(), clusters }
    }

    /// Loads claims of two sources about most clusters: strong ones that all scripts of the cluster inherit, strong
    /// ones that contradict each other, and weak ones about single scripts.
    pub fn take(world: &World) -> Said {
        let mut said = Said::nothing(world);
        let mut lists: [Vec<Claim>; 2] = Default::default();
        let own = |script: &ScriptBuf, entity: &str| Claim { is_inherited: false, ..claim(script, entity) };
        let strong = |script: &ScriptBuf, entity: &str| Claim {
            level: 90,
            tier: EvidenceTier::SelfDisclosed,
            ..claim(script, entity)
        };
        // Lists have no others.
        let fits = |script: &ScriptBuf| (1..=10_000).contains(&script.len());
        let mut single = 0;
        let clusters: Vec<Vec<ScriptBuf>> = said
            .clusters
            .all()
            .map(|members| members.into_iter().filter(|script| fits(script)).cloned().collect())
            .collect();
        for (at, members) in clusters.into_iter().enumerate() {
            let mut of = |script: &ScriptBuf, entity: Option<String>| said.direct.insert(script.clone(), entity);
            match (at % 3, &members[..]) {
                (0, [first, second, third, ..]) => {
                    let entity = format!("heir{}", at % 7);
                    lists[0].push(strong(first, &entity));
                    of(first, Some(entity.clone()));
                    // That a page mentions somebody makes no owner, but it is said of the script itself.
                    lists[1].push(Claim { claim_type: ClaimType::MentionedIn, ..own(second, "blog") });
                    of(second, None);
                    lists[1].push(own(third, "guest"));
                    of(third, Some("guest".to_owned()));
                    said.heirs.insert(said.clusters.cluster_of(first), entity);
                }
                (1, [first, second, ..]) => {
                    for (list, script, entity) in [(0, first, "left"), (1, second, "right")] {
                        lists[list].push(strong(script, entity));
                        of(script, Some(entity.to_owned()));
                    }
                }
                _ => {
                    for script in members {
                        single += 1;
                        let entity = format!("e{}", single % 83);
                        let named = [own(&script, &entity), own(&script, &format!("other-{entity}"))];
                        let owner = match single % 6 {
                            0 => [Some(named[0].clone()), None],
                            1 => [None, Some(Claim { level: 30, ..named[0].clone() })],
                            2 => [Some(named[0].clone()), Some(named[1].clone())],
                            3 => [Some(named[0].clone()), Some(named[0].clone())],
                            _ => continue,
                        };
                        lists.iter_mut().zip(owner).for_each(|(list, claim)| list.extend(claim));
                        of(&script, (single % 6 % 3 == 0).then_some(entity));
                    }
                }
            }
        }
        for (source, claims) in ["first", "second"].into_iter().zip(&lists) {
            take(world, source, 1_700_000_000, false, claims);
        }
        said
    }

    /// Loads claims that these scripts are of these entities, and no others.
    pub fn take_these(world: &World, these: Vec<(ScriptBuf, &str)>) -> Said {
        let claims: Vec<Claim> = these.iter().map(|(script, entity)| claim(script, entity)).collect();
        take(world, "first", 1_700_000_000, false, &claims);
        let direct = these.into_iter().map(|(script, entity)| (script, Some(entity.to_owned())));
        Said { direct: direct.collect(), ..Said::nothing(world) }
    }

    /// The entity of a script, and whether that is inherited.
    pub fn owner(&self, script: &ScriptBuf) -> Option<(&str, bool)> {
        match self.direct.get(script) {
            Some(entity) => entity.as_deref().map(|entity| (entity, false)),
            None => self.heirs.get(&self.clusters.cluster_of(script)).map(|entity| (&**entity, true)),
        }
    }

    /// The clusters of the newest block.
    pub fn clusters(&self) -> &Clusters {
        &self.clusters
    }
}
