//! As `golden`, for claims.

use cairn_events::{Behaviour, Category, Claim, ClaimType, EvidenceTier, Slug};
use cairn_tables::claims::{ClaimKey, ClaimLists, Claims, ListDocument, ListKey, ListSize, ListVersion};
use proptest::{collection::vec, option, prelude::*, sample::select, strategy::BoxedStrategy};

use crate::{Tested, golden::Golden, values};

fn slug() -> impl Strategy<Value = Slug> + Clone {
    "[a-c]{1,3}|[a-z0-9._-]{1,32}".prop_map(|text| text.parse().unwrap())
}

fn list() -> impl Strategy<Value = ListKey> + Clone {
    (slug(), slug()).prop_map(|(source, list)| ListKey { source, list })
}

fn version() -> impl Strategy<Value = ListVersion> + Clone {
    (values::number(), any::<[u8; 8]>()).prop_map(|(retrieved_at, document)| ListVersion { retrieved_at, document })
}

fn text() -> impl Strategy<Value = std::sync::Arc<str>> + Clone {
    "[a-zäß:/.]{0,20}".prop_map(Into::into)
}

/// Any claim, of any row but 0.
pub(crate) fn claim() -> impl Strategy<Value = Claim> + Clone {
    let words = (
        select(ClaimType::ALL),
        select(EvidenceTier::ALL).prop_filter("no source says so", |tier| *tier != EvidenceTier::ClusterInherited),
        0..=100u8,
        option::of(select(Category::ALL)),
        select(Behaviour::ALL),
    );
    let texts = (option::of("[a-z0-9._-]{1,64}"), text(), text(), text(), text(), text());
    let times = (option::of(values::number()), option::of(0..100u32), option::of(100..200u32));
    (1..=u32::MAX, vec(any::<u8>(), 1..40), words, texts, times, any::<(bool, bool)>()).prop_map(
        |(row, script, words, texts, times, flags)| Claim {
            row,
            script: script.into(),
            claim_type: words.0,
            tier: words.1,
            level: words.2,
            entity: texts.0.map(|name| name.parse().unwrap()),
            entity_name: texts.1,
            category: words.3,
            behaviour: Some(words.4),
            label: texts.2,
            source_url: texts.3,
            origin_url: texts.4,
            note: texts.5,
            asserted_at: times.0,
            valid_from: times.1,
            valid_to: times.2,
            is_inherited: flags.0,
            is_person: flags.1,
            is_redacted: false,
        },
    )
}

/// The claim of the golden rows.
pub(crate) fn listed() -> Claim {
    Claim {
        row: 3,
        script: [0x51].into(),
        claim_type: ClaimType::ControlledBy,
        tier: EvidenceTier::SelfDisclosed,
        level: 90,
        entity: Some("abc".parse().unwrap()),
        entity_name: "ABC".into(),
        category: Some(Category::Exchange),
        behaviour: Some(Behaviour::ColdWallet),
        label: "".into(),
        source_url: "u".into(),
        origin_url: "".into(),
        note: "".into(),
        asserted_at: Some(300),
        valid_from: None,
        valid_to: Some(2),
        is_inherited: true,
        is_person: false,
        is_redacted: false,
    }
}

fn por() -> ListKey {
    ListKey { source: "abc".parse().unwrap(), list: "por".parse().unwrap() }
}

const VERSION: ListVersion = ListVersion { retrieved_at: 300, document: [0xd1; 8] };

impl Tested for Claims {
    fn keys() -> BoxedStrategy<ClaimKey> {
        (any::<[u8; 32]>(), list(), version(), values::number())
            .prop_map(|(script, list, version, row)| ClaimKey { script, list, version, row })
            .boxed()
    }

    fn values() -> BoxedStrategy<Claim> {
        claim().boxed()
    }

    fn golden() -> Golden<Self> {
        let key = ClaimKey { script: [0xa5; 32], list: por(), version: VERSION, row: 3 };
        vec![(
            key,
            listed(),
            "a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5 61626300 706f7200 0000012c d1d1d1d1d1d1d1d1 \
             00000003",
            "03 01 51 01 03 5a 01 0f 0d 04616263 04414243 00 0275 00 00 ac02 02",
        )]
    }

    // Texts of a row are shared, each with its count.
    const FREE_BYTES: u64 = 4_096;
}

impl Tested for ClaimLists {
    fn keys() -> BoxedStrategy<ListDocument> {
        (list(), any::<bool>(), version())
            .prop_map(|(list, is_complete, version)| ListDocument { list, is_complete, version })
            .boxed()
    }

    fn values() -> BoxedStrategy<ListSize> {
        (values::number(), option::of(values::number()))
            .prop_map(|(claims, newest)| ListSize { claims, newest })
            .boxed()
    }

    fn golden() -> Golden<Self> {
        let key = |is_complete| ListDocument { list: por(), is_complete, version: VERSION };
        vec![
            (
                key(true),
                ListSize { claims: 300, newest: Some(2) },
                "79 61626300 706f7200 01 0000012c d1d1d1d1d1d1d1d1",
                "ac02 02",
            ),
            (
                key(false),
                ListSize { claims: 1, newest: None },
                "79 61626300 706f7200 00 0000012c d1d1d1d1d1d1d1d1",
                "01",
            ),
        ]
    }
}
