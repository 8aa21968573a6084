//! CSV: our own columns, and those of a map.

use cairn_events::{Category, ClaimType};
use cairn_inputs::{ClaimDefaults, ClaimLayout, ClaimMap, ClaimOptions};

use crate::support::{A, B, C, error, layout, options, read, shown, told};

const HEAD: &str = "address,entity,entity_name,category,behaviour,claim_type,evidence_tier,source_id,source_url,origin_url,asserted_at,licence,note";

#[test]
fn facts_are_taken_as_they_stand() {
    let text = format!(
        "{HEAD}\r\n{A},binance,Binance,exchange,,controlled_by,self_disclosed,s,https://a.example,,2022-11,MIT,\"a, \"\"b\"\"\"\r\n\
         {B},ofac-x,OFAC SDN listed party (unnamed in source),,sanctioned,listed_by,authority_listed,s,,,2024-01-02,MIT,\r\n\
         script:51ae,,,miner,,observed_in,onchain_verified,t,,,,MIT,\r\n"
    );
    let (claims, report) = read(format!("\u{feff}{text}"), &options());
    assert_eq!(report.layout, ClaimLayout::Facts);
    assert_eq!(
        shown(&claims),
        [
            "2 controlled_by self_disclosed 90 binance exchange -",
            "3 listed_by authority_listed 100 - - sanctioned",
            "4 observed_in onchain_verified 100 - miner -"
        ]
    );
    assert_eq!((&*claims[0].note, claims[0].asserted_at), ("a, \"b\"", Some(1_667_260_800)));
    assert_eq!((&*claims[1].label, &*claims[1].entity_name), ("OFAC SDN listed party (unnamed in source)", ""));
    assert_eq!(claims.iter().map(|claim| claim.is_inherited).collect::<Vec<_>>(), [true, false, false]);
    assert_eq!(
        report.sources.iter().map(|(name, count)| (name.as_str(), *count)).collect::<Vec<_>>(),
        [("s", 2), ("t", 1)]
    );
    assert_eq!((report.newest, report.is_complete_by_nature), (Some(1_704_153_600), false));
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let row = |start: &str, says: &str, at: &str| format!("{start},e,E,{says},community,s,,,{at},MIT,");
    let mut bytes = [
        HEAD.to_owned(),
        row(A, "exchange,,controlled_by", ""),
        row(A, "exchange,,controlled_by", "2020-01-01"),
        row("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb", "exchange,,controlled_by", ""),
        row("mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn", "exchange,,controlled_by", ""),
        row("0xbe0eb53f46cd790cd13851d5eff43d12404d33e8", "exchange,,controlled_by", ""),
        row(B, "bank,,controlled_by", ""),
        row(B, "exchange,,controlled_by", "soon"),
        row(B, "exchange,,controlled_by", "2027-01-01"),
        format!("{B},E E,E,,,controlled_by,community,s,,,,MIT,"),
        format!("{B},,,,,controlled_by,community,s,,,,MIT,"),
        format!("{B},a"),
        format!("{B},e,E,,,controlled_by,community,s,javascript:x,,,MIT,=1+\u{202e}1"),
        format!("{C},\"e"),
    ]
    .join("\n")
    .into_bytes();
    bytes.extend_from_slice(b"\na\0b\n\xff\xfe\n");
    bytes.extend(std::iter::repeat_n(b'x', 10 << 20));
    let (claims, report) = read(&bytes, &options());
    assert_eq!(claims.len(), 2);
    assert_eq!(
        told(&report),
        [
            "3 address repeated",
            "4 address invalid_address",
            "5 address wrong_network",
            "7 category unknown_word",
            "8 asserted_at bad_time",
            "9 asserted_at future",
            "10 entity bad_entity",
            "11 - empty",
            "12 - column_count",
            "13 source_url not_a_url",
            "13 note cleaned",
            "13 note formula",
            "14 - quoting",
            "15 - nul",
            "16 - encoding",
            "17 - too_long",
        ]
    );
    assert_eq!((report.repeated, report.other_assets["ETH"]), (1, 1));
    assert_eq!((&*claims[1].note, &*claims[1].source_url), ("=1+1", ""));
}

#[test]
fn optional_columns_say_more() {
    let head = format!("is_person,{HEAD},level,valid_from,valid_to,is_inherited,label");
    let text = format!(
        "{head}\nyes,{A},e,,,,controlled_by,community,s,,,,MIT,,55,2020-01-01,2021-01-01,no,words\n,{A},e,,,,controlled_by,community,s,,,,MIT,,101,,,,\n,{A},e,,,,controlled_by,community,s,,,,MIT,,5,2021-01-01,2020-01-01,,\n,{A},e,,,,controlled_by,community,s,,,,MIT,,5,,,perhaps,\n"
    );
    let (claims, report) = read(text, &options());
    let claim = &claims[0];
    assert_eq!((claim.level, claim.is_person, claim.is_inherited, &*claim.label), (55, true, false, "words"));
    assert_eq!((claim.valid_from, claim.valid_to), (Some(1_577_836_800), Some(1_609_459_200)));
    assert_eq!(told(&report), ["3 level bad_level", "4 - period", "5 is_inherited bad_flag"]);
    assert_eq!(report.persons, 1);
}

#[test]
fn a_map_names_the_columns() {
    let map = |text: &str| ClaimOptions { map: Some(text.parse::<ClaimMap>().unwrap()), ..options() };
    let text = format!("Addr;Tag;Kind\n{A};Some Shop;hosted wallet\n{B};Other;spaceship\n");
    let named = map("address=addr,label=Tag,entity_name=Tag,category=Kind,delimiter=;");
    let (claims, report) = read(&text, &named);
    assert_eq!(
        shown(&claims),
        ["2 reported_as community 10 some-shop wallet_service -", "3 reported_as community 10 other - -"]
    );
    assert_eq!(told(&report), ["3 category unknown_category"]);
    let defaults = ClaimDefaults {
        claim_type: Some(ClaimType::ControlledBy),
        category: Some(Category::Exchange),
        entity: Some("kraken".parse().unwrap()),
        level: Some(60),
        ..ClaimDefaults::default()
    };
    let numbered = ClaimOptions { defaults, ..map("address=1,header=no,delimiter=;") };
    let (claims, report) = read(&text, &numbered);
    assert_eq!(
        shown(&claims),
        ["2 controlled_by community 60 kraken exchange -", "3 controlled_by community 60 kraken exchange -"]
    );
    assert_eq!(told(&report), ["1 address invalid_address"]);
    assert!(error(&text, &map("address=Nothing,delimiter=;")).contains("the file has Addr, Tag, Kind"));
    assert!(error(&text, &layout(ClaimLayout::Csv)).contains("column map"));
    assert!(error(&text, &ClaimOptions { layout: Some(ClaimLayout::Facts), ..named }).contains("leave out --layout"));
    assert!(error("a,b\n", &layout(ClaimLayout::Facts)).contains("not a file of the layout facts"));
    let semicolons = map("address=1,header=no,delimiter=;");
    let said = error("\"a\"b;c\n", &semicolons);
    assert!(
        said.contains("cannot be split into columns at ';' (quoting)") && said.contains("begins \"\\\"a\\\"b;c\""),
        "{said}"
    );
    assert!(error(b"\xff\xfex".repeat(9), &semicolons).contains("UTF-16"));
    assert!(error(b"x\xff;\n", &semicolons).contains("(encoding)"));
    assert!(error(";".repeat(600), &semicolons).contains("more than 512 columns"));
}

#[test]
fn columns_with_our_names_need_no_map() {
    for (delimiter, layout) in [(",", None), (";", None), ("\t", None), (",", Some(ClaimLayout::Csv))] {
        let options = ClaimOptions { layout, ..options() };
        let text = format!(
            "Category,LABEL,seen,Address,source_id,licence\nexchange,Some,2020,{A},Shop List,CC BY 4.0\n,Other,2021,{B},Shop List,\n"
        );
        let (claims, report) = read(text.replace(',', delimiter), &options);
        assert_eq!(report.layout, ClaimLayout::Csv);
        assert_eq!(
            shown(&claims),
            ["2 reported_as community 10 - exchange -", "3 reported_as community 10 - - -"],
            "{delimiter:?}"
        );
        assert_eq!((&*claims[0].label, &*claims[1].label), ("Some", "Other"));
        assert_eq!(report.source.map(|name| name.to_string()).as_deref(), Some("shop-list"));
        assert_eq!(report.licence.map(|name| name.to_string()).as_deref(), Some("cc-by-4.0"));
    }
    // Several sources are not one, and an address alone is not a claim.
    let two = format!("address,label,source_id\n{A},x,a\n{B},x,b\n");
    assert_eq!(read(two, &options()).1.source, None);
    assert!(error(format!("address,balance\n{A},5\n"), &options()).contains("takes a column map"));
}
