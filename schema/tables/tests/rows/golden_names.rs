//! As `golden`, for the words of names.

use cairn_events::{Behaviour, Category};
use cairn_tables::{
    labels::ScriptHash,
    names::{NameKey, NameKind, Names, SCRIPTS, of_behaviour, of_category},
    sums::Sums,
};
use proptest::{prelude::*, sample::select, strategy::BoxedStrategy};

use crate::{Tested, golden::Golden, golden_ages};

impl Tested for Names {
    fn keys() -> BoxedStrategy<NameKey> {
        let name = || "[a-c]{1,3}|[a-zäß .币]{1,40}";
        let word = (select(&NameKind::ALL[..]), "[a-c]{1,3}|[a-z0-9币]{1,13}", name());
        prop_oneof![
            word.prop_map(|(kind, word, name)| NameKey::Word { kind, word, name }),
            (name(), any::<[u8; 32]>()).prop_map(|(text, script)| NameKey::Script { text, script: ScriptHash(script) }),
        ]
        .boxed()
    }

    fn values() -> BoxedStrategy<Sums> {
        golden_ages::sums().boxed()
    }

    fn golden() -> Golden<Self> {
        let word = |kind, word: &str, name: &str| NameKey::Word { kind, word: word.to_owned(), name: name.to_owned() };
        let of = |positions: &[u32]| Sums::of(positions.iter().map(|position| (*position, 2))).unwrap();
        let (exchange, hot) = (of_category(Category::Exchange), of_behaviour(Behaviour::HotWallet));
        vec![
            (
                word(NameKind::Entity, "com", "crypto.com"),
                of(&[SCRIPTS, exchange]),
                "00 636f6d 00 63727970746f2e636f6d",
                "00 04 00 04",
            ),
            (word(NameKind::Text, "b", "a ß"), of(&[SCRIPTS, hot]), "01 62 00 6120c39f", "00 04 4f 04"),
            (
                NameKey::Script { text: "a".to_owned(), script: ScriptHash([0xa5; 32]) },
                Sums::of([(SCRIPTS, 1)]).unwrap(),
                "02 61 00 a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5",
                "00 02",
            ),
        ]
    }
}
