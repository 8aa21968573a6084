//! Closed vocabularies of claims as parameters.

use cairn_events::{Behaviour, Category};

use crate::parsed::{parsed, schema};

/// A parameter that takes the words of a vocabulary.
macro_rules! word_parameter {
    ($($(#[$doc:meta])* $name:ident($of:ident),)+) => {
        $($(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(super) struct $name(pub(super) $of);

        parsed!($name, |text: &str| text.parse().map($name));

        schema!(inline $name, stringify!($name), {
            "type": "string",
            "enum": $of::ALL.iter().map(|word| word.as_str()).collect::<Vec<_>>(),
        });
        )+
    };
}

word_parameter! {
    CategoryWord(Category),
    BehaviourWord(Behaviour),
}
