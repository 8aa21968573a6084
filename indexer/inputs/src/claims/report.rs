//! The report on a file of labels: rows that were read, rows that were taken, and the errors of the rest.

use std::{collections::BTreeMap, fmt};

use cairn_events::{PoolTag, Profile, Slug, claim::plain};

use super::options::ClaimLayout;
use crate::{
    error::excerpt,
    report::{Code, MAX_LISTED, codes},
};

/// Keys of a count by name; what comes later is counted as `other`.
const MAX_KEYS: usize = 256;

codes! {
    /// An error of a row of labels, or a note.
    ClaimCode:

    InvalidAddress => "invalid_address", "not a Bitcoin address, or its checksum is wrong";
    WrongNetwork => "wrong_network", "an address of another Bitcoin network";
    /// An address of another asset. Counted by asset, not listed.
    OtherAsset => "other_asset", "an address of another asset";
    /// An address of another asset under Bitcoin's name, or a Bitcoin address under another's.
    ListedUnderOtherAsset => "listed_under_other_asset", "the address is not of the asset that it is listed under";
    NotAnAddress => "not_an_address", "about something else than an address";
    Repeated => "repeated", "the same claim was there before";
    UnknownWord => "unknown_word", "not a word of the vocabulary";
    UnknownCategory => "unknown_category", "no category or behaviour of ours; taken without it";
    BadEntity => "bad_entity", "not the name of an entity (1 to 64 small letters, digits, dots, hyphens, underscores)";
    BadLevel => "bad_level", "not a level from 0 to 100";
    BadFlag => "bad_flag", "neither true nor false";
    BadTime => "bad_time", "not a date or time since 1970";
    Future => "future", "asserted in the future";
    Period => "period", "an end before its beginning";
    /// The row says nothing of its address.
    Empty => "empty", "neither entity nor category, behaviour or label";
    NotUrl => "not_a_url", "not an address of the web; left out";
    Shortened => "shortened", "too long for a claim; cut";
    Cleaned => "cleaned", "control or direction characters; left out";
    Formula => "formula", "begins like a formula of a spreadsheet; kept as text";
    BadTag => "bad_tag", "no tag of 1 to 100 bytes without control characters, or a pool without a name; left out";
    Person => "person", "about a natural person: profiles are of companies and services";
    TooMany => "too_many", "more than a profile has (16 aliases, 32 jurisdictions); the others are left out";
    BadJurisdiction => "bad_jurisdiction", "not the two letters of a country; left out";
    ColumnCount => "column_count", "wrong number of columns";
    TooLong => "too_long", "longer than 65536 bytes";
    Nul => "nul", "a NUL byte";
    Encoding => "encoding", "not UTF-8";
    Quoting => "quoting", "a quote is not closed, or closes in the middle of a cell";
}

impl ClaimCode {
    /// Whether such a row is left out. Else the code is a note on a row that is taken.
    #[must_use]
    pub const fn is_refused(self) -> bool {
        !matches!(
            self,
            ClaimCode::UnknownCategory
                | ClaimCode::NotUrl
                | ClaimCode::Shortened
                | ClaimCode::Cleaned
                | ClaimCode::Formula
                | ClaimCode::BadTag
                | ClaimCode::TooMany
                | ClaimCode::BadJurisdiction
        )
    }

    pub(super) const fn of_line(code: Code) -> Self {
        match code {
            Code::TooLong => ClaimCode::TooLong,
            Code::Nul => ClaimCode::Nul,
            Code::Encoding => ClaimCode::Encoding,
            _ => ClaimCode::Quoting,
        }
    }
}

/// A row with something wrong, or with a note.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadClaim {
    /// The line of a text file, the entry of another, from 1.
    pub row: u64,
    /// Whether `row` is a line.
    pub is_line: bool,
    /// The field, where one is to blame.
    pub field: Option<String>,
    /// The code of the error or note.
    pub code: ClaimCode,
    /// The same for people, with the cell.
    pub message: String,
}

impl fmt::Display for BadClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", if self.is_line { "line" } else { "entry" }, self.row)?;
        if let Some(field) = &self.field {
            write!(f, ", {field}")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// The content. [`ClaimReport::rows`] is the sum of [`ClaimReport::taken`] and [`ClaimReport::refused`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClaimReport {
    /// The layout.
    pub layout: ClaimLayout,
    /// Rows that were read: lines or entries, those about other assets included.
    pub rows: u64,
    /// Rows that were delivered.
    pub taken: u64,
    /// Rows that were not.
    pub refused: u64,
    /// Rows by code; [`ClaimCode::is_refused`] distinguishes errors from notes.
    pub by_code: BTreeMap<ClaimCode, u64>,
    /// The first [`MAX_LISTED`] in full, but for addresses of other assets, which are only counted.
    pub bad_rows: Vec<BadClaim>,
    /// Addresses of other assets, by asset.
    pub other_assets: BTreeMap<String, u64>,
    /// Rows that repeat another.
    pub repeated: u64,
    /// Rows about natural persons that were delivered.
    pub persons: u64,
    /// The newest time of assertion, or the document's own date if it has one; seconds since 1970 (UTC).
    pub newest: Option<u32>,
    /// Who says it, as the file itself says: the creator of a pack, or the only source of its rows.
    pub source: Option<Slug>,
    /// Its licence, as the file itself says.
    pub licence: Option<Slug>,
    /// Rows by the column `source_id` of a CSV file, as the file has it.
    pub sources: BTreeMap<String, u64>,
    /// Rows by the column `licence` of a CSV file, as the file has it.
    pub licences: BTreeMap<String, u64>,
    /// Tags that pools write into coinbases, by ascending row: at most 10,000. They are neither claims nor rows.
    pub tags: Vec<PoolTag>,
    /// Profiles of entities, by ascending row: at most 20,000. They are rows, and no claims.
    pub profiles: Vec<Profile>,
    /// Whether such a file is the whole list of its publisher.
    pub is_complete_by_nature: bool,
}

impl ClaimReport {
    pub(super) fn new(layout: ClaimLayout) -> Self {
        ClaimReport {
            layout,
            rows: 0,
            taken: 0,
            refused: 0,
            by_code: BTreeMap::new(),
            bad_rows: Vec::new(),
            other_assets: BTreeMap::new(),
            repeated: 0,
            persons: 0,
            newest: None,
            source: None,
            licence: None,
            sources: BTreeMap::new(),
            licences: BTreeMap::new(),
            tags: Vec::new(),
            profiles: Vec::new(),
            is_complete_by_nature: layout.is_complete(),
        }
    }

    /// Counts a code, and lists it if there is room. An error refuses the row: one for each row at most.
    pub(super) fn tell(&mut self, row: u64, field: Option<&str>, code: ClaimCode, value: &str) {
        let count = self.by_code.entry(code).or_default();
        *count = count.saturating_add(1);
        if code.is_refused() {
            self.refused = self.refused.saturating_add(1);
        }
        if code == ClaimCode::Repeated {
            self.repeated = self.repeated.saturating_add(1);
        }
        if self.bad_rows.len() < MAX_LISTED && code != ClaimCode::OtherAsset {
            let meaning = code.meaning();
            let message =
                if value.is_empty() { meaning.to_owned() } else { format!("{meaning}: {:?}", excerpt(value)) };
            let (is_line, field) = (self.layout.has_lines(), field.map(excerpt));
            self.bad_rows.push(BadClaim { row, is_line, field, code, message });
        }
    }
}

pub(super) fn count_name(counts: &mut BTreeMap<String, u64>, name: &str) {
    let count = match counts.get_mut(name) {
        Some(count) => count,
        None => {
            let name = plain(name, 200);
            let name = if counts.len() < MAX_KEYS || counts.contains_key(&*name) { &*name } else { "other" };
            counts.entry(name.to_owned()).or_default()
        }
    };
    *count = count.saturating_add(1);
}
