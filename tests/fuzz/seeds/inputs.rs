//! Files of labels, prices and events, and signed messages.

use cairn_events::{
    Body, Category, Claim, ClaimId, ClaimList, ClaimType, Contest, ContestAct, ContestParty, Document, DocumentHash,
    EvidenceTier, PoolTag, Profile, Provenance, QuoteRow, SignedText, StatementHash, file::FileWriter,
};
use cairn_inputs::{Layout, Options, read_quotes, sorted};

use super::{distinct, texts};

const A: &str = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";
const B: &str = "12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h";
const C: &str = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4";
/// The main network.
const MAIN: u8 = 16;
/// The caller says what the rows are.
const SAYS: u8 = 8;

/// A file, after the byte that chooses how it is read.
fn chosen(choice: u8, text: &str) -> Vec<u8> {
    [&[choice][..], text.as_bytes()].concat()
}

const OFAC: &str = "<Sanctions xmlns=\"x\"><DateOfIssue><Year>2024</Year><Month>9</Month><Day>27</Day></DateOfIssue><ReferenceValueSets>\
    <FeatureTypeValues><FeatureType ID=\"344\">Digital Currency Address - XBT</FeatureType></FeatureTypeValues>\
    <NamePartTypeValues><NamePartType ID=\"1525\">Entity Name</NamePartType></NamePartTypeValues>\
    <PartyTypeValues><PartyType ID=\"2\">Entity</PartyType></PartyTypeValues>\
    <PartySubTypeValues><PartySubType ID=\"3\" PartyTypeID=\"2\">Unknown</PartySubType></PartySubTypeValues>\
    <SanctionsTypeValues><SanctionsType ID=\"1\">Program</SanctionsType></SanctionsTypeValues></ReferenceValueSets><DistinctParties>\
    <DistinctParty FixedRef=\"7\"><Profile ID=\"7\" PartySubTypeID=\"3\"><Identity Primary=\"true\"><Alias Primary=\"true\"><DocumentedName>\
    <DocumentedNamePart><NamePartValue NamePartGroupID=\"0\">A &amp; B&#32;LTD</NamePartValue></DocumentedNamePart></DocumentedName></Alias>\
    <NamePartGroups><MasterNamePartGroup><NamePartGroup ID=\"0\" NamePartTypeID=\"1525\"/></MasterNamePartGroup></NamePartGroups></Identity>\
    <Feature ID=\"1\" FeatureTypeID=\"344\"><FeatureVersion><VersionDetail>1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa</VersionDetail></FeatureVersion></Feature>\
    </Profile></DistinctParty></DistinctParties><SanctionsEntries><SanctionsEntry ID=\"7\" ProfileID=\"7\"><EntryEvent><Date><Year>2018</Year>\
    <Month>11</Month><Day>28</Day></Date></EntryEvent><SanctionsMeasure SanctionsTypeID=\"1\"><Comment>CYBER2</Comment></SanctionsMeasure>\
    </SanctionsEntry></SanctionsEntries></Sanctions>";

pub(super) fn labels() -> Vec<Vec<u8>> {
    let head = "address,entity,entity_name,category,behaviour,claim_type,evidence_tier,source_id,source_url,origin_url,asserted_at,licence,note";
    let all = [
        chosen(
            MAIN,
            &format!("{head}\n{A},htx,HTX,exchange,,controlled_by,self_disclosed,s,https://e.org,,2024-05-06,MIT,n\n"),
        ),
        chosen(
            MAIN,
            &format!("{head}\r\n\"{B}\",,\"a \"\"b\"\"\",,scam,reported_as,community,s,,,,,\r\n{C},,,,,,,,,,,,\r\n"),
        ),
        chosen(MAIN | SAYS, &format!("{A}\n{B} # words\n\n0xbe0eb53f46cd790cd13851d5eff43d12404d33e8\n{A}\n")),
        chosen(MAIN | 3, &format!("\u{feff}{C}\r\n{B}\r\nbcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080\r\n")),
        chosen(
            MAIN,
            &format!(
                "title: t\ncreator: x\ncategory: exchange\nconfidence: service_data\ncurrency: BTC\nlastmod: 2022-11-16\ntags:\n\
                 - address: '{A}'\n  label: reserve\n- {{address: {C}, label: x, concepts: [mixing_service], confidence: web_crawl}}\n\
                 - address: {B}\n  abuse: ransomware\n  is_cluster_definer: false\n- tx_hash: 00\n  label: y\n"
            ),
        ),
        chosen(
            MAIN | 1,
            "title: t\ncategories: [exchange]\nlastmod: 2023-02-17\nactors:\n- id: '796'\n  label: 796.com\n  aliases: [a, b]\n\
             \x20 jurisdictions: [VU]\n  uri: 796.com\n  context:\n    legal_name: L\n- id: b\n  context: '{\"legal_name\": \"M\"}'\n",
        ),
        chosen(MAIN | 1, "a: &a [1,1]\nb: &b [*a,*a]\nc: &c [*b,*b]\ntags: *c\n"),
        chosen(MAIN | 1, "--- !!map\ntags: |\n  - address\n"),
        chosen(MAIN, OFAC),
        chosen(MAIN | 2, "<?xml version=\"1.0\"?><!DOCTYPE x [<!ENTITY a \"b\">]><Sanctions>&a;</Sanctions>"),
        chosen(
            MAIN,
            &format!(
                "[{{\"id\":1,\"name\":\"Pool\",\"addresses\":[\"{A}\",\"{B}\"],\"tags\":[\"/p/\",\"\u{e9}\"],\"link\":\"https://p.example\"}}]"
            ),
        ),
        chosen(
            MAIN | 4,
            &format!(
                "{{\"coinbase_tags\":{{\"/x/\":{{\"name\":\"X\",\"link\":\"\"}}}},\"payout_addresses\":{{\"{C}\":{{\"name\":\"X\",\"link\":\"\"}}}}}}"
            ),
        ),
        chosen(MAIN | 6, &format!("Address,Name\n{A},Somebody\n{B},\"Some,body\"\n,\n")),
        chosen(MAIN | 6, &format!("Name;Address\nx;{A}\n")),
        chosen(0, "\u{1f}\u{8b}"),
        chosen(SAYS | 3, "2N3oefVeg6stiTb5Kh3ozCSkaqmx91FDbsm\n"),
    ];
    all.to_vec()
}

/// The first lines of a file of each layout, and what the publishers' files may have besides.
const PRICES: [&str; 15] = [
    "Date,Open,High,Low,Close,Adj Close,Volume\n2024-05-01,1.5,2,1,1.75,1.75,10\n2024-05-02,null,null,null,null,null,null\n",
    "https://www.CryptoDataDownload.com\nunix,date,symbol,open,high,low,close,Volume BTC,Volume USD\n1714521600,2024-05-01 00:00:00,BTC/USD,1,2,1,2,3,4\n",
    "[[1714521600,1,2,1,2,10],[1714608000,1,2,1,2,10]]",
    "1381017600,122.0,122.0,122.0,122.0,0.1,1\n1381104000,123.61,123.61,123.61,123.61,0.1,1\n",
    "1714521600000,1,2,1,2,10,1714607999999,20,5,1,1,0\n",
    "{\"data\":{\"ohlc\":[{\"close\":\"2\",\"high\":\"2\",\"low\":\"1\",\"open\":\"1\",\"timestamp\":\"1714521600\",\"volume\":\"3\"}],\"pair\":\"BTC/USD\"}}",
    "snapped_at,price,market_cap,total_volume\n2024-05-01 00:00:00 UTC,60000.5,1,2\n",
    "{\"values\":[{\"x\":1714521600,\"y\":60000.5}]}",
    "\"Timestamp\",\"market-price\"\n2024-05-01 00:00:00,60000\n",
    "\"Date\",\"Price\",\"Open\",\"High\",\"Low\",\"Vol.\",\"Change %\"\n\"05/01/2024\",\"60,000.5\",\"1\",\"70,000\",\"1\",\"1.2K\",\"1%\"\n",
    "Date,USD,JPY,\n2024-05-01,1.0721,165.1,\n2024-04-30,N/A,0,\n",
    "time,close\n2024-05-01T00:00:00Z,1\n2024-05-02T00:00:00Z,0\n2024-05-03T00:00:00Z,-1\n",
    "Date,Close\n2024-05-01,1\n2024-05-01,2\n2024-05-02,99999999999999999999999999999\n",
    "Date;Close\n01.05.2024;60.000,5\n",
    "\n\n\t\n",
];

pub(super) fn quotes() -> Vec<Vec<u8>> {
    // By themselves, with a pair, and with a map.
    let says = [31, 31 | 32, 31 | 32 | 64];
    PRICES.iter().enumerate().map(|(at, text)| chosen(if at < 12 { says[1] } else { says[at % 3] }, text)).collect()
}

fn provenance(document: u8) -> Provenance {
    Provenance {
        source: "source".parse().unwrap(),
        licence: "cc0-1.0".parse().unwrap(),
        origin: "a seed".to_owned(),
        retrieved_at: 1_700_000_000,
        document: DocumentHash([document; 32]),
    }
}

fn bodies() -> Vec<Body> {
    let mut rows: Vec<QuoteRow> = Vec::new();
    let kraken =
        Options { layout: Layout::named("kraken").ok(), pair: "BTC/USD".parse().ok(), ..Options::new(1_800_000_000) };
    read_quotes(PRICES[3].as_bytes(), &kraken, &mut |row| rows.push(row)).unwrap();
    let claim = Claim {
        entity: Some("htx".parse().unwrap()),
        ..Claim::bare(2, [0x51].into(), ClaimType::ControlledBy, EvidenceTier::ThirdParty)
    };
    let again = Claim { row: 9, asserted_at: Some(5), ..claim.clone() };
    let list = ClaimList { name: "list".parse().unwrap(), is_complete: true };
    let tag = PoolTag { row: 1, tag: "/p/".into(), pool: "p".parse().unwrap(), name: "P".into(), link: "".into() };
    let profile = Profile {
        row: 1,
        entity: "p".parse().unwrap(),
        name: "P".into(),
        aliases: vec!["Q".into()],
        category: Some(Category::Exchange),
        homepage: "p.example".into(),
        jurisdictions: vec!["DE".parse().unwrap()],
        legal_name: "P Ltd".into(),
        asserted_at: Some(5),
    };
    let contest = Contest {
        script: [7; 32],
        source: "source".parse().unwrap(),
        list: "list".parse().unwrap(),
        statement: StatementHash([8; 32]),
        claim: ClaimId { document: DocumentHash([3; 32]), row: 2 },
        act: ContestAct::Contests,
        by: ContestParty::Holder,
        reason: "no".to_owned(),
        signed: Some(SignedText { message: "m\nn".to_owned(), signature: "AA==".to_owned() }),
    };
    let redaction = Contest { act: ContestAct::Redacts, by: ContestParty::Operator, signed: None, ..contest.clone() };
    vec![
        Body::Quotes(sorted(rows)),
        Body::Withdrawal { document: DocumentHash([1; 32]), reason: "wrong".to_owned() },
        Body::Claims { list: list.clone(), rows: vec![claim.clone(), again] },
        Body::Claims { list, rows: vec![claim.redacted()] },
        Body::Listing { list: "tags".parse().unwrap(), rows: vec![tag].into() },
        Body::Listing { list: "actors".parse().unwrap(), rows: vec![profile].into() },
        Body::Contest(Box::new(contest)),
        Body::Contest(Box::new(redaction)),
    ]
}

fn file(documents: &[Document]) -> Vec<u8> {
    let mut file = FileWriter::begin(Vec::new()).unwrap();
    documents.iter().for_each(|document| file.add(document).unwrap());
    file.finish().unwrap().0
}

pub(super) fn event_files() -> Vec<Vec<u8>> {
    let documents: Vec<Document> = (1..)
        .zip(bodies())
        .map(|(at, body)| Document { provenance: provenance(at), received_at: (at % 2 == 0).then_some(9), body })
        .collect();
    let mut all: Vec<Vec<u8>> = documents.iter().map(|document| file(std::slice::from_ref(document))).collect();
    let whole = file(&documents);
    all.extend([
        whole[..whole.len() - 1].to_vec(),
        whole[..40].to_vec(),
        [&whole[..], b"\0"].concat(),
        [&whole[..12], &[9], &whole[13..]].concat(),
        file(&[]),
        whole,
    ]);
    distinct(all)
}

pub(super) fn signatures() -> Vec<Vec<u8>> {
    // From the BIP 322 test vectors: a P2WPKH address, and signatures of "" and "Hello World".
    let script = hex::decode("00142b05d564e6a7a33c087f16e0f730d1440123799d").unwrap();
    let empty = "AkcwRAIgM2gBAQqvZX15ZiysmKmQpDrG83avLIT492QBzLnQIxYCIBaTpOaD20qRlEylyxFSeEA2ba9YOixpX8z46TSDtS40ASECx/EgAxlkQpQ9hYjgGu6EBCPMVPwVIVJqO4XCsMvViHI=";
    let hello = "AkcwRAIgZRfIY3p7/DoVTty6YZbWS71bc5Vct9p9Fia83eRmw2QCICK/ENGfwLtptFluMGs2KsqoNSk89pO7F29zJLUx9a/sASECx/EgAxlkQpQ9hYjgGu6EBCPMVPwVIVJqO4XCsMvViHI=";
    let of = |script: &[u8], message: &str, signature: &str| {
        [&[script.len() as u8], script, message.as_bytes(), &[0], signature.as_bytes()].concat()
    };
    let p2pkh = hex::decode("76a91462e907b15cbf27d5425399ebf6f0fb50ebb88f1888ac").unwrap();
    let p2tr = [&[0x51, 0x20][..], &[2; 32]].concat();
    let compact = "H9L5yLFjti0QTHhPyFrZCT1V/MMnBtXKmoiKDZ78NDBjERki6ZTQZdSMCtkgoNmp17By9ItJr8o7ChX0XxY91nk=";
    let mut all = vec![
        of(&script, "", empty),
        of(&script, "Hello World", hello),
        of(&script, "Hello World", empty),
        of(&script, "Hello World", &format!("smp{hello}")),
        of(&script, "Hello World", &format!("ful{hello}")),
        of(&script, "Hello World", &format!("pof{hello}")),
        of(&p2pkh, "vires is numeris", compact),
        of(
            &p2tr,
            "Hello World",
            "AUHd69PrJQEv+oKTfZ8l+WROBHuy9HKrbFCJu7U1iK2iiEy1vMU5EfMtjc+VSHM7aU0SDbak5IUZRVno2P5mjSafAQ==",
        ),
        of(&[0x6a], "m", "AA=="),
        of(&[], "m", ""),
        of(&script, "m", "no base64"),
    ];
    all.extend(texts(&["\u{1}", ""]));
    distinct(all)
}
