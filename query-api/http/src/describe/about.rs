//! A service's description of itself, besides its operations.

use serde_json::{Value, json};

/// A service's description of itself, besides its operations.
#[derive(Clone, Debug)]
pub struct About {
    /// Its name.
    pub name: &'static str,
    /// A few words about it.
    pub summary: &'static str,
    /// One sentence about it, without the full stop.
    pub sentence: &'static str,
    /// Conventions of all answers.
    pub conventions: &'static str,
    /// Conventions of all answers, for language models.
    pub conventions_for_models: &'static str,
    /// Descriptions of the areas, sorted by name.
    pub areas: &'static [(&'static str, &'static str)],
    /// Definitions of the terms in answers.
    pub definitions: &'static [Definition],
    /// Links in the answer to unknown paths: names and paths.
    pub ways: &'static [(&'static str, &'static str)],
    /// Example answer of the named operation.
    pub answer: fn(&str) -> Option<Value>,
    /// Example parameters of this server, by format.
    pub examples: Vec<(&'static str, Value)>,
}

impl About {
    /// An example value of this server for a schema; `None` if any value works.
    #[must_use]
    pub fn example(&self, schema: &Value) -> Option<Value> {
        if schema["items"].is_object() {
            return self.example(&schema["items"]).map(|one| json!([one]));
        }
        let Some(format) = schema["format"].as_str() else {
            return schema["anyOf"].as_array()?.iter().find_map(|one| self.example(one));
        };
        self.examples.iter().find(|(name, _)| *name == format).map(|(_, example)| example.clone())
    }
}

/// Definition of a term in answers.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// Stable id, used in answers.
    pub id: &'static str,
    /// Title.
    pub title: &'static str,
    /// Paragraphs.
    pub text: &'static [&'static str],
}
