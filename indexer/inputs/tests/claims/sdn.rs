//! OFAC's list.

use cairn_inputs::InputError;

use crate::support::{A, B, C, error, options, read, shown, told, try_read};

const REFERENCE: &str = "<DateOfIssue CalendarTypeID=\"1\"><Year>2024</Year><Month>9</Month><Day>27</Day></DateOfIssue><ReferenceValueSets>\
<FeatureTypeValues><FeatureType ID=\"344\" FeatureTypeGroupID=\"1\">Digital Currency Address - XBT</FeatureType><FeatureType ID=\"345\">Digital Currency Address - ETH</FeatureType><FeatureType ID=\"8\">Birthdate</FeatureType></FeatureTypeValues>\
<NamePartTypeValues><NamePartType ID=\"1520\">Last Name</NamePartType><NamePartType ID=\"1521\">First Name</NamePartType><NamePartType ID=\"1525\">Entity Name</NamePartType></NamePartTypeValues>\
<PartySubTypeValues/><PartyTypeValues><PartyType ID=\"1\">Individual</PartyType><PartyType ID=\"2\">Entity</PartyType></PartyTypeValues>\
<PartySubTypeValues><PartySubType ID=\"4\" PartyTypeID=\"1\">Unknown</PartySubType><PartySubType ID=\"3\" PartyTypeID=\"2\">Unknown</PartySubType></PartySubTypeValues>\
<SanctionsTypeValues><SanctionsType ID=\"1\">Program</SanctionsType></SanctionsTypeValues></ReferenceValueSets>";

fn feature(kind: u32, address: &str) -> String {
    format!(
        "<Feature ID=\"1\" FeatureTypeID=\"{kind}\"><FeatureVersion><Comment /><VersionDetail DetailTypeID=\"1432\">{address}</VersionDetail></FeatureVersion></Feature>"
    )
}

fn party(uid: u32, subtype: u32, parts: &[(u32, &str)], features: &str) -> String {
    let values: String = (0..).zip(parts).map(|(at, (_, text))| format!("<DocumentedNamePart><NamePartValue NamePartGroupID=\"{at}\">{text}</NamePartValue></DocumentedNamePart>")).collect();
    let groups: String = (0..)
        .zip(parts)
        .map(|(at, (kind, _))| {
            format!(
                "<MasterNamePartGroup><NamePartGroup ID=\"{at}\" NamePartTypeID=\"{kind}\" /></MasterNamePartGroup>"
            )
        })
        .collect();
    format!(
        "<DistinctParty FixedRef=\"{uid}\"><Profile ID=\"{uid}\" PartySubTypeID=\"{subtype}\"><Identity Primary=\"true\"><Alias Primary=\"true\"><DocumentedName>{values}</DocumentedName></Alias>\
         <Alias Primary=\"false\"><DocumentedName><DocumentedNamePart><NamePartValue NamePartGroupID=\"0\">ALIAS</NamePartValue></DocumentedNamePart></DocumentedName></Alias><NamePartGroups>{groups}</NamePartGroups></Identity>{features}</Profile></DistinctParty>"
    )
}

fn entry(uid: u32, day: &str, programme: &str) -> String {
    format!(
        "<SanctionsEntry ID=\"{uid}\" ProfileID=\"{uid}\"><EntryEvent><Comment /><Date><Year>2018</Year><Month>11</Month><Day>{day}</Day></Date></EntryEvent>\
         <SanctionsMeasure SanctionsTypeID=\"2\"><Comment /></SanctionsMeasure><SanctionsMeasure SanctionsTypeID=\"1\"><Comment>{programme}</Comment></SanctionsMeasure></SanctionsEntry>"
    )
}

fn list(namespace: &str) -> String {
    let person = party(
        25_308,
        4,
        &[(1_521, "Xiaobing"), (1_520, "YAN")],
        &[
            feature(344, A),
            feature(345, "0xbe0eb53f46cd790cd13851d5eff43d12404d33e8"),
            feature(344, "qzjv8hrdvz6edu4gkzpnd4w6jc7zf296g5"),
            feature(8, "1980"),
        ]
        .concat(),
    );
    let company = party(
        7,
        3,
        &[(1_525, "A &amp; B&#32;LTD")],
        &[feature(344, B), feature(344, B), feature(344, "TKHuVq1oKVruCGLvqVexFs6dawKv6fQgFs"), feature(345, C)]
            .concat(),
    );
    let nobody = party(9, 3, &[(1_525, "No coins")], &feature(8, "x"));
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<Sanctions xmlns=\"{namespace}\" Version=\"1\">{REFERENCE}<DistinctParties>{person}{nobody}{company}</DistinctParties>\n<SanctionsEntries>{}{}{}{}</SanctionsEntries></Sanctions>",
        entry(25_308, "28", "SDNTK"),
        entry(9, "1", "X"),
        entry(7, "5", "CYBER2"),
        entry(7, "3", "DPRK3")
    )
}

#[test]
fn parties_with_addresses() {
    for namespace in [
        "http://www.un.org/sanctions/1.0",
        "https://sanctionslistservice.ofac.treas.gov/api/PublicationPreview/exports/ADVANCED_XML",
    ] {
        let (claims, report) = read(list(namespace), &options());
        assert_eq!(
            shown(&claims),
            [
                "1 listed_by authority_listed 100 yan-xiaobing - sanctioned",
                "4 listed_by authority_listed 100 a-b-ltd - sanctioned"
            ]
        );
        assert_eq!((&*claims[0].entity_name, &*claims[0].note), ("YAN, Xiaobing", "SDN uid 25308, programmes SDNTK"));
        assert_eq!((&*claims[1].entity_name, &*claims[1].note), ("A & B LTD", "SDN uid 7, programmes CYBER2, DPRK3"));
        assert_eq!((claims[0].is_person, claims[1].is_person, report.persons), (true, false, 1));
        assert_eq!((claims[0].valid_from, claims[1].valid_from), (Some(1_543_363_200), Some(1_541_203_200)));
        assert_eq!((claims[0].asserted_at, report.newest), (None, Some(1_727_395_200)));
        assert_eq!(
            told(&report),
            [
                "3 address invalid_address",
                "6 address listed_under_other_asset",
                "7 address listed_under_other_asset",
                "5 address repeated"
            ]
        );
        assert_eq!((report.other_assets["ETH"], report.is_complete_by_nature), (1, true));
    }
}

#[test]
fn what_is_no_list() {
    let bomb =
        "<?xml version=\"1.0\"?><!DOCTYPE x [<!ENTITY a \"aa\"><!ENTITY b \"&a;&a;\">]><Sanctions>&b;</Sanctions>";
    assert!(error(bomb, &options()).contains("document type"));
    assert!(error("<Sanctions>&b;</Sanctions>", &options()).contains("entity that is not defined"));
    assert!(error(format!("<Sanctions>{}", "<a>".repeat(50)), &options()).contains("nested deeper"));
    assert!(error(format!("<Sanctions>\n<a>{}</a>", "x".repeat(3 << 20)), &options()).contains("1 MiB"));
    assert!(error("<Sanctions>\n<a>", &options()).contains("ends too early"));
    assert!(error("<Sanctions>\n</b>", &options()).starts_with("line 2: not XML"));
    assert!(matches!(try_read(b"<html></html>", &options()), Err(InputError::OtherLayout { .. })));
    let whole = list("x");
    assert!(try_read(&whole.as_bytes()[..whole.len() - 20], &options()).is_err());
}
