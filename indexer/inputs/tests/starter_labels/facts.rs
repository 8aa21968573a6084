//! The facts as they stand in the files, read by a reader of CSV that is not ours.

use std::{collections::BTreeMap, sync::LazyLock};

use cairn_domain::{Subject, parse_address};
use cairn_events::{Claim, EvidenceTier};
use cairn_inputs::{STARTER_LABELS, StarterLabels};
use cairn_model::Network;

/// A fact: the cells of a line by their columns.
pub(crate) struct Fact {
    cells: BTreeMap<String, String>,
    /// Line of the file.
    pub(crate) line: u32,
}

pub(crate) const COLUMNS: [&str; 14] = [
    "address",
    "entity",
    "entity_name",
    "category",
    "behaviour",
    "claim_type",
    "evidence_tier",
    "source_id",
    "source_url",
    "origin_url",
    "asserted_at",
    "licence",
    "note",
    "is_person",
];

impl Fact {
    pub(crate) fn cell(&self, column: &str) -> &str {
        &self.cells[column]
    }

    /// The word of a cell; `None` if it is empty.
    pub(crate) fn word<T: std::str::FromStr>(&self, column: &str) -> Option<T> {
        let cell = self.cell(column);
        let parsed = || cell.parse().unwrap_or_else(|_| panic!("{column} {cell} in line {}", self.line));
        (!cell.is_empty()).then(parsed)
    }

    pub(crate) fn script(&self) -> Vec<u8> {
        match parse_address(self.cell("address"), Some(Network::Main)) {
            Ok(Subject::Script(script)) => script,
            other => panic!("{}: {other:?}", self.cell("address")),
        }
    }

    /// Midnight of the day, in seconds since 1970.
    pub(crate) fn asserted_at(&self) -> u32 {
        let day: jiff::civil::Date = self.cell("asserted_at").parse().unwrap();
        day.to_zoned(jiff::tz::TimeZone::UTC).unwrap().timestamp().as_second().try_into().unwrap()
    }

    pub(crate) fn claim(&self) -> Claim {
        let tier: EvidenceTier = self.word("evidence_tier").unwrap();
        let claim_type = self.word("claim_type").unwrap();
        Claim {
            entity: self.word("entity"),
            entity_name: self.cell("entity_name").into(),
            category: self.word("category"),
            behaviour: self.word("behaviour"),
            source_url: self.cell("source_url").into(),
            origin_url: self.cell("origin_url").into(),
            note: self.cell("note").into(),
            asserted_at: Some(self.asserted_at()),
            is_person: self.word("is_person").unwrap(),
            ..Claim::bare(self.line, self.script().into(), claim_type, tier)
        }
    }
}

/// The facts of each source.
pub(crate) static FACTS: LazyLock<Vec<(StarterLabels, Vec<Fact>)>> =
    LazyLock::new(|| STARTER_LABELS.iter().map(|labels| (*labels, facts(labels))).collect());

fn facts(labels: &StarterLabels) -> Vec<Fact> {
    let mut reader = csv::Reader::from_reader(labels.file());
    let columns = reader.headers().unwrap().clone();
    assert_eq!(columns, COLUMNS.to_vec(), "{}", labels.source);
    let fact = |(line, row): (u32, csv::StringRecord)| Fact {
        cells: columns.iter().map(str::to_owned).zip(row.iter().map(str::to_owned)).collect(),
        line,
    };
    (2..).zip(reader.records().map(Result::unwrap)).map(fact).collect()
}
