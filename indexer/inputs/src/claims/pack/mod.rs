//! Packs: the YAML files that `GraphSense` publishes. Fields at the top hold for every item that does not say
//! otherwise, so they must stand above the list of items.

mod yaml;

use std::io::BufRead;

use super::{collect::Collector, options::ClaimLayout, report::ClaimCode, short_name};
use crate::error::{InputError, excerpt};
use yaml::{Item, Yaml};

pub(super) struct Kind {
    pub(super) layout: ClaimLayout,
    /// The key of the list of items.
    pub(super) items: &'static str,
    /// The fields of an item that are read. `a.b` is field `b` of the mapping `a`.
    pub(super) fields: &'static [&'static str],
    /// The code for an item without fields.
    pub(super) no_item: ClaimCode,
}

/// The key of the creator of a pack.
const CREATOR: &str = "creator";
/// Keys at the top that say something of the pack itself.
const ABOUT: [&str; 3] = [CREATOR, "license", "licence"];
/// A field that stands for any of them.
const ABOUT_FIELD: &str = "about";

/// Values by field. The items of a list stand on lines.
type Fields = Vec<Option<String>>;

pub(super) struct Entry<'p> {
    pub(super) row: u32,
    own: &'p Fields,
    top: &'p Fields,
    pub(super) first: &'p str,
}

impl Entry<'_> {
    /// Returns the item's own value of a field.
    pub(super) fn own(&self, at: usize) -> Option<&str> {
        self.own.get(at).and_then(Option::as_deref).map(str::trim)
    }

    /// Returns the value of a field for the item: its own, or that at the top; empty if there is neither.
    pub(super) fn get(&self, at: usize) -> &str {
        self.own(at).or_else(|| self.top.get(at).and_then(Option::as_deref).map(str::trim)).unwrap_or_default()
    }
}

/// Whether a line begins a mapping, as packs do.
pub(super) fn is_field(line: &str) -> bool {
    let Some((key, value)) = line.split_once(':') else { return false };
    let is_word = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    is_word && (value.is_empty() || value.starts_with([' ', '\t']))
}

/// Reads a pack, and hands over each item.
pub(super) fn read(
    input: impl BufRead,
    kind: &Kind,
    collector: &mut Collector<'_>,
    mut take: impl FnMut(&Entry<'_>, &mut Collector<'_>) -> Result<(), InputError>,
) -> Result<(), InputError> {
    let mut yaml = Yaml::new(input);
    match yaml.next()? {
        Item::Mapping => {}
        other => return Err(other_layout(kind, &format!("{other:?}"))),
    }
    let (mut top, mut keys, mut has_items) = (vec![None; kind.fields.len()], String::new(), false);
    loop {
        let key = match yaml.next()? {
            Item::Close => break,
            Item::Scalar(key) => key.unwrap_or_default(),
            _ => return Err(yaml.error("a key that is not a scalar")),
        };
        if keys.len() < 60 {
            keys.push_str(&key);
            keys.push(' ');
        }
        if key == kind.items {
            if has_items {
                return Err(yaml.error(format!("{key} stands twice")));
            }
            has_items = true;
            items(&mut yaml, kind, &top, collector, &mut take)?;
        } else if ABOUT.contains(&key.as_str()) {
            let mut said = vec![None];
            let about = Kind { fields: &[ABOUT_FIELD], ..*kind };
            field(&mut yaml, &about, ABOUT_FIELD, &mut said)?;
            let said = said.into_iter().flatten().next().unwrap_or_default();
            let name = short_name::from_words(said.lines().next().unwrap_or_default());
            let place = if key == CREATOR { &mut collector.report.source } else { &mut collector.report.licence };
            *place = name;
        } else {
            if has_items && kind.fields.contains(&key.as_str()) {
                return Err(yaml.error(format!("{key} stands below {}; move it above them", kind.items)));
            }
            field(&mut yaml, kind, &key, &mut top)?;
        }
    }
    if !has_items {
        return Err(other_layout(kind, &keys));
    }
    match yaml.next()? {
        Item::End => Ok(()),
        _ => Err(yaml.error("a second document; write it to a file of its own")),
    }
}

fn other_layout(kind: &Kind, begins: &str) -> InputError {
    InputError::OtherLayout { layout: kind.layout.as_str(), begins: excerpt(begins) }
}

fn field<R: BufRead>(yaml: &mut Yaml<'_, R>, kind: &Kind, key: &str, fields: &mut Fields) -> Result<(), InputError> {
    if key == "<<" {
        return Err(yaml.error("merge keys are not read; write the fields themselves"));
    }
    let place = kind.fields.iter().position(|field| *field == key).and_then(|at| fields.get_mut(at));
    if place.as_ref().is_some_and(|place| place.is_some()) {
        return Err(yaml.error(format!("{key} stands twice")));
    }
    let is_of_key = |field: &&str| field.strip_prefix(key).is_some_and(|rest| rest.starts_with('.'));
    let value = match yaml.next()? {
        Item::Scalar(value) => value,
        Item::Sequence if place.is_some() => Some(list(yaml, key)?),
        Item::Mapping if kind.fields.iter().any(is_of_key) => loop {
            match yaml.next()? {
                Item::Close => return Ok(()),
                Item::Scalar(within) => {
                    field(yaml, kind, &format!("{key}.{}", within.unwrap_or_default()), fields)?;
                }
                _ => return Err(yaml.error("a key that is not a scalar")),
            }
        },
        Item::Mapping | Item::Sequence => {
            yaml.skip()?;
            None
        }
        Item::Close | Item::End => return Err(yaml.error("the text ends too early")),
    };
    if let Some(place) = place {
        *place = value;
    }
    Ok(())
}

/// The scalars of a list, on lines.
fn list<R: BufRead>(yaml: &mut Yaml<'_, R>, key: &str) -> Result<String, InputError> {
    let mut text = String::new();
    loop {
        match yaml.next()? {
            Item::Scalar(value) => {
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(&value.unwrap_or_default());
            }
            Item::Close => return Ok(text),
            Item::Mapping | Item::Sequence => yaml.skip()?,
            Item::End => return Err(yaml.error("the text ends too early")),
        }
        if text.len() > 65_536 {
            return Err(yaml.error(format!("{key} has more than 65536 bytes")));
        }
    }
}

fn items<R: BufRead>(
    yaml: &mut Yaml<'_, R>,
    kind: &Kind,
    top: &Fields,
    collector: &mut Collector<'_>,
    take: &mut impl FnMut(&Entry<'_>, &mut Collector<'_>) -> Result<(), InputError>,
) -> Result<(), InputError> {
    match yaml.next()? {
        Item::Sequence => {}
        Item::Scalar(None) => return Ok(()),
        _ => return Err(yaml.error(format!("{} is not a list", kind.items))),
    }
    let mut ordinal = 0u64;
    loop {
        let item = yaml.next()?;
        if item == Item::Close {
            return Ok(());
        }
        ordinal = ordinal.saturating_add(1);
        let row = collector.row(ordinal)?;
        match item {
            Item::Mapping => {}
            Item::Scalar(_) | Item::Close => {
                collector.refuse(row, None, kind.no_item, "");
                continue;
            }
            Item::Sequence => {
                yaml.skip()?;
                collector.refuse(row, None, kind.no_item, "");
                continue;
            }
            Item::End => return Err(yaml.error("the text ends too early")),
        }
        let (mut own, mut first) = (vec![None; kind.fields.len()], String::new());
        loop {
            let key = match yaml.next()? {
                Item::Close => break,
                Item::Scalar(key) => key.unwrap_or_default(),
                _ => return Err(yaml.error("a key that is not a scalar")),
            };
            field(yaml, kind, &key, &mut own)?;
            if first.is_empty() {
                first = key;
            }
        }
        take(&Entry { row, own: &own, top, first: &first }, collector)?;
    }
}
