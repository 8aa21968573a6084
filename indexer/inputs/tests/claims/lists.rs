//! Addresses one a line, pools, and what a file is.

use cairn_events::ClaimType;
use cairn_inputs::{ClaimDefaults, ClaimLayout, ClaimOptions, ClaimReport, InputError};

use crate::support::{A, B, C, error, layout, options, read, shown, told, try_read};

/// Tags as short text.
fn tagged(report: &ClaimReport) -> Vec<String> {
    report.tags.iter().map(|tag| format!("{} {} {} {}", tag.row, tag.tag, tag.pool, tag.link)).collect()
}

#[test]
fn a_list_of_sanctions() {
    let text = format!("{A}\r\n\n# comment\n{B}\nTKHuVq1oKVruCGLvqVexFs6dawKv6fQgFs\n{A}\nscript:51\n");
    let (claims, report) = read(&text, &layout(ClaimLayout::AddressList));
    let listed = |row| format!("{row} listed_by authority_listed 100 - - sanctioned");
    assert_eq!(shown(&claims), [listed(1), listed(4)]);
    assert_eq!(told(&report), ["6 address repeated", "7 address invalid_address"]);
    assert_eq!(report.other_assets["TRX"], 1);
    assert!(report.is_complete_by_nature);
    // Nobody is accused because a file is recognised.
    assert!(matches!(try_read(text.as_bytes(), &options()), Err(InputError::ClaimNeeded)));
    let defaults = ClaimDefaults {
        claim_type: Some(ClaimType::ControlledBy),
        entity: Some("kraken".parse().unwrap()),
        ..ClaimDefaults::default()
    };
    let (claims, _) = read(&text, &ClaimOptions { defaults, ..options() });
    assert_eq!(shown(&claims)[0], "1 controlled_by community 10 kraken - -");
}

#[test]
fn pools_of_both_layouts() {
    let text = format!(
        r#"[{{"id":1,"name":"Some Pool","addresses":["{A}","x"],"tags":["/a/","b"],"link":"https://p.example"}},{{"id":2,"name":"Other","addresses":["{B}","{C}"],"tags":[],"link":"https://o.example"}}]"#
    );
    let (claims, report) = read(&text, &options());
    let payout = |row, name| format!("{row} coinbase_payout_of community 10 {name} mining_pool -");
    assert_eq!(shown(&claims), [payout(1, "some-pool"), payout(3, "other"), payout(4, "other")]);
    assert_eq!(
        (report.layout, tagged(&report), told(&report)),
        (
            ClaimLayout::Pools,
            vec!["1 /a/ some-pool https://p.example".to_owned(), "2 b some-pool https://p.example".to_owned()],
            vec!["2 address invalid_address".to_owned()]
        )
    );
    assert_eq!((&*claims[0].source_url, &*claims[0].entity_name), ("https://p.example", "Some Pool"));
    let older = format!(
        r#"{{"coinbase_tags":{{"/a/":{{"name":"BTC.com","link":"x"}},"\u0000":{{"name":"P","link":""}},"b ":{{"name":"P","link":""}}}},"payout_addresses":{{"{B}":{{"name":"P","link":"https://p.example"}},"{A}":{{"name":"Q","link":""}}}}}}"#
    );
    let (claims, report) = read(&older, &options());
    assert_eq!(shown(&claims), [payout(1, "p"), payout(2, "q")]);
    // The same name as that of the labels that ship; white space belongs to a tag.
    assert_eq!(tagged(&report), ["1 /a/ btc-com-pool ", "2 b  p "]);
    assert_eq!(told(&report), ["2 tags bad_tag"]);
    let only = r#"{"coinbase_tags":{"/a/":{"name":"P","link":""}}}"#;
    let (claims, report) = read(only, &options());
    assert_eq!((claims.len(), report.tags.len()), (0, 1));
    let tags = (0..=10_000).map(|n| format!("\"{n}\"")).collect::<Vec<_>>().join(",");
    let many = format!(r#"[{{"name":"P","tags":[{tags}]}}]"#);
    assert!(error(many, &options()).contains("at most 10000 tags"));
    assert!(error("[{\"name\":1}]", &options()).contains("line 1: not a list of pools"));
    assert!(error(format!("[{}", " ".repeat(17 << 20)), &options()).contains("at most 16777216 bytes"));
}

#[test]
fn what_a_file_is() {
    assert!(matches!(try_read(b"", &options()), Err(InputError::Empty)));
    assert!(matches!(try_read(b"\xef\xbb\xbf \r\n", &options()), Err(InputError::Empty)));
    assert!(error(b"\xfd7zXZ\0...", &options()).contains("packed with xz"));
    assert!(error(b"\xff\xfea\0", &options()).contains("UTF-16"));
    assert!(matches!(try_read(b"hello world\n", &options()), Err(InputError::Unrecognised { .. })));
    assert!(
        error("hello world", &options()).contains("tagpack, actorpack, sdn_advanced, address_list, pools, facts, csv")
    );
    for layout in ClaimLayout::ALL {
        assert_eq!(layout.as_str().parse(), Ok(layout));
    }
    assert!("yaml".parse::<ClaimLayout>().unwrap_err().to_string().contains("write one of tagpack"));
}
