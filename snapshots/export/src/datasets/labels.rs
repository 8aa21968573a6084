//! `labels` and `claims`.

use cairn_domain::address_of;
use cairn_events::{Behaviour, Category, EntityName};
use cairn_model::ScriptId;
use cairn_reader::View;
use cairn_tables::{
    claims::Claims,
    labels::{Labels, ScriptHash},
};

use crate::{
    Dataset, ExportError,
    columns::{Kind, column, nullable},
    dataset::{Scope, Source},
    rows::Rows,
    sink::Sink,
};

pub(super) const LABELS: Dataset = Dataset {
    name: "labels",
    about: "The label of each script, from all claims about it: its entity and its kind. Sources assert it; nothing here is a finding of Cairn.",
    sorted_by: &["script_sha256"],
    columns: &[
        column("script_sha256", Kind::Hash, "SHA-256 of the script."),
        nullable("script_id", Kind::ScriptId, "The script; null if no block has it."),
        column("script", Kind::Bytes, "The scriptPubKey."),
        nullable("address", Kind::Text, "Its address; null if it has none."),
        nullable("entity", Kind::Text, "Who it is said to be; null if nobody is named."),
        nullable("entity_name", Kind::Text, "The name as people write it."),
        nullable("label", Kind::Text, "The source's own words."),
        nullable("category", Kind::Word, "Category of the entity."),
        nullable("behaviour", Kind::Word, "Behaviour of the script, as claimed."),
        nullable("claim_type", Kind::Word, "Type of the claim."),
        nullable("tier", Kind::Word, "Evidence tier of the claim."),
        nullable("level", Kind::Int, "Confidence, 0 to 100."),
        nullable("asserted_at", Kind::Time, "When it was asserted, else when its document was retrieved."),
        nullable("is_conflicted", Kind::Flag, "True if no entity has three quarters of the votes."),
        nullable("is_contested", Kind::Flag, "True if the claim is contested."),
        nullable("is_person", Kind::Flag, "True if it is about a natural person."),
        nullable("member_of", Kind::Text, "The entity whose script it counts as; null if it counts as nobody's."),
        column("sources", Kind::Int, "Sources that label it from level 40 on."),
    ],
    source: Source::Whole(labels),
};

pub(super) const CLAIMS: Dataset = Dataset {
    name: "claims",
    about: "Claims about each script, by document. For each list of a source, the document that was retrieved last holds. Texts are \
        the sources' own.",
    sorted_by: &["script_sha256", "source", "list", "retrieved_at"],
    columns: &[
        column("script_sha256", Kind::Hash, "SHA-256 of the script."),
        nullable("script", Kind::Bytes, "The scriptPubKey; null if the operator has blanked the claim."),
        nullable("address", Kind::Text, "Its address; null if it has none."),
        column("source", Kind::Word, "Who says it."),
        column("list", Kind::Word, "The list of the source."),
        column("retrieved_at", Kind::Time, "When the document was retrieved."),
        column("document", Kind::Bytes, "First bytes of the document's hash."),
        column("row", Kind::Long, "Row of the document."),
        column("claim_type", Kind::Word, "Type of the claim."),
        column("tier", Kind::Word, "Evidence tier of the claim."),
        column("level", Kind::Int, "Confidence, 0 to 100."),
        nullable("entity", Kind::Text, "The entity; null if the source names none."),
        nullable("entity_name", Kind::Text, "The name as people write it."),
        nullable("category", Kind::Word, "Category of the entity."),
        nullable("behaviour", Kind::Word, "Behaviour of the script, as claimed."),
        nullable("label", Kind::Text, "The source's own words."),
        nullable("source_url", Kind::Text, "Where the source says it."),
        nullable("origin_url", Kind::Text, "Where the source has it from."),
        nullable("note", Kind::Text, "Further remarks of the source."),
        nullable("asserted_at", Kind::Time, "When it was asserted; null if the source does not say."),
        nullable("valid_from", Kind::Time, "Since when it is said to hold."),
        nullable("valid_to", Kind::Time, "Until when it is said to have held."),
        column("is_inherited", Kind::Flag, "True if it may hold for the script's cluster."),
        column("is_person", Kind::Flag, "True if it is about a natural person."),
        column("is_redacted", Kind::Flag, "True if the operator has blanked it."),
    ],
    source: Source::Whole(claims),
};

fn entity(rows: &mut Rows, name: Option<&EntityName>) {
    rows.maybe(name, |rows, name| rows.text(name.as_str()));
}

fn words(rows: &mut Rows, category: Option<Category>, behaviour: Option<Behaviour>) {
    rows.maybe(category, |rows, category| rows.text(category.as_str()));
    rows.maybe(behaviour, |rows, behaviour| rows.text(behaviour.as_str()));
}

fn labels(scope: &Scope<'_>, view: &View<'_>, sink: &mut Sink) -> Result<(), ExportError> {
    for row in view.scan::<Labels>(None)? {
        let (hash, label): (ScriptHash, _) = row?;
        let rows = &mut sink.rows;
        rows.bytes(&hash.0);
        rows.maybe(label.seen, |rows, seen| {
            rows.script_id(ScriptId { prefix: hash.prefix(), ordinal: seen.ordinal });
        });
        rows.bytes(&label.script);
        rows.maybe(address_of(&label.script, scope.network), |rows, address| rows.text(&address));
        match &label.label {
            Some(found) => {
                entity(rows, found.entity.as_ref());
                rows.text_or_null(&found.name);
                rows.text_or_null(&found.words);
                words(rows, found.category, found.behaviour);
                rows.text(found.claim_type.as_str());
                rows.text(found.tier.as_str());
                rows.number(found.level);
                rows.time(found.then);
                [found.is_conflicted, found.is_contested, found.is_person].into_iter().for_each(|flag| rows.flag(flag));
            }
            None => (0..12).for_each(|_| rows.null()),
        }
        entity(rows, label.member.as_ref().map(|member| &member.entity));
        rows.count(label.sources.len());
        sink.settle()?;
        if sink.rows.len() == 0 {
            scope.check()?;
        }
    }
    Ok(())
}

fn claims(scope: &Scope<'_>, view: &View<'_>, sink: &mut Sink) -> Result<(), ExportError> {
    for row in view.scan::<Claims>(None)? {
        let (key, claim) = row?;
        let rows = &mut sink.rows;
        let script = Some(&*claim.script).filter(|_| !claim.is_redacted);
        rows.bytes(&key.script);
        rows.maybe(script, |rows, script| rows.bytes(script));
        rows.maybe(script.and_then(|script| address_of(script, scope.network)), |rows, address| rows.text(&address));
        rows.text(key.list.source.as_str());
        rows.text(key.list.list.as_str());
        rows.time(key.version.retrieved_at);
        rows.bytes(&key.version.document);
        rows.number(key.row);
        rows.text(claim.claim_type.as_str());
        rows.text(claim.tier.as_str());
        rows.number(claim.level);
        entity(rows, claim.entity.as_ref());
        rows.text_or_null(&claim.entity_name);
        words(rows, claim.category, claim.behaviour);
        [&claim.label, &claim.source_url, &claim.origin_url, &claim.note]
            .into_iter()
            .for_each(|text| rows.text_or_null(text));
        [claim.asserted_at, claim.valid_from, claim.valid_to]
            .into_iter()
            .for_each(|time| rows.maybe(time, |rows, time| rows.time(time)));
        [claim.is_inherited, claim.is_person, claim.is_redacted].into_iter().for_each(|flag| rows.flag(flag));
        sink.settle()?;
        if sink.rows.len() == 0 {
            scope.check()?;
        }
    }
    Ok(())
}
