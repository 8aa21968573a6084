//! A pack as a report for people: headings, sentences, tables and the graph. Markdown and HTML show the same report.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{graph::GraphPicture, sections::SECTIONS};

/// A part of the report. Its texts are plain: whoever writes them escapes them.
pub(super) enum Block {
    Heading(String),
    Text(String),
    Table { head: Vec<&'static str>, rows: Vec<Vec<String>> },
    Picture(GraphPicture),
}

pub(super) struct Report {
    pub(super) title: String,
    pub(super) blocks: Vec<Block>,
}

/// Rows of a section that has no form of its own.
const MAX_FACTS: usize = 400;

pub(super) fn report(pack: &Value) -> Report {
    let mut blocks = Vec::new();
    head(pack, &mut blocks);
    for line in SECTIONS {
        let section = &pack["sections"][line.name];
        blocks.push(Block::Heading(title(line.name)));
        let data = &section["data"];
        if data.is_null() {
            blocks.push(Block::Text(format!("{}: {}.", cell(&section["status"]), cell(&section["reason"]))));
            continue;
        }
        match line.name {
            "labels" => labels(data, &mut blocks),
            "transactions" => transactions(data, &mut blocks),
            "flow_graph" => graph(data, &mut blocks),
            _ => facts(data, &mut blocks),
        }
    }
    sources(pack, &mut blocks);
    blocks.push(Block::Heading("Limits of this report".to_owned()));
    blocks.extend(list(&pack["caveats"]).map(|caveat| Block::Text(cell(caveat))));
    Report { title: format!("Evidence about {}", cell(&pack["address"])), blocks }
}

fn title(name: &str) -> String {
    let words = name.replace('_', " ");
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// A value as text; empty for null.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The first of these members that is there.
fn first(value: &Value, names: &[&str]) -> String {
    names.iter().map(|name| cell(&value[*name])).find(|text| !text.is_empty()).unwrap_or_default()
}

fn btc(value: &Value) -> String {
    let Some(sats) = value.as_i64() else { return cell(value) };
    let (sign, sats) = (if sats < 0 { "-" } else { "" }, sats.unsigned_abs());
    format!("{sign}{}.{:08} BTC", sats / 100_000_000, sats % 100_000_000)
}

fn head(pack: &Value, blocks: &mut Vec<Block>) {
    let row = |name: &str, text: String| vec![name.to_owned(), text];
    let mut rows = vec![
        row("Network", cell(&pack["network"])),
        row("Newest block", format!("{} ({})", cell(&pack["tip"]["height"]), cell(&pack["tip"]["hash"]))),
        row("Time of the newest block", cell(&pack["tip"]["time"])),
        row("Newest input event", cell(&pack["ledger_seq"])),
        row("Labels as of", cell(&pack["labels_as_of"])),
        row("SHA-256 of the signed form", first(pack, &["digest_sha256", "digest_reason"])),
    ];
    let signature = &pack["signature"];
    rows.push(match signature.is_null() {
        true => row("Signature", format!("none: {}", cell(&pack["signature_reason"]))),
        false => row("Signature", format!("{} by key {}", cell(&signature["alg"]), cell(&signature["key_id"]))),
    });
    blocks.push(Block::Table { head: vec!["", ""], rows });
    blocks.push(Block::Text(
        "The digest and the signature are those of the pack in JSON, which can be checked without this server."
            .to_owned(),
    ));
    let rows = SECTIONS.iter().map(|line| {
        let section = &pack["sections"][line.name];
        vec![title(line.name), cell(&section["status"]), cell(&section["reason"])]
    });
    blocks.push(Block::Table { head: vec!["section", "status", "reason"], rows: rows.collect() });
}

/// All claims of the section of labels.
fn claims(data: &Value) -> impl Iterator<Item = (&Value, &Value)> {
    list(&data["groups"]).flat_map(|group| list(&group["claims"]).map(move |claim| (group, claim)))
}

fn labels(data: &Value, blocks: &mut Vec<Block>) {
    let rows: Vec<Vec<String>> = claims(data)
        .map(|(group, claim)| {
            vec![
                first(claim, &["entity_name", "label", "category", "behaviour"]),
                cell(&group["claim_type"]),
                cell(&claim["state"]),
                cell(&claim["confidence_level"]),
                cell(&claim["authority"]),
                first(claim, &["asserted_at", "retrieved_at"]),
                cell(&claim["claim_id"]),
            ]
        })
        .collect();
    blocks.push(Block::Text(format!("{} claims, {} of them below.", cell(&data["total"]), rows.len())));
    let head = vec!["label", "claim type", "state", "level", "source", "asserted or retrieved", "claim"];
    blocks.push(Block::Table { head, rows });
}

fn transactions(data: &Value, blocks: &mut Vec<Block>) {
    let rows: Vec<Vec<String>> = list(&data["transactions"])
        .map(|tx| {
            let others = list(&tx["counterparties"]).map(|label| cell(&label["value"]));
            vec![
                cell(&tx["status"]["height"]),
                cell(&tx["time"]),
                cell(&tx["direction"]),
                btc(&tx["net_sats"]),
                others.collect::<Vec<_>>().join(", "),
                cell(&tx["txid"]),
            ]
        })
        .collect();
    blocks.push(Block::Text(format!(
        "{} confirmed transactions, the newest {} of them below.",
        cell(&data["total"]),
        rows.len()
    )));
    let head = vec!["block", "time", "direction", "net amount", "labels of the other side", "transaction"];
    blocks.push(Block::Table { head, rows });
}

fn graph(data: &Value, blocks: &mut Vec<Block>) {
    blocks.extend(GraphPicture::of(data).map(Block::Picture));
    let rows: Vec<Vec<String>> = list(&data["edges"])
        .map(|edge| {
            let txids: Vec<String> = list(&edge["txids"]).map(cell).collect();
            vec![
                cell(&edge["source"]),
                cell(&edge["target"]),
                btc(&edge["value_sats"]),
                cell(&edge["count"]),
                cell(&edge["first"]),
                cell(&edge["last"]),
                txids.join(" "),
            ]
        })
        .collect();
    let cuts: Vec<String> = list(&data["truncated_reasons"]).map(cell).collect();
    let cut =
        if cuts.is_empty() { String::new() } else { format!(" Limits that left something out: {}.", cuts.join(", ")) };
    blocks.push(Block::Text(format!("{} payments between nodes.{cut}", rows.len())));
    let head = vec!["payer", "payee", "value", "transactions", "first", "last", "newest transactions"];
    blocks.push(Block::Table { head, rows });
}

/// The members of an answer, each with its place.
fn facts(data: &Value, blocks: &mut Vec<Block>) {
    let mut rows = Vec::new();
    flatten(data, String::new(), &mut rows);
    let all = rows.len();
    rows.truncate(MAX_FACTS);
    blocks.push(Block::Table { head: vec!["fact", "value"], rows });
    if all > MAX_FACTS {
        blocks.push(Block::Text(format!("{} more are in the pack in JSON.", all - MAX_FACTS)));
    }
}

fn flatten(value: &Value, place: String, rows: &mut Vec<Vec<String>>) {
    let join = |name: &str| if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| flatten(value, join(name), rows)),
        Value::Array(items) if items.iter().all(|item| !item.is_object() && !item.is_array()) => {
            rows.push(vec![place, items.iter().map(cell).collect::<Vec<_>>().join("; ")]);
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, value)| flatten(value, join(&(at + 1).to_string()), rows));
        }
        Value::Null => {}
        other if place.ends_with("_sats") => rows.push(vec![place, btc(other)]),
        other => rows.push(vec![place, cell(other)]),
    }
}

/// The sources of all claims, once each.
fn sources(pack: &Value, blocks: &mut Vec<Block>) {
    let data = &pack["sections"]["labels"]["data"];
    let rows: BTreeSet<Vec<String>> = claims(data)
        .map(|(_, claim)| {
            let names = ["source", "list", "licence", "source_url", "retrieved_at", "document_sha256"];
            names.map(|name| cell(&claim[name])).to_vec()
        })
        .collect();
    if rows.is_empty() {
        return;
    }
    blocks.push(Block::Heading("Sources".to_owned()));
    let head = vec!["source", "list", "licence", "URL", "retrieved at", "SHA-256 of the document"];
    blocks.push(Block::Table { head, rows: rows.into_iter().collect() });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn amounts_are_exact() {
        assert_eq!(btc(&json!(-150_000_001)), "-1.50000001 BTC");
        assert_eq!((btc(&json!(0)), btc(&json!("x"))), ("0.00000000 BTC".to_owned(), "x".to_owned()));
        assert_eq!(title("trust_safety"), "Trust safety");
    }

    #[test]
    fn facts_have_their_places() {
        let mut rows = Vec::new();
        flatten(&json!({"a": {"b_sats": 5}, "c": [1, "x"], "d": [{"e": true}], "f": null}), String::new(), &mut rows);
        let shown: Vec<String> = rows.iter().map(|row| row.join("=")).collect();
        assert_eq!(shown, ["a.b_sats=0.00000005 BTC", "c=1; x", "d.1.e=true"]);
    }
}
