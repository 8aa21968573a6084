//! An operation as a tool for agents.

/// Maximum size of a tool's answer in bytes of JSON: small enough for an agent, and for a client with a message limit
/// of 1 MiB, because older clients get it as a text in which each quote is escaped.
pub const MAX_TOOL_ANSWER: usize = 256 << 10;

/// Effect of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// It only reads.
    Reads,
    /// It adds to the state of the service and changes nothing else.
    Adds,
    /// It affects the network or an account and cannot be undone.
    Irrevocable,
}

/// An operation as a tool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tool {
    /// True if it is in the list of tools. Others can be called with `call_endpoint`.
    pub listed: bool,
    /// Its name, if it differs from the operation's.
    pub name: Option<&'static str>,
    /// The text after "Use when".
    pub when: &'static str,
    /// The text after "Not for".
    pub not_for: &'static str,
    /// Effect of a call.
    pub effect: Effect,
    /// The fields of its answer that the tool gives; empty: all. Over HTTP the answer is whole.
    pub fields: &'static [&'static str],
}

impl Tool {
    /// Not in the list of tools.
    pub const UNLISTED: Tool =
        Tool { listed: false, name: None, when: "", not_for: "", effect: Effect::Reads, fields: &[] };

    /// A tool that reads.
    pub const fn reads(when: &'static str, not_for: &'static str) -> Self {
        Tool { listed: true, when, not_for, ..Tool::UNLISTED }
    }

    /// Sets a name that differs from the operation's.
    pub const fn named(self, name: &'static str) -> Self {
        Tool { name: Some(name), ..self }
    }

    /// Limits the answer to these fields.
    pub const fn only(self, fields: &'static [&'static str]) -> Self {
        Tool { fields, ..self }
    }

    /// Sets the effect of a call.
    pub const fn with_effect(self, effect: Effect) -> Self {
        Tool { effect, ..self }
    }
}
