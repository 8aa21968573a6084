//! TagPacks.

use cairn_inputs::{ClaimLayout, InputError};

use crate::support::{A, B, C, error, layout, options, read, shown, told, try_read};

#[test]
fn a_pack_says_who_made_it_and_its_licence() {
    for (about, source, licence) in [
        ("creator: GraphSense Core Team\nlicense: CC-BY-4.0\n", Some("graphsense-core-team"), Some("cc-by-4.0")),
        ("licence: MIT\n", None, Some("mit")),
        ("creator: [x]\nlicense: {a: b}\n", Some("x"), None),
        ("", None, None),
    ] {
        let text = format!("title: x\n{about}label: y\ncategory: exchange\ntags:\n- address: {}\n", crate::support::A);
        let (claims, report) = read(text, &options());
        assert_eq!(claims.len(), 1, "{about}");
        assert_eq!(report.source.map(|name| name.to_string()).as_deref(), source, "{about}");
        assert_eq!(report.licence.map(|name| name.to_string()).as_deref(), licence, "{about}");
    }
}

#[test]
fn tags_inherit_what_they_do_not_say() {
    let text = format!(
        "\u{feff}title: Test # comment\r\ncreator: x\r\ncategory: exchange\r\nconfidence: service_data\r\nis_cluster_definer: true\r\n\
         actor: some_exchange\r\nlastmod: 2022-11-16\r\nsource: https://s.example/a\r\ncurrency: BTC\r\ntags:\r\n- address: '{A}'\r\n  label: reserve\r\n\
         - address: {B}\r\n  label: Locky\r\n  actor: ~\r\n  category: null\r\n  abuse: ransomware\r\n  confidence: forensic\r\n  is_cluster_definer: false\r\n\
         - {{address: {C}, label: x, concepts: [mixing_service, quantum], source: a book, confidence: web_crawl}}\r\n\
         - address: '0xFA8E3920daF271daB92Be9B87d9998DDd94FEF08'\r\n  currency: ETH\r\n\
         - tx_hash: 00\r\n  label: y\r\n- address: {A}\r\n  label: reserve\r\n- address: 0xFA8E3920daF271daB92Be9B87d9998DDd94FEF08\r\n- just text\r\n"
    );
    let (claims, report) = read(&text, &options());
    assert_eq!(report.layout, ClaimLayout::TagPack);
    assert_eq!(
        shown(&claims),
        [
            "1 controlled_by self_disclosed 90 some_exchange exchange -",
            "2 reported_as investigated 70 some_exchange exchange ransomware",
            "3 controlled_by third_party 20 some_exchange exchange -"
        ]
    );
    assert_eq!(
        told(&report),
        [
            "3 concepts unknown_category",
            "5 tx_hash not_an_address",
            "6 address repeated",
            "7 address listed_under_other_asset",
            "8 - not_an_address"
        ]
    );
    assert_eq!(report.other_assets["ETH"], 1);
    assert_eq!(claims.iter().map(|claim| claim.is_inherited).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!((&*claims[0].origin_url, &*claims[2].note), ("https://s.example/a", "source: a book"));
    assert_eq!((claims[0].asserted_at, &*claims[0].label), (Some(1_668_556_800), "reserve"));
}

#[test]
fn entities_without_actor_follow_from_labels() {
    let text = format!(
        "title: t\ntags:\n- address: {A}\n  label: Some Name\n- address: {B}\n  label: Jane\n  category: user\n- address: {C}\n  label: unknown\n  confidence: authority_data\n"
    );
    let (claims, report) = read(text, &options());
    assert_eq!(
        shown(&claims),
        [
            "1 mentioned_in community 5 some-name - -",
            "2 mentioned_in community 5 jane user -",
            "3 listed_by authority_record 60 - - -"
        ]
    );
    assert_eq!((report.persons, claims[1].is_person, claims[0].is_inherited), (1, true, false));
}

#[test]
fn what_is_no_tagpack() {
    let tagpack = layout(ClaimLayout::TagPack);
    let mut bomb = String::from("a: &a [x, x]\n");
    for at in b'b'..b'z' {
        let (name, before) = (char::from(at), char::from(at - 1));
        bomb.push_str(&format!("{name}: &{name} [*{before}, *{before}]\n"));
    }
    assert!(error(&bomb, &tagpack).contains("line 2: aliases are not read"));
    assert!(error(format!("a: {}", "[".repeat(20)), &tagpack).contains("nested deeper than 16"));
    assert!(error(format!("a: {}", "[".repeat(5_000)), &tagpack).starts_with("line 1: "));
    assert!(error(format!("a: {}", "x".repeat(70_000)), &tagpack).contains("more than 65536 bytes"));
    assert!(error(format!("a: \"{}", " x\n".repeat(200_000)), &tagpack).contains("262144 characters"));
    assert!(error("a: 1\ntitle: \0\n", &tagpack).contains("line 2: a NUL byte"));
    assert!(error(b"a: 1\nb: \xff\n", &tagpack).contains("line 2: not UTF-8"));
    assert!(error("label: a\nlabel: b\n", &tagpack).contains("label stands twice"));
    assert!(error(format!("tags:\n- address: {A}\nlabel: b\n"), &tagpack).contains("label stands below tags"));
    assert!(error("tags: 7\n", &tagpack).contains("tags is not a list"));
    assert!(error("tags: []\n---\nb: 1\n", &tagpack).contains("second document"));
    assert!(error("<<: {label: x}\ntags: []\n", &tagpack).contains("merge keys are not read"));
    assert!(error("a: [1\n", &tagpack).starts_with("line "));
    assert!(matches!(try_read(b"title: a\n", &tagpack), Err(InputError::OtherLayout { .. })));
    assert!(matches!(try_read(b"- a\n", &tagpack), Err(InputError::OtherLayout { .. })));
    let anchors: String = (0..1_100).map(|at| format!("k{at}: &a{at} x\n")).collect();
    assert!(error(anchors, &tagpack).contains("1000 anchors"));
    // An anchor that nothing refers to is harmless.
    let (claims, _) = read(format!("title: &t x\ntags:\n- address: {A}\n  label: a\n"), &tagpack);
    assert_eq!(claims.len(), 1);
}
