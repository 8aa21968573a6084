//! As `golden`, for labels and entities.

use cairn_events::{Behaviour, Category, ClaimType, EntityName, EvidenceTier};
use cairn_model::TxNum;
use cairn_tables::{
    claims::ListKey,
    cluster_claims::{ClaimChild, ClaimChildren, ClaimNodes, SCRIPTS_BELOW},
    cluster_owners::{BelowSum, ClusterBelow, ClusterOwners, MAX_OWNERS, OwnersDue, OwnersRow},
    entities::{
        EntityFacet, EntityFacets, EntityScript, EntityScripts, EntitySum, EntityTotals, FacetKind, Newest, ScriptClass,
    },
    label_sources::{LabelSource, LabelSources, SourceSum},
    labels::{Label, LabelDue, Labels, Member, ScriptHash, ScriptLabel, SeenScript},
    sums::Sums,
};
use proptest::{
    collection::{btree_set, vec},
    option,
    prelude::*,
    sample::select,
    strategy::BoxedStrategy,
};

use crate::{Tested, golden::Golden, golden_ages, values};

fn hash() -> impl Strategy<Value = ScriptHash> + Clone {
    any::<[u8; 32]>().prop_map(ScriptHash)
}

fn entity() -> impl Strategy<Value = EntityName> + Clone {
    "[a-c]{1,3}|[a-z0-9._-]{1,64}".prop_map(|name| name.parse().unwrap())
}

fn text() -> impl Strategy<Value = std::sync::Arc<str>> + Clone {
    "[a-zäß:/.]{0,20}".prop_map(Into::into)
}

fn seen() -> impl Strategy<Value = SeenScript> + Clone {
    (any::<u8>(), values::tx_num()).prop_map(|(ordinal, last)| SeenScript { ordinal, last })
}

fn label() -> impl Strategy<Value = Label> + Clone {
    let words = (select(ClaimType::ALL), select(EvidenceTier::ALL), 0..=100u8);
    let what = (option::of(select(Category::ALL)), option::of(select(Behaviour::ALL)), values::number());
    (words, what, option::of(entity()), text(), text(), any::<(bool, bool, bool)>()).prop_map(
        |(words, what, entity, name, said, flags)| Label {
            claim_type: words.0,
            tier: words.1,
            level: words.2,
            category: what.0,
            behaviour: what.1,
            then: what.2,
            entity,
            name,
            words: said,
            is_conflicted: flags.0,
            is_contested: flags.1,
            is_person: flags.2,
        },
    )
}

fn list() -> impl Strategy<Value = ListKey> + Clone {
    ("[a-c]{1,3}", "[a-z0-9._-]{1,32}")
        .prop_map(|(source, list)| ListKey { source: source.parse().unwrap(), list: list.parse().unwrap() })
}

fn member() -> impl Strategy<Value = Member> + Clone {
    let origins = proptest::collection::btree_set("[a-z]{1,12}", 0..4);
    let lists = proptest::collection::btree_set(list(), 0..3);
    (entity(), 0..=100u8, origins, lists).prop_map(|(entity, level, origins, lists)| Member {
        entity,
        level,
        origins: origins.into_iter().map(Into::into).collect(),
        own_lists: lists.into_iter().collect(),
    })
}

impl Tested for Labels {
    fn keys() -> BoxedStrategy<ScriptHash> {
        hash().boxed()
    }

    fn values() -> BoxedStrategy<ScriptLabel> {
        let sources = proptest::collection::btree_set("[a-z0-9._-]{1,32}", 0..4);
        let node = (any::<bool>(), option::of(values::tx_num()));
        (vec(any::<u8>(), 1..40), option::of(seen()), option::of(label()), member(), sources, node)
            .prop_map(|(script, seen, label, member, sources, (is_heritable, node))| ScriptLabel {
                script: script.into(),
                node: node.filter(|_| seen.is_some()),
                is_heritable,
                seen,
                member: (label.is_none() || member.level > 40).then_some(member),
                label,
                sources: sources.iter().map(|source| source.parse().unwrap()).collect(),
            })
            .boxed()
    }

    fn golden() -> Golden<Self> {
        let label = Label {
            claim_type: ClaimType::ControlledBy,
            tier: EvidenceTier::SelfDisclosed,
            level: 90,
            category: Some(Category::Exchange),
            behaviour: None,
            then: 300,
            entity: Some("abc".parse().unwrap()),
            name: "ABC".into(),
            words: "".into(),
            is_conflicted: false,
            is_contested: true,
            is_person: false,
        };
        let own = ListKey { source: "abc".parse().unwrap(), list: "por".parse().unwrap() };
        let member = Member {
            entity: "abc".parse().unwrap(),
            level: 90,
            origins: vec!["abc".into(), "def".into()],
            own_lists: vec![own],
        };
        let seen = Some(SeenScript { ordinal: 1, last: TxNum(0x0102) });
        vec![(
            ScriptHash([0xa5; 32]),
            ScriptLabel {
                script: [0x51].into(),
                seen,
                label: Some(label),
                member: Some(member),
                sources: vec!["abc".parse().unwrap()],
                is_heritable: true,
                node: Some(TxNum(0x0304)),
            },
            "a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5",
            "01 51 3f 01 0000000102 01 03 5a 01 00 02 ac02 03 616263 03 414243 00 5a 03 616263 02 03 616263 03 646566 01 \
                 61626300 706f7200 01 03 616263 0000000304",
        )]
    }

    const FREE_BYTES: u64 = 4_096;
}

impl Tested for LabelSources {
    fn keys() -> BoxedStrategy<LabelSource> {
        option::of("[a-z0-9._-]{1,32}".prop_map(|text| text.parse().unwrap())).prop_map(LabelSource).boxed()
    }

    fn values() -> BoxedStrategy<Sums> {
        golden_ages::sums().boxed()
    }

    fn golden() -> Golden<Self> {
        let sums = Sums::of([
            (SourceSum::Scripts.position(), 2),
            (SourceSum::Seen.position(), 1),
            (SourceSum::Funded.position(), 300),
        ]);
        let sums = sums.unwrap();
        vec![
            (LabelSource(Some("abc".parse().unwrap())), sums.clone(), "7a 616263", "00 04 00 02 00 d804"),
            (LabelSource(None), sums, "7a", "00 04 00 02 00 d804"),
        ]
    }
}

impl Tested for ClaimNodes {
    fn keys() -> BoxedStrategy<(TxNum, ScriptHash)> {
        (values::tx_num(), hash()).boxed()
    }

    fn values() -> BoxedStrategy<()> {
        Just(()).boxed()
    }

    fn golden() -> Golden<Self> {
        let key = "6a 0000000102 a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5";
        vec![((TxNum(0x0102), ScriptHash([0xa5; 32])), (), key, "")]
    }
}

impl Tested for ClaimChildren {
    fn keys() -> BoxedStrategy<ClaimChild> {
        (values::tx_num(), values::tx_num(), values::tx_num())
            .prop_map(|(parent, by, child)| ClaimChild { parent, by, child })
            .boxed()
    }

    fn values() -> BoxedStrategy<Sums> {
        golden_ages::sums().boxed()
    }

    fn golden() -> Golden<Self> {
        let tie = ClaimChild { parent: TxNum(1), by: TxNum(0x0102), child: TxNum(2) };
        vec![(tie, Sums::of([(SCRIPTS_BELOW, 2)]).unwrap(), "72 0000000001 0000000102 0000000002", "00 04")]
    }
}

impl Tested for ClusterBelow {
    fn keys() -> BoxedStrategy<TxNum> {
        values::tx_num().boxed()
    }

    fn values() -> BoxedStrategy<Sums> {
        golden_ages::sums().boxed()
    }

    fn golden() -> Golden<Self> {
        let of = [(BelowSum::Scripts, 2), (BelowSum::Funded, 300), (BelowSum::Spent, 1), (BelowSum::Suspects, 1)];
        let sums = Sums::of(of.map(|(sum, number)| (sum.position(), number))).unwrap();
        vec![(TxNum(0x0102), sums, "42 0000000102", "00 04 00 d804 00 02 00 02")]
    }
}

impl Tested for ClusterOwners {
    fn keys() -> BoxedStrategy<TxNum> {
        values::tx_num().boxed()
    }

    fn values() -> BoxedStrategy<OwnersRow> {
        let owners = |most: usize| btree_set(entity(), 1..=most).prop_map(|owners| owners.into_iter().collect());
        let owners = prop_oneof![(Just(false), owners(1)), (Just(true), owners(MAX_OWNERS))];
        (owners, any::<u64>(), values::sats())
            .prop_map(|((is_suspect, owners), scripts, balance)| OwnersRow { owners, is_suspect, scripts, balance })
            .boxed()
    }

    fn golden() -> Golden<Self> {
        let [abc, de] = ["abc", "de"].map(|name| name.parse().unwrap());
        let one = OwnersRow { owners: vec![abc], is_suspect: false, scripts: 300, balance: 0 };
        let two = OwnersRow { owners: vec![one.owners[0].clone(), de], is_suspect: true, scripts: 1, balance: 0 };
        vec![
            (TxNum(0x0102), one, "4f 0000000102", "00 ac02 00 03 616263"),
            (TxNum(0x0103), two, "4f 0000000103", "01 01 00 03 616263 02 6465"),
        ]
    }
}

impl Tested for OwnersDue {
    fn keys() -> BoxedStrategy<TxNum> {
        values::tx_num().boxed()
    }

    fn values() -> BoxedStrategy<()> {
        Just(()).boxed()
    }

    fn golden() -> Golden<Self> {
        vec![(TxNum(0x0102), (), "55 0000000102", "")]
    }
}

impl Tested for LabelDue {
    fn keys() -> BoxedStrategy<ScriptHash> {
        hash().boxed()
    }

    fn values() -> BoxedStrategy<()> {
        Just(()).boxed()
    }

    fn golden() -> Golden<Self> {
        vec![(ScriptHash([0xa5; 32]), (), "77 a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5", "")]
    }
}

impl Tested for EntityScripts {
    fn keys() -> BoxedStrategy<EntityScript> {
        let class = select(&[ScriptClass::Member, ScriptClass::Named][..]);
        let last = option::of(values::tx_num().prop_filter("no script has it", |last| last.0 > 0));
        (entity(), class, last, hash())
            .prop_map(|(entity, class, last, script)| EntityScript { entity, class, last: Newest(last), script })
            .boxed()
    }

    fn values() -> BoxedStrategy<()> {
        Just(()).boxed()
    }

    fn golden() -> Golden<Self> {
        let key = |class, last| EntityScript {
            entity: "abc".parse().unwrap(),
            class,
            last: Newest(last),
            script: ScriptHash([0xa5; 32]),
        };
        vec![
            (
                key(ScriptClass::Member, Some(TxNum(0x0102))),
                (),
                "61626300 00 fffffffefd a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5",
                "",
            ),
            (
                key(ScriptClass::Named, None),
                (),
                "61626300 01 ffffffffff a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5",
                "",
            ),
        ]
    }
}

impl Tested for EntityTotals {
    fn keys() -> BoxedStrategy<EntityName> {
        entity().boxed()
    }

    fn values() -> BoxedStrategy<Sums> {
        golden_ages::sums().boxed()
    }

    fn golden() -> Golden<Self> {
        let sums = [(EntitySum::Members.position(), 2), (EntitySum::of_category(Category::Exchange), 1)];
        vec![("abc".parse().unwrap(), Sums::of(sums).unwrap(), "6e 616263", "00 04 10 02")]
    }
}

impl Tested for EntityFacets {
    fn keys() -> BoxedStrategy<EntityFacet> {
        let kind = select(&[FacetKind::Name, FacetKind::Origin, FacetKind::OwnList][..]);
        (entity(), kind, "[a-zäß ]{0,100}")
            .prop_map(|(entity, kind, text)| EntityFacet::new(entity, kind, &text))
            .boxed()
    }

    fn values() -> BoxedStrategy<Sums> {
        golden_ages::sums().boxed()
    }

    fn golden() -> Golden<Self> {
        let key = EntityFacet::new("abc".parse().unwrap(), FacetKind::Origin, "fbi");
        vec![(key, Sums::of([(0, 2)]).unwrap(), "6b 61626300 01 666269", "00 04")]
    }
}
