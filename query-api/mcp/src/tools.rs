//! The list of tools, made from the operations. A model reads the whole list before each task, so it is short: schemas
//! of answers, examples and long descriptions are left to `describe_endpoint`.

use axum::body::Bytes;
use cairn_http::{Api, Effect, OperationDescription};
use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value};

use crate::{answer, general, portable::object, search::Index};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ToolAction {
    Operation(usize),
    Search,
    Describe,
    Call,
}

/// The tools, in listing order.
pub(crate) struct Tools {
    pub(crate) operations: Vec<OperationDescription>,
    pub(crate) index: Index,
    pub(crate) results: Vec<Map<String, Value>>,
    /// The list as JSON: the same for everybody, so it is written once.
    pub(crate) list: Bytes,
    listed: Vec<(Tool, ToolAction)>,
}

impl Tools {
    pub(crate) fn of(api: &Api) -> Self {
        let operations = api.operations();
        let mut listed = Vec::new();
        for (at, op) in operations.iter().enumerate() {
            if let Some(name) = op.tool {
                listed.push((tool(name, op), ToolAction::Operation(at)));
            }
        }
        let effects: Vec<Effect> = operations.iter().map(|op| op.effect).collect();
        listed.push((general::search_tool(), ToolAction::Search));
        listed.push((general::describe_tool(), ToolAction::Describe));
        listed.push((general::call_tool(annotations(&effects)), ToolAction::Call));
        let list: Vec<&Tool> = listed.iter().map(|(tool, _)| tool).collect();
        Tools {
            index: Index::of(&operations),
            results: operations.iter().map(|op| answer::schema(api.answer_schema(op.name), op.fields)).collect(),
            // Plain text and numbers always serialize.
            list: serde_json::to_vec(&list).unwrap_or_default().into(),
            listed,
            operations,
        }
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let tools = self.listed.iter().map(|(tool, _)| tool.name.as_ref());
        tools.chain(self.operations.iter().map(|op| op.name))
    }

    /// A tool other than an operation: it searches, describes or calls.
    pub(crate) fn general(&self, does: ToolAction) -> Option<&Tool> {
        let is = |(_, of): &&(Tool, ToolAction)| *of == does && !matches!(of, ToolAction::Operation(_));
        self.listed.iter().find(is).map(|(tool, _)| tool)
    }

    pub(crate) fn find(&self, name: &str) -> Option<(&Tool, ToolAction)> {
        self.listed.iter().find(|(tool, _)| tool.name == name).map(|(tool, does)| (tool, *does))
    }
}

fn tool(name: &'static str, op: &OperationDescription) -> Tool {
    let (when, not_for) = op.guidance;
    let mut description = format!("{}. Use when {when}. Not for {not_for}.", op.summary);
    for group in &op.exactly_one {
        description.push_str(&format!(" Give exactly one of {}.", group.join(", ")));
    }
    for group in &op.at_most_one {
        description.push_str(&format!(" Give at most one of {}.", group.join(", ")));
    }
    let mut schema = op.input_schema.clone();
    if let Some(members) = schema.as_object_mut()
        && members.get("required").and_then(Value::as_array).is_some_and(Vec::is_empty)
    {
        members.shift_remove("required");
    }
    for field in schema["properties"].as_object_mut().into_iter().flat_map(Map::values_mut) {
        shorten(field);
    }
    Tool::new(name, description, object(schema)).with_annotations(annotations(&[op.effect]))
}

/// Reduces a schema to the parts that a call needs: types, allowed values, bounds, defaults, and the first sentence.
fn shorten(schema: &mut Value) {
    let Some(members) = schema.as_object_mut() else { return };
    for key in ["examples", "format", "title", "minLength"] {
        members.shift_remove(key);
    }
    if let Some(Value::String(text)) = members.get_mut("description") {
        let end = text.find(". ").map_or(text.len(), |at| at + 1);
        *text = text[..end].replace('\n', " ").trim_end_matches('.').to_owned();
    }
    for value in members.values_mut() {
        match value {
            Value::Object(_) => shorten(value),
            Value::Array(items) => items.iter_mut().for_each(shorten),
            _ => {}
        }
    }
}

/// The annotations of a tool. All effects are idempotent, except additions.
fn annotations(effects: &[Effect]) -> ToolAnnotations {
    let any = |effect| effects.contains(&effect);
    ToolAnnotations::new()
        .read_only(!any(Effect::Adds) && !any(Effect::Irrevocable))
        .destructive(any(Effect::Irrevocable))
        .idempotent(!any(Effect::Adds))
        // The answer of a reading tool comes from this server's own tables.
        .open_world(any(Effect::Irrevocable))
}
