//! Traces for several choices of claims, one after the other, against separate traces: the same in every number.

use std::{collections::BTreeMap, convert::Infallible, rc::Rc};

use cairn_domain::exposure::{Chain, Limits, Role, SharedTraces, Source, Trace, TracedTx, Way, trace};
use cairn_model::{ScriptId, TxNum};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{
    properties::{cases, subject},
    world::{NO_LIMITS, SCRIPTS, World, script},
};

/// A choice of claims over a chain: only these scripts are sources. Counts what is read.
struct Choice<'w> {
    world: &'w mut World,
    sources: BTreeMap<ScriptId, Source>,
    /// Transactions and spenders that were read.
    reads: u64,
}

impl Chain for Choice<'_> {
    type Error = Infallible;

    fn transaction(&mut self, tx: TxNum) -> Result<Option<Rc<TracedTx>>, Infallible> {
        self.reads += 1;
        self.world.transaction(tx)
    }

    fn spenders(&mut self, tx: TxNum) -> Result<Rc<[(u32, TxNum)]>, Infallible> {
        self.reads += 1;
        self.world.spenders(tx)
    }

    fn roles(&mut self, scripts: &[ScriptId]) -> Result<Vec<Role>, Infallible> {
        let role = |of: &ScriptId| Role { source: self.sources.get(of).copied(), ..self.world.role(*of) };
        Ok(scripts.iter().map(role).collect())
    }
}

/// Few sources: so some choices give the same trace, and others do not.
fn sources(rng: &mut impl Rng) -> BTreeMap<ScriptId, Source> {
    let mut sources = BTreeMap::new();
    for number in 0..SCRIPTS {
        if rng.random_bool(0.1) {
            sources.insert(script(number), Source { id: number.into(), group: rng.random_range(0..2) });
        }
    }
    sources
}

/// Bounds of which some cut a small chain.
fn limits(rng: &mut impl Rng) -> Limits {
    let hops = rng.random_range(1..=4);
    match rng.random_bool(0.5) {
        true => Limits { hops, ..NO_LIMITS },
        false => Limits {
            hops,
            coins: rng.random_range(1..20),
            txs: rng.random_range(1..12),
            steps: rng.random_range(0..60),
        },
    }
}

fn assert_same(shared: &Trace, alone: &Trace, what: &str) {
    assert_eq!((&shared.tally, &shared.reached), (&alone.tally, &alone.reached), "{what}");
    let counts = |of: &Trace| {
        (of.transactions, of.left_out_transactions, of.coins, of.left_out_coins, of.left_out_paths, of.is_truncated())
    };
    assert_eq!(counts(shared), counts(alone), "{what}");
    for of in &shared.reached {
        assert_eq!(shared.way(of), alone.way(of), "{what}");
    }
}

#[test]
fn shared_traces_equal_separate_ones() {
    let (mut kept, mut with_sources, mut walked) = (0, 0, 0);
    for seed in 0..cases() {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut world = World::random(seed, 1_000_000);
        let mut shared = SharedTraces::default();
        let questions = [(subject(seed), limits(&mut rng)), (script(rng.random_range(0..SCRIPTS)), limits(&mut rng))];
        for number in 0..12 {
            let what = format!("seed {seed}, trace {number}");
            let way = if rng.random_bool(0.5) { Way::Sources } else { Way::Destinations };
            let (subject, limits) = questions[usize::from(rng.random_bool(0.2))];
            let mut txs = world.history(subject, way == Way::Sources);
            if rng.random_bool(0.1) {
                txs.pop();
            }
            let sources = sources(&mut rng);
            let mut alone = Choice { world: &mut world, sources: sources.clone(), reads: 0 };
            let expected = trace(&mut alone, way, subject, &txs, limits).unwrap();
            let reads = alone.reads;
            let mut choice = Choice { world: &mut world, sources, reads: 0 };
            let found = shared.trace(&mut choice, way, subject, &txs, limits).unwrap();
            assert_same(&found, &expected, &what);
            if reads > 0 && choice.reads == 0 {
                kept += 1;
                with_sources += u64::from(!found.reached.is_empty());
            } else {
                assert_eq!(choice.reads, reads, "{what}");
                walked += 1;
            }
        }
    }
    assert!(kept > cases() && walked > cases() && with_sources > cases() / 100, "{kept}, {walked}, {with_sources}");
}
