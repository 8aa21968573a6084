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
    about: "The label of each script, derived from all claims about it: its entity and its kind. These are assertions \
        of the sources, not findings of Cairn.",
    sorted_by: &["script_sha256"],
    columns: &[
        column("script_sha256", Kind::Hash, "SHA-256 of the script."),
        nullable("script_id", Kind::ScriptId, "Id of the script; null if no block has it."),
        column("script", Kind::Bytes, "The scriptPubKey."),
        nullable("address", Kind::Text, "Address of the script; null if it has none."),
        nullable("entity", Kind::Text, "Entity that the label names; null if it names none."),
        nullable("entity_name", Kind::Text, "Name of the entity as people write it."),
        nullable("label", Kind::Text, "Label in the source's own words."),
        nullable("category", Kind::Word, "Category of the entity."),
        nullable("behaviour", Kind::Word, "Claimed behaviour of the script."),
        nullable("claim_type", Kind::Word, "Type of the claim that the label comes from."),
        nullable("tier", Kind::Word, "Evidence tier of that claim."),
        nullable("level", Kind::Int, "Confidence, 0 to 100."),
        nullable(
            "asserted_at",
            Kind::Time,
            "Time of the assertion; if unknown, the time when the document was retrieved.",
        ),
        nullable("is_conflicted", Kind::Flag, "True if no entity has three quarters of the votes."),
        nullable("is_contested", Kind::Flag, "True if the claim is contested."),
        nullable("is_person", Kind::Flag, "True if the claim is about a natural person."),
        nullable("member_of", Kind::Text, "Entity that the script is a member of; null if none."),
        column("sources", Kind::Int, "Number of sources that label the script at level 40 or above."),
    ],
    source: Source::Whole(labels),
};

pub(super) const CLAIMS: Dataset = Dataset {
    name: "claims",
    about: "Claims about each script, by document. For each list of a source, the document that was retrieved last is \
        in force. Texts are the sources' own.",
    sorted_by: &["script_sha256", "source", "list", "retrieved_at"],
    columns: &[
        column("script_sha256", Kind::Hash, "SHA-256 of the script."),
        nullable("script", Kind::Bytes, "The scriptPubKey; null if the operator has blanked the claim."),
        nullable("address", Kind::Text, "Address of the script; null if it has none."),
        column("source", Kind::Word, "Source of the claim."),
        column("list", Kind::Word, "List of the source that has the claim."),
        column("retrieved_at", Kind::Time, "Time when the document was retrieved."),
        column("document", Kind::Bytes, "First bytes of the document's SHA-256."),
        column("row", Kind::Long, "Row in the document."),
        column("claim_type", Kind::Word, "Type of the claim."),
        column("tier", Kind::Word, "Evidence tier of the claim."),
        column("level", Kind::Int, "Confidence, 0 to 100."),
        nullable("entity", Kind::Text, "Entity that the claim names; null if it names none."),
        nullable("entity_name", Kind::Text, "Name of the entity as people write it."),
        nullable("category", Kind::Word, "Category of the entity."),
        nullable("behaviour", Kind::Word, "Claimed behaviour of the script."),
        nullable("label", Kind::Text, "Label in the source's own words."),
        nullable("source_url", Kind::Text, "Page where the source makes the claim."),
        nullable("origin_url", Kind::Text, "Page that the source cites as its own source."),
        nullable("note", Kind::Text, "Further remarks of the source."),
        nullable("asserted_at", Kind::Time, "Time of the assertion; null if the source does not say."),
        nullable("valid_from", Kind::Time, "Start of the claimed validity."),
        nullable("valid_to", Kind::Time, "End of the claimed validity."),
        column("is_inherited", Kind::Flag, "True if the claim may extend to the script's cluster."),
        column("is_person", Kind::Flag, "True if the claim is about a natural person."),
        column("is_redacted", Kind::Flag, "True if the operator has blanked the claim."),
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
        scope.settle(sink)?;
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
        scope.settle(sink)?;
    }
    Ok(())
}
