//! The list of tools, made from the operations.

use std::sync::Arc;

use cairn_http::{Api, Described, Effect};
use rmcp::model::{Tool, ToolAnnotations};

use crate::{answer, endpoints, portable::object};

/// What a tool does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Does {
    /// The operation at this index.
    Operation(usize),
    /// `search_endpoints`.
    Search,
    /// `call_endpoint`.
    Call,
}

/// The tools, in listing order.
pub(crate) struct Tools {
    pub(crate) operations: Vec<Described>,
    listed: Vec<(Tool, Does)>,
}

impl Tools {
    pub(crate) fn of(api: &Api) -> Self {
        let operations = api.operations();
        let mut listed = Vec::new();
        for (at, op) in operations.iter().enumerate() {
            if let Some(name) = op.tool {
                listed.push((tool(name, op, api), Does::Operation(at)));
            }
        }
        let effects: Vec<Effect> = operations.iter().map(|op| op.effect).collect();
        listed.push((endpoints::search_tool(), Does::Search));
        listed.push((endpoints::call_tool(annotations(&effects)), Does::Call));
        Tools { operations, listed }
    }

    /// All tools.
    pub(crate) fn list(&self) -> Vec<Tool> {
        self.listed.iter().map(|(tool, _)| tool.clone()).collect()
    }

    /// The tool with this name.
    pub(crate) fn find(&self, name: &str) -> Option<(&Tool, Does)> {
        self.listed.iter().find(|(tool, _)| tool.name == name).map(|(tool, does)| (tool, *does))
    }
}

fn tool(name: &'static str, op: &Described, api: &Api) -> Tool {
    let (when, not_for) = op.guidance;
    let mut description = format!("{}. {} Use when {when}. Not for {not_for}.", op.summary, op.description);
    for group in &op.exactly_one {
        description.push_str(&format!(" Give exactly one of {}.", group.join(", ")));
    }
    for group in &op.at_most_one {
        description.push_str(&format!(" Give at most one of {}.", group.join(", ")));
    }
    Tool::new(name, description, object(op.input_schema.clone()))
        .with_title(op.summary)
        .with_raw_output_schema(Arc::new(answer::schema(api.answer_schema(op.name))))
        .with_annotations(annotations(&[op.effect]).annotated(op.summary))
}

trait Annotated {
    fn annotated(self, title: &str) -> Self;
}

impl Annotated for ToolAnnotations {
    fn annotated(mut self, title: &str) -> Self {
        self.title = Some(title.to_owned());
        self
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
