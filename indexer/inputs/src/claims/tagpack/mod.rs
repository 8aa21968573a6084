//! TagPacks: attribution tags as `GraphSense` publishes them.
//!
//! Fields at the top hold for every tag that does not say otherwise, so they must stand above `tags`. Fields:
//!
//! | TagPack | claim |
//! |---|---|
//! | `address`, with `network`, else `currency` | script; other assets are counted |
//! | `confidence` | tier and level |
//! | `category`, `abuse`, `concepts` | category and behaviour, the first of each that is known |
//! | `actor`, else `label` | entity; is a placeholder: none |
//! | `label` | label |
//! | `source` | `origin_url`; what is no URL stands in the note |
//! | `context` | note |
//! | `lastmod` | `asserted_at` |
//! | `is_cluster_definer` | `is_inherited`; without it false |
//!
//! A claim whose category is `user` is about a person.

mod yaml;

use std::{borrow::Cow, io::BufRead};

use cairn_events::{Category, EntityName};

use super::{
    collect::{Collector, Draft, is_url},
    options::ClaimLayout,
    report::ClaimCode,
    words::{claim_type, confidence, words_of},
};
use crate::error::{InputError, excerpt};
use yaml::{Item, Yaml};

/// The fields of a tag that are read.
const FIELDS: [&str; 13] = [
    "address",
    "network",
    "currency",
    "label",
    "source",
    "category",
    "abuse",
    "concepts",
    "confidence",
    "actor",
    "lastmod",
    "context",
    "is_cluster_definer",
];

/// Values by field. The items of a list stand on lines.
type Fields = [Option<String>; FIELDS.len()];

/// Whether a line begins a mapping, as TagPacks do.
pub(super) fn is_field(line: &str) -> bool {
    let Some((key, value)) = line.split_once(':') else { return false };
    let is_word = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    is_word && (value.is_empty() || value.starts_with([' ', '\t']))
}

pub(super) fn read(input: impl BufRead, collector: &mut Collector<'_>) -> Result<(), InputError> {
    let mut yaml = Yaml::new(input);
    match yaml.next()? {
        Item::Mapping => {}
        other => return Err(other_layout(&format!("{other:?}"))),
    }
    let (mut top, mut keys, mut has_tags) = (Fields::default(), String::new(), false);
    loop {
        let key = match yaml.next()? {
            Item::Close => break,
            Item::Scalar(key) => key.unwrap_or_default(),
            _ => return Err(yaml.error("a key that is no scalar")),
        };
        if keys.len() < 60 {
            keys.push_str(&key);
            keys.push(' ');
        }
        if key == "tags" {
            if has_tags {
                return Err(yaml.error("tags stands twice"));
            }
            has_tags = true;
            tags(&mut yaml, &top, collector)?;
        } else {
            if has_tags && FIELDS.contains(&key.as_str()) {
                return Err(yaml.error(format!("{key} stands below tags; move it above them")));
            }
            field(&mut yaml, &key, &mut top)?;
        }
    }
    if !has_tags {
        return Err(other_layout(&keys));
    }
    match yaml.next()? {
        Item::End => Ok(()),
        _ => Err(yaml.error("a second document; write it to a file of its own")),
    }
}

fn other_layout(begins: &str) -> InputError {
    InputError::OtherLayout { layout: ClaimLayout::TagPack.as_str(), begins: excerpt(begins) }
}

/// The value of a key.
fn field<R: BufRead>(yaml: &mut Yaml<'_, R>, key: &str, fields: &mut Fields) -> Result<(), InputError> {
    if key == "<<" {
        return Err(yaml.error("merge keys are not read; write the fields themselves"));
    }
    let place = FIELDS.iter().position(|field| *field == key).and_then(|at| fields.get_mut(at));
    if place.as_ref().is_some_and(|place| place.is_some()) {
        return Err(yaml.error(format!("{key} stands twice")));
    }
    let value = match yaml.next()? {
        Item::Scalar(value) => value,
        Item::Sequence if place.is_some() => Some(list(yaml, key)?),
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

fn tags<R: BufRead>(yaml: &mut Yaml<'_, R>, top: &Fields, collector: &mut Collector<'_>) -> Result<(), InputError> {
    match yaml.next()? {
        Item::Sequence => {}
        Item::Scalar(None) => return Ok(()),
        _ => return Err(yaml.error("tags is no list")),
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
                collector.refuse(row, None, ClaimCode::NotAnAddress, "");
                continue;
            }
            Item::Sequence => {
                yaml.skip()?;
                collector.refuse(row, None, ClaimCode::NotAnAddress, "");
                continue;
            }
            Item::End => return Err(yaml.error("the text ends too early")),
        }
        let (mut fields, mut first) = (Fields::default(), String::new());
        loop {
            let key = match yaml.next()? {
                Item::Close => break,
                Item::Scalar(key) => key.unwrap_or_default(),
                _ => return Err(yaml.error("a key that is no scalar")),
            };
            field(yaml, &key, &mut fields)?;
            if first.is_empty() {
                first = key;
            }
        }
        tag(row, &fields, top, &first, collector)?;
    }
}

fn tag(row: u32, fields: &Fields, top: &Fields, first: &str, collector: &mut Collector<'_>) -> Result<(), InputError> {
    let value = |at: usize| fields.get(at).and_then(Option::as_deref).map(str::trim);
    let [_, network, currency, label, source, category, abuse, concepts, sure, actor, lastmod, context, definer] =
        std::array::from_fn(|at| {
            value(at).or_else(|| top.get(at).and_then(Option::as_deref).map(str::trim)).unwrap_or_default()
        });
    let Some(address) = value(0) else {
        collector.refuse(row, Some(first), ClaimCode::NotAnAddress, "");
        return Ok(());
    };
    let is_inherited = match definer.to_ascii_lowercase().as_str() {
        "true" | "yes" => true,
        "" | "false" | "no" => false,
        _ => {
            collector.refuse(row, Some("is_cluster_definer"), ClaimCode::BadFlag, definer);
            return Ok(());
        }
    };
    let (mut kind, mut behaviour) = (None, None);
    for (field, text) in [("category", category), ("abuse", abuse), ("concepts", concepts)] {
        for word in text.lines().filter(|word| !word.trim().is_empty()).take(32) {
            let (known, does, is_known) = words_of(word);
            (kind, behaviour) = (kind.or(known), behaviour.or(does));
            if !is_known {
                collector.note(ClaimCode::UnknownCategory, field, word);
            }
        }
    }
    let (tier, level) = confidence(sure);
    let name = if actor.is_empty() { label } else { actor };
    let entity = EntityName::from_words(name);
    let note = if is_url(source) || source.is_empty() {
        Cow::Borrowed(context)
    } else {
        Cow::Owned(format!("source: {source}; {context}"))
    };
    let draft = Draft {
        address,
        currency: if network.is_empty() { currency } else { network },
        claim_type: Some(claim_type(sure, kind, behaviour, !actor.is_empty())),
        tier: Some(tier),
        level: Some(level),
        entity: entity.as_ref().map_or("", EntityName::as_str),
        entity_name: if actor.is_empty() { label } else { "" },
        category: kind,
        behaviour,
        label,
        origin_url: if is_url(source) { source } else { "" },
        note: note.trim_end_matches([' ', ';']),
        asserted_at: lastmod,
        is_inherited: Some(is_inherited),
        is_person: kind == Some(Category::User),
        ..Draft::default()
    };
    collector.take(row, &draft)
}
