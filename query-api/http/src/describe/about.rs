//! What a service says about itself, beside its operations.

use serde_json::Value;

/// What is said about a service, beside its operations.
#[derive(Clone, Debug)]
pub struct About {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a few words.
    pub summary: &'static str,
    /// What it is, in a sentence without its end.
    pub sentence: &'static str,
    /// What holds for all answers.
    pub conventions: &'static str,
    /// The same for language models.
    pub conventions_for_models: &'static str,
    /// What the areas are about, by name, in the order of names, as tools that read the description want it.
    pub areas: &'static [(&'static str, &'static str)],
    /// What the terms in answers mean.
    pub definitions: &'static [Definition],
    /// Where somebody goes on who asked for a path that is not there: names and paths.
    pub ways: &'static [(&'static str, &'static str)],
    /// An answer of the operation of a name, as an example.
    pub answer: fn(&str) -> Option<Value>,
    /// Examples of parameters that this server knows, by format.
    pub examples: Vec<(&'static str, Value)>,
}

impl About {
    /// An example of what a schema describes that this server knows; `None` if any will do.
    #[must_use]
    pub fn example(&self, schema: &Value) -> Option<Value> {
        let format = schema["format"].as_str()?;
        self.examples.iter().find(|(name, _)| *name == format).map(|(_, example)| example.clone())
    }
}

/// What a term in answers means.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// Stable: answers name it.
    pub id: &'static str,
    /// A few words.
    pub title: &'static str,
    /// Paragraphs.
    pub text: &'static [&'static str],
}
