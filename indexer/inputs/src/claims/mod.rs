//! Files of labels: what is said of addresses, read row by row into claims.
//!
//! [`read_claims`] is the one entry. Each layout has a file, which says what becomes of its fields. Memory does not
//! grow with the file, except for 8 bytes a claim, which find repeats. Whole in memory are the files of pools (at most
//! 16 MiB), the profiles of a pack of actors (at most 20,000), and those parties of a list of sanctions that have
//! addresses.

mod actorpack;
mod address;
mod collect;
mod list;
mod map;
mod options;
mod pack;
mod pools;
mod report;
mod rows;
mod sdn;
mod short_name;
mod tagpack;
mod words;

use std::{
    collections::BTreeMap,
    io::{BufReader, Read},
};

use cairn_domain::parse_address;
use cairn_events::{Claim, Slug};
pub use map::{ClaimMap, ClaimMapError};
pub use options::{ClaimDefaults, ClaimLayout, ClaimLayoutError, ClaimOptions};
pub use report::{BadClaim, ClaimCode, ClaimReport};

use crate::{
    csv::Cells,
    error::{InputError, excerpt},
};
use collect::Collector;

/// Bytes that are read to recognize the layout.
const HEAD: u64 = 16_384;
const BUFFER: usize = 1 << 16;
const BOM: [u8; 3] = [0xef, 0xbb, 0xbf];

/// Reads a file of labels, and hands over each claim that is fine, by ascending row.
///
/// Rows that are wrong are refused one by one and stand in the report. If there is an error, no claim that was
/// delivered before it may be used.
pub fn read_claims(
    input: &mut dyn Read,
    options: &ClaimOptions,
    deliver: &mut dyn FnMut(Claim),
) -> Result<ClaimReport, InputError> {
    let (mut start, mut input) = (Vec::new(), input);
    (&mut input).take(HEAD).read_to_end(&mut start)?;
    if let Some(what) = packed(&start) {
        return Err(InputError::NotText(what));
    }
    let text = start.strip_prefix(&BOM).unwrap_or(&start).to_vec();
    if text.trim_ascii().is_empty() && text.len() < HEAD as usize - BOM.len() {
        return Err(InputError::Empty);
    }
    let (layout, found) = layout_of(&text, options)?;
    let mut collector = Collector::new(layout, options, deliver);
    let input = BufReader::with_capacity(BUFFER, std::io::Cursor::new(text).chain(input));
    match layout {
        ClaimLayout::TagPack => tagpack::read(input, &mut collector)?,
        ClaimLayout::ActorPack => actorpack::read(input, &mut collector)?,
        ClaimLayout::SdnAdvanced => sdn::read(input, &mut collector)?,
        ClaimLayout::AddressList => list::read(input, &mut collector)?,
        ClaimLayout::Pools => pools::read(input, &mut collector)?,
        ClaimLayout::Facts => rows::read(input, None, &mut collector)?,
        ClaimLayout::Csv => {
            let map = options.map.as_ref().or(found.as_ref()).ok_or(InputError::MapNeeded)?;
            rows::read(input, Some(map), &mut collector)?;
        }
    }
    let mut report = collector.report;
    report.source = report.source.or_else(|| only(&report.sources));
    report.licence = report.licence.or_else(|| only(&report.licences));
    Ok(report)
}

/// The one name that rows give, as a short name; `None` if they give several.
fn only(names: &BTreeMap<String, u64>) -> Option<Slug> {
    let mut names = names.keys();
    names.next().filter(|_| names.next().is_none()).and_then(|name| short_name::from_words(name))
}

/// Recognizes a packed file; `None` for other files.
fn packed(start: &[u8]) -> Option<&'static str> {
    let known = [
        (&[0x1f, 0x8b][..], "packed with gzip; unpack it"),
        (b"PK\x03\x04", "a ZIP archive; unpack it"),
        (&[0x28, 0xb5, 0x2f, 0xfd], "packed with zstd; unpack it"),
        (b"\xfd7zXZ\0", "packed with xz; unpack it"),
        (&[0xff, 0xfe], "UTF-16; save it as UTF-8"),
        (&[0xfe, 0xff], "UTF-16; save it as UTF-8"),
    ];
    known.into_iter().find(|(magic, _)| start.starts_with(magic)).map(|(_, what)| what)
}

/// The layout that the caller names, or else that of the beginning of the file; with the columns of a CSV file whose
/// first line names them.
fn layout_of(start: &[u8], options: &ClaimOptions) -> Result<(ClaimLayout, Option<ClaimMap>), InputError> {
    let text = String::from_utf8_lossy(start);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let line = lines.next().unwrap_or_default();
    // Comments are read as rows: the columns must be named above all.
    let plain = || rows::plain(text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default());
    match (options.layout, &options.map) {
        (None | Some(ClaimLayout::Csv), Some(_)) => return Ok((ClaimLayout::Csv, None)),
        (Some(_), Some(_)) => return Err(InputError::LayoutAndMap),
        (Some(ClaimLayout::Csv), None) => {
            return plain().map(|map| (ClaimLayout::Csv, Some(map))).ok_or(InputError::MapNeeded);
        }
        (Some(layout), None) => return Ok((layout, None)),
        (None, None) => {}
    }
    let mut cells = Cells::default();
    let row: Vec<String> = match cells.split(line, b',') {
        Ok(()) => cells.iter().take(64).map(str::to_owned).collect(),
        Err(_) => Vec::new(),
    };
    // Also of another network, and of another asset: the report says so row by row.
    let is_address = || {
        let of_another_asset =
            || address::script_of(line, options.network, false).is_err_and(|(_, asset)| asset.is_some());
        parse_address(line, None).is_ok() || of_another_asset()
    };
    let layout = if line.starts_with('<') {
        Ok(ClaimLayout::SdnAdvanced)
    } else if line.starts_with(['[', '{']) {
        Ok(ClaimLayout::Pools)
    } else if rows::facts(&row).is_some() {
        Ok(ClaimLayout::Facts)
    } else if let Some(map) = plain() {
        return Ok((ClaimLayout::Csv, Some(map)));
    } else if is_address() {
        if options.defaults.is_claim() { Ok(ClaimLayout::AddressList) } else { Err(InputError::ClaimNeeded) }
    } else if line == "---" || line.starts_with("%YAML") || pack::is_field(line) {
        Ok(if actorpack::is_here(&text) { ClaimLayout::ActorPack } else { ClaimLayout::TagPack })
    } else {
        Err(InputError::Unrecognised { begins: excerpt(line), known: ClaimLayout::names() })
    };
    layout.map(|layout| (layout, None))
}
