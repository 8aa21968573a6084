//! ActorPacks: what is said of entities themselves, as `GraphSense` publishes it.
//!
//! | ActorPack | profile |
//! |---|---|
//! | `id` | entity: the name that the field `actor` of TagPacks has |
//! | `label`, else `id` | name |
//! | `aliases` | aliases |
//! | `categories` | category, the first that is known |
//! | `uri` | page, as it stands there |
//! | `jurisdictions` | jurisdictions |
//! | `context.legal_name`; `context` may be JSON in a text | name of the company |
//! | `lastmod` | when it was asserted |
//!
//! Pages, handles and pictures of `context` are not read. An actor whose category is `user` is a person, and left out.

use std::{io::BufRead, sync::Arc};

use cairn_events::{
    Category, EntityName, Jurisdiction, MAX_ALIASES, MAX_JURISDICTIONS, Profile,
    claim::{MAX_NAME, MAX_NOTE},
};
use serde::Deserialize;

use super::{
    collect::{Collector, time},
    options::ClaimLayout,
    pack::{self, Entry, Kind},
    report::ClaimCode,
    words::words_of,
};
use crate::error::InputError;

const KIND: Kind = Kind {
    layout: ClaimLayout::ActorPack,
    items: "actors",
    fields: &[
        "id",
        "label",
        "aliases",
        "categories",
        "uri",
        "jurisdictions",
        "context.legal_name",
        "context",
        "lastmod",
    ],
    no_item: ClaimCode::BadEntity,
};

/// Whether the beginning of a pack is that of a pack of actors.
pub(super) fn is_here(start: &str) -> bool {
    start.lines().any(|line| line.split_once(':').is_some_and(|(key, _)| key == KIND.items))
}

pub(super) fn read(input: impl BufRead, collector: &mut Collector<'_>) -> Result<(), InputError> {
    pack::read(input, &KIND, collector, actor)
}

/// The fields that are read of a context that is JSON in a text.
#[derive(Default, Deserialize)]
struct Context {
    #[serde(default)]
    legal_name: Option<String>,
}

fn actor(entry: &Entry<'_>, collector: &mut Collector<'_>) -> Result<(), InputError> {
    let row = entry.row;
    let [_, label, aliases, categories, uri, jurisdictions, legal_name, context, lastmod] =
        std::array::from_fn(|at| entry.get(at));
    let id = entry.own(0).unwrap_or_default();
    let Some(entity) = EntityName::from_words(id) else {
        collector.refuse(row, Some("id"), ClaimCode::BadEntity, id);
        return Ok(());
    };
    let Some(asserted_at) = time(lastmod) else {
        collector.refuse(row, Some("lastmod"), ClaimCode::BadTime, lastmod);
        return Ok(());
    };
    if asserted_at.is_some_and(|at| at > collector.options.now) {
        collector.refuse(row, Some("lastmod"), ClaimCode::Future, lastmod);
        return Ok(());
    }
    let mut category = None;
    for word in lines(categories).take(32) {
        let (known, _, is_known) = words_of(word);
        category = category.or(known);
        if !is_known {
            collector.note(ClaimCode::UnknownCategory, "categories", word);
        }
    }
    if category == Some(Category::User) {
        collector.refuse(row, Some("categories"), ClaimCode::Person, "");
        return Ok(());
    }
    let name = collector.text(0, "label", if label.is_empty() { id } else { label }, MAX_NAME);
    let mut other_names: Vec<Arc<str>> = Vec::new();
    for alias in lines(aliases) {
        let alias = collector.text(1, "aliases", alias, MAX_NAME);
        if alias.is_empty() || alias == name || other_names.contains(&alias) {
            continue;
        }
        if other_names.len() == MAX_ALIASES {
            collector.note(ClaimCode::TooMany, "aliases", &alias);
            break;
        }
        other_names.push(alias);
    }
    let mut places: Vec<Jurisdiction> = Vec::new();
    for code in lines(jurisdictions) {
        match code.parse() {
            Ok(place) if places.contains(&place) => {}
            Ok(_) if places.len() == MAX_JURISDICTIONS => {
                collector.note(ClaimCode::TooMany, "jurisdictions", code);
                break;
            }
            Ok(place) => places.push(place),
            Err(_) => collector.note(ClaimCode::BadJurisdiction, "jurisdictions", code),
        }
    }
    let of_json = || serde_json::from_str::<Context>(context).unwrap_or_default().legal_name.unwrap_or_default();
    let legal_name = if legal_name.is_empty() { of_json() } else { legal_name.to_owned() };
    let profile = Profile {
        row,
        entity,
        name,
        aliases: other_names,
        category,
        homepage: collector.text(2, "uri", uri, MAX_NOTE),
        jurisdictions: places,
        legal_name: collector.text(3, "context.legal_name", &legal_name, MAX_NAME),
        asserted_at,
    };
    collector.take_profile(profile)
}

/// The lines of a field that say something.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}
