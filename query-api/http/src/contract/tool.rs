//! How an operation is offered to agents, as a tool.

/// Largest answer of a tool in bytes of JSON: what an agent can still read, and small enough for a client that takes a
/// message of 1 MiB, since an answer stands in it twice, once of them escaped.
pub const MAX_TOOL_ANSWER: usize = 256 << 10;

/// What a call changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Nothing: it reads.
    Reads,
    /// It adds something to the state of the service, which harms nothing that was there.
    Adds,
    /// It reaches the network or an account, and cannot be taken back.
    Irrevocable,
}

/// An operation as a tool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tool {
    /// Whether it is in the list of tools; what is not can be called through `call_endpoint`.
    pub listed: bool,
    /// Its name, if that is not the operation's.
    pub name: Option<&'static str>,
    /// Questions that it is for: what follows "Use when".
    pub when: &'static str,
    /// Questions that something else is for: what follows "Not for".
    pub not_for: &'static str,
    /// What a call changes.
    pub effect: Effect,
}

impl Tool {
    /// Not in the list of tools.
    pub const UNLISTED: Tool = Tool { listed: false, name: None, when: "", not_for: "", effect: Effect::Reads };

    /// A tool that reads.
    pub const fn reads(when: &'static str, not_for: &'static str) -> Self {
        Tool { listed: true, when, not_for, ..Tool::UNLISTED }
    }

    /// The same under another name than the operation's.
    pub const fn named(self, name: &'static str) -> Self {
        Tool { name: Some(name), ..self }
    }

    /// The same, but a call changes something.
    pub const fn with_effect(self, effect: Effect) -> Self {
        Tool { effect, ..self }
    }
}
