//! CSV: our own columns, and those that a map names.

use std::io::BufRead;

use super::{
    collect::{Collector, Draft, Fault},
    map::{ClaimMap, Columns, FIELDS},
    options::ClaimLayout,
    report::{ClaimCode, count_name},
    words::words_of,
};
use crate::{
    csv::{Cells, Line, Lines},
    error::{InputError, excerpt, excerpt_of},
};

/// Columns of a file.
const MAX_COLUMNS: usize = 512;

pub(super) fn read(
    input: impl BufRead,
    map: Option<&ClaimMap>,
    collector: &mut Collector<'_>,
) -> Result<(), InputError> {
    let mut lines = Lines::starting(input, 0);
    let delimiter = map.map_or(b',', ClaimMap::delimiter);
    let (mut line, mut cells) = (Line::new(), Cells::default());
    if !lines.next(&mut line)? {
        return Err(InputError::Empty);
    }
    let split = line.text.as_deref().map_err(|code| *code).and_then(|text| cells.split(text, delimiter));
    let first: Vec<String> = cells.iter().take(MAX_COLUMNS + 1).map(str::to_owned).collect();
    let other = || InputError::OtherLayout {
        layout: collector.report.layout.as_str(),
        begins: excerpt_of(first.iter().map(String::as_str)),
    };
    let unsplit = |why| InputError::NoColumns {
        delimiter: char::from(delimiter),
        why,
        line: line.number,
        begins: excerpt(line.text.as_deref().unwrap_or_default()),
    };
    split.map_err(|code| unsplit(code.as_str()))?;
    if first.len() > MAX_COLUMNS {
        return Err(unsplit("more than 512 columns"));
    }
    let columns = match map {
        Some(map) => map.find(&first)?,
        None => facts(&first).ok_or_else(other)?,
    };
    if map.is_some_and(|map| !map.has_header()) {
        row(&line, &mut cells, delimiter, &columns, first.len(), collector)?;
    }
    while lines.next(&mut line)? {
        row(&line, &mut cells, delimiter, &columns, first.len(), collector)?;
    }
    Ok(())
}

/// The columns of our own layout; `None` if one is missing.
pub(super) fn facts(first: &[String]) -> Option<Columns> {
    let at = |field: &str| first.iter().position(|name| name.eq_ignore_ascii_case(field));
    ClaimMap::FACTS.iter().all(|field| at(field).is_some()).then(|| FIELDS.map(at))
}

/// Delimiters of files whose columns need no map.
const DELIMITERS: [(u8, &str); 3] = [(b',', "comma"), (b';', "semicolon"), (b'\t', "tab")];
/// Columns with statements about the address; a file has at least one of them besides the address.
const CLAIMS: [&str; 6] = ["label", "entity", "entity_name", "category", "behaviour", "claim_type"];

/// The map of a file whose first line names columns by the keys of a map: the address, and something that is said of
/// it. `None` if it does not.
pub(super) fn plain(line: &str) -> Option<ClaimMap> {
    let mut cells = Cells::default();
    DELIMITERS.into_iter().find_map(|(delimiter, name)| {
        cells.split(line, delimiter).ok()?;
        let columns: Vec<String> = cells.iter().take(MAX_COLUMNS).map(str::to_ascii_lowercase).collect();
        let has = |field: &str| columns.iter().any(|column| column == field);
        if !has("address") || !CLAIMS.into_iter().any(has) {
            return None;
        }
        let keys: Vec<String> =
            FIELDS.into_iter().filter(|field| has(field)).map(|field| format!("{field}={field}")).collect();
        format!("delimiter={name},{}", keys.join(",")).parse().ok()
    })
}

fn row(
    line: &Line,
    cells: &mut Cells,
    delimiter: u8,
    columns: &Columns,
    width: usize,
    collector: &mut Collector<'_>,
) -> Result<(), InputError> {
    let row = collector.row(line.number)?;
    if let Err(code) = line.text.as_deref().map_err(|code| *code).and_then(|text| cells.split(text, delimiter)) {
        collector.refuse(row, None, ClaimCode::of_line(code), "");
        return Ok(());
    }
    if cells.len() != width {
        collector.refuse(row, None, ClaimCode::ColumnCount, &format!("{} instead of {width}", cells.len()));
        return Ok(());
    }
    let values = columns.map(|column| column.map_or("", |at| cells.get(at)));
    let [_, _, _, _, _, _, _, source, _, _, _, licence, ..] = values;
    for (names, name) in [(&mut collector.report.sources, source), (&mut collector.report.licences, licence)] {
        if !name.is_empty() {
            count_name(names, name);
        }
    }
    match draft(&values, collector) {
        Ok(draft) => collector.take(row, &draft),
        Err((code, field, value)) => {
            collector.refuse(row, Some(field), code, value);
            Ok(())
        }
    }
}

/// Reads the content of a row from the values of its fields in their order.
fn draft<'a>(values: &[&'a str; FIELDS.len()], collector: &mut Collector<'_>) -> Result<Draft<'a>, Fault<'a>> {
    let [
        address,
        entity,
        entity_name,
        category,
        behaviour,
        claim_type,
        tier,
        _,
        source_url,
        origin_url,
        asserted_at,
        _,
        note,
        level,
        valid_from,
        valid_to,
        is_inherited,
        is_person,
        label,
        currency,
    ] = *values;
    let mut draft = Draft {
        address,
        currency,
        claim_type: word(claim_type, "claim_type")?,
        tier: word(tier, "evidence_tier")?,
        level: match level {
            "" => None,
            text => {
                Some(text.parse().ok().filter(|level| *level <= 100).ok_or((ClaimCode::BadLevel, "level", text))?)
            }
        },
        entity,
        entity_name,
        label,
        source_url,
        origin_url,
        note,
        asserted_at,
        valid_from,
        valid_to,
        is_inherited: flag(is_inherited, "is_inherited")?,
        is_person: flag(is_person, "is_person")?.unwrap_or(false),
        ..Draft::default()
    };
    if collector.report.layout == ClaimLayout::Facts {
        draft.category = word(category, "category")?;
        draft.behaviour = word(behaviour, "behaviour")?;
    } else {
        for (field, text) in [("category", category), ("behaviour", behaviour)] {
            if text.is_empty() {
                continue;
            }
            let (category, behaviour, is_known) = words_of(text);
            draft.category = draft.category.or(category);
            draft.behaviour = draft.behaviour.or(behaviour);
            if !is_known {
                collector.note(ClaimCode::UnknownCategory, field, text);
            }
        }
    }
    Ok(draft)
}

fn word<'a, T: std::str::FromStr>(text: &'a str, field: &'static str) -> Result<Option<T>, Fault<'a>> {
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| (ClaimCode::UnknownWord, field, text))
}

fn flag<'a>(text: &'a str, field: &'static str) -> Result<Option<bool>, Fault<'a>> {
    match text.to_ascii_lowercase().as_str() {
        "" => Ok(None),
        "true" | "yes" | "1" => Ok(Some(true)),
        "false" | "no" | "0" => Ok(Some(false)),
        _ => Err((ClaimCode::BadFlag, field, text)),
    }
}
