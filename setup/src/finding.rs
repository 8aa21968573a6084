//! A fault of a set-up and the line that mends it.

use std::fmt;

use serde::Serialize;

/// How much a finding matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Cairn does not work until somebody mends it.
    Fault,
    /// Cairn works, but slower, later or less protected than it could.
    Advice,
    /// Nothing to mend; a state that passes or that is good to know.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Fault => "fault",
            Severity::Advice => "advice",
            Severity::Note => "note",
        })
    }
}

/// One finding. Its texts never contain a password or a cookie.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    /// A fixed name of the kind, for scripts.
    pub kind: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// The fault, as one sentence without a full stop.
    pub fault: String,
    /// The way to mend it, as one sentence without a full stop; a colon at its end leads to `lines`. Empty if there is
    /// nothing to do.
    pub remedy: String,
    /// Lines to write as they are, or commands to run.
    pub lines: Vec<String>,
}

impl Finding {
    /// Creates a finding without lines.
    pub fn new(severity: Severity, kind: &'static str, fault: impl Into<String>, remedy: impl Into<String>) -> Self {
        Finding { kind, severity, fault: fault.into(), remedy: remedy.into(), lines: Vec::new() }
    }

    /// Adds the lines that the remedy leads to.
    #[must_use]
    pub fn with_lines(self, lines: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Finding { lines: lines.into_iter().map(Into::into).collect(), ..self }
    }
}

/// Several lines: the fault, the remedy, and its lines further in.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<8}{}", self.severity.to_string(), self.fault)?;
        if !self.remedy.is_empty() {
            writeln!(f, "        -> {}", self.remedy)?;
        }
        self.lines.iter().try_for_each(|line| writeln!(f, "           {line}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_further_in() {
        let finding =
            Finding::new(Severity::Advice, "rest_off", "the node does not offer REST", "add to bitcoin.conf:");
        assert_eq!(
            finding.with_lines(["rest=1"]).to_string(),
            "advice  the node does not offer REST\n        -> add to bitcoin.conf:\n           rest=1\n"
        );
        assert_eq!(Finding::new(Severity::Note, "syncing", "x", "").to_string(), "note    x\n");
    }
}
