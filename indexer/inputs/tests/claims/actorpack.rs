//! ActorPacks.

use cairn_events::{Category, Profile};
use cairn_inputs::{ClaimLayout, InputError};

use crate::support::{error, layout, options, read, told, try_read};

/// As they are published: fields at the top, lists in both forms, a context as mapping and as JSON.
const PACK: &str = "title: Test Actors\ncreator: x\ndescription: y\nlastmod: '2023-02-17'\ncategories: [exchange]\nactors:\n\
- id: '796'\n  label: 796.com\n  jurisdictions:\n  - VU\n  - xx1\n  - vu\n  categories:\n  - quantum\n  - gambling\n  - exchange\n  uri: 796.com\n\
\x20 context:\n    defilama_ids:\n    - 796.com\n    legal_name: 796 TRADING Ltd.\n    active: false\n    images: []\n\
- id: Some Exchange\n  uri: https://s.example/\n  aliases: [SomeX, Some Exchange, SomeX, ' ', Old \u{202e}Name]\n  jurisdictions: []\n  lastmod: 2020-01-02\n\
\x20 context: '{\"uris\": [], \"legal_name\": \"Some SA\"}'\n\
- id: jane\n  label: Jane\n  categories: [user]\n\
- label: nobody\n- id: '!!'\n- just text\n- id: some exchange\n  label: again\n- id: late\n  lastmod: 2090-01-01\n- id: when\n  lastmod: soon\n";

fn profiles(text: &str) -> (Vec<Profile>, Vec<String>) {
    let (claims, report) = read(text, &options());
    assert!(claims.is_empty());
    assert_eq!(report.layout, ClaimLayout::ActorPack);
    (report.profiles.clone(), told(&report))
}

#[test]
fn actors_are_profiles() {
    let (found, told) = profiles(PACK);
    let [first, second] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((first.row, first.entity.as_str(), &*first.name, &*first.homepage), (1, "796", "796.com", "796.com"));
    // The first word that is known, of the actor itself.
    assert_eq!((first.category, &*first.legal_name), (Some(Category::Gambling), "796 TRADING Ltd."));
    assert_eq!(first.jurisdictions.iter().map(ToString::to_string).collect::<Vec<_>>(), ["VU"]);
    assert_eq!(first.asserted_at, Some(1_676_592_000));
    assert_eq!(
        (second.entity.as_str(), &*second.name, second.asserted_at),
        ("some-exchange", "Some Exchange", Some(1_577_923_200))
    );
    assert_eq!(second.aliases.iter().map(|alias| &**alias).collect::<Vec<_>>(), ["SomeX", "Old Name"]);
    assert_eq!((second.category, &*second.legal_name), (Some(Category::Exchange), "Some SA"));
    assert_eq!(
        told,
        [
            "1 categories unknown_category",
            "1 jurisdictions bad_jurisdiction",
            "2 aliases cleaned",
            "3 categories person",
            "4 id bad_entity",
            "5 id bad_entity",
            "6 - bad_entity",
            "7 id repeated",
            "8 lastmod future",
            "9 lastmod bad_time",
        ]
    );
}

#[test]
fn what_is_no_actorpack() {
    let actors = layout(ClaimLayout::ActorPack);
    assert!(matches!(try_read(b"title: a\ntags: []\n", &actors), Err(InputError::OtherLayout { .. })));
    assert!(matches!(try_read(b"actors: []\n", &layout(ClaimLayout::TagPack)), Err(InputError::OtherLayout { .. })));
    assert!(error("actors: 7\n", &actors).contains("actors is not a list"));
    assert!(error("actors: []\nlabel: b\n", &actors).contains("label stands below actors; move it above them"));
    let twice = "actors:\n- id: a\n  context: {legal_name: b, legal_name: c}\n";
    assert!(error(twice, &actors).contains("context.legal_name stands twice"));
    let deep = format!("actors:\n- id: a\n  context: {}\n", "{a: ".repeat(20));
    assert!(error(deep, &actors).contains("nested deeper than 16"));
    assert!(error("actors:\n- id: a\n  context: {[a]: b}\n", &actors).contains("a key that is not a scalar"));
}

#[test]
fn lists_are_bounded() {
    let many = |count: usize| (0..count).map(|at| format!("n{at}")).collect::<Vec<_>>().join(", ");
    let codes: Vec<String> = (0..40u8).map(|at| format!("A{}", char::from(b'A' + at % 26))).collect();
    let codes =
        codes.iter().chain(&["BA", "BB", "BC", "BD", "BE", "BF", "BG"].map(str::to_owned)).cloned().collect::<Vec<_>>();
    let text = format!("actors:\n- id: a\n  aliases: [{}]\n  jurisdictions: [{}]\n", many(40), codes.join(", "));
    let (found, told) = profiles(&text);
    assert_eq!((found[0].aliases.len(), found[0].jurisdictions.len()), (16, 32));
    assert_eq!(told, ["1 aliases too_many", "1 jurisdictions too_many"]);
    let all: String = (0..20_001).map(|at| format!("- id: a{at}\n")).collect();
    assert!(matches!(try_read(format!("actors:\n{all}").as_bytes(), &options()), Err(InputError::TooManyRows(20_000))));
}
