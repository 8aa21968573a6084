//! Texts that are never shown, and texts of a daemon that may be.

use std::fmt;

use cairn_model::one_line;

/// Most characters of a daemon's text in an error.
const MAX_WORDS: usize = 200;
/// From this length on, a run of letters and digits may be a macaroon, a rune, a password or a preimage.
const MIN_SECRET_RUN: usize = 32;

/// A macaroon, rune, password or key. `Debug` does not show it.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Keeps a text secret.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Secret(text.into())
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

/// Returns the beginning of a daemon's text as one line of at most 200 characters. The secrets given, and every run of
/// 32 or more characters of hex or base64, are replaced by `***`.
pub(crate) fn harmless(text: &str, secrets: &[Secret]) -> String {
    let mut text = text.to_owned();
    for secret in secrets.iter().filter(|secret| !secret.0.is_empty()) {
        text = text.replace(&secret.0, "***");
    }
    let is_of_run = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '-' | '_' | '=');
    let mut shown = String::with_capacity(text.len());
    let mut run = String::new();
    for c in text.chars().chain([' ']) {
        if is_of_run(c) {
            run.push(c);
            continue;
        }
        shown.push_str(if run.len() >= MIN_SECRET_RUN { "***" } else { &run });
        run.clear();
        shown.push(c);
    }
    one_line(&shown, MAX_WORDS)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn long_runs_and_given_secrets_are_replaced() {
        let preimage = "09e7f193a0100ea009e7f193a0100ea009e7f193a0100ea009e7f193a0100ea0";
        assert_eq!(
            harmless(&format!("no\nrune {preimage}: hunter2,ok"), &[Secret::new("hunter2")]),
            "no rune ***: ***,ok"
        );
        assert_eq!(harmless("unable to locate invoice", &[]), "unable to locate invoice");
        assert_eq!(harmless(&"word ".repeat(100), &[]).chars().count(), 200);
        assert_eq!(format!("{:?}", Secret::new("hunter2")), "Secret(***)");
    }

    proptest! {
        #[test]
        fn no_secret_passes(before in "\\PC{0,40}", after in "\\PC{0,40}", secret in "[0-9a-zA-Z+/=_-]{32,90}") {
            let shown = harmless(&format!("{before}{secret}{after}"), &[]);
            prop_assert!(!shown.contains(&secret) && shown.chars().count() <= MAX_WORDS + 1);
        }
    }
}
