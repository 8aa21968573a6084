//! TagPacks: attribution tags as `GraphSense` publishes them.
//!
//! | TagPack | claim |
//! |---|---|
//! | `address`, with `network`, else `currency` | script; other assets are counted |
//! | `confidence` | tier and level |
//! | `category`, `abuse`, `concepts` | category and behaviour, the first of each that is known |
//! | `actor`, else `label` | entity; is a placeholder: none |
//! | `label` | label |
//! | `source` | `origin_url`; other text goes into the note |
//! | `context` | note |
//! | `lastmod` | `asserted_at` |
//! | `is_cluster_definer` | `is_inherited`; without it false |
//!
//! A claim whose category is `user` is about a person.

use std::{borrow::Cow, io::BufRead};

use cairn_events::{Category, EntityName};

use super::{
    collect::{Collector, Draft, is_url},
    options::ClaimLayout,
    pack::{self, Entry, Kind},
    report::ClaimCode,
    words::{claim_type, confidence, words_of},
};
use crate::error::InputError;

const KIND: Kind = Kind {
    layout: ClaimLayout::TagPack,
    items: "tags",
    fields: &[
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
    ],
    no_item: ClaimCode::NotAnAddress,
};

pub(super) fn read(input: impl BufRead, collector: &mut Collector<'_>) -> Result<(), InputError> {
    pack::read(input, &KIND, collector, tag)
}

fn tag(entry: &Entry<'_>, collector: &mut Collector<'_>) -> Result<(), InputError> {
    let row = entry.row;
    let [_, network, currency, label, source, category, abuse, concepts, sure, actor, lastmod, context, definer] =
        std::array::from_fn(|at| entry.get(at));
    let Some(address) = entry.own(0) else {
        collector.refuse(row, Some(entry.first), ClaimCode::NotAnAddress, "");
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
