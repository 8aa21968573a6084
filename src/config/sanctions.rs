//! Which list of sanctions is the feed, and how many operators approve its rows.

use std::str::FromStr;

use cairn_operations::SanctionsConfig;
use cairn_tables::claims::ListKey;
use clap::{ArgAction, Args};

/// Lists of sanctions.
#[derive(Args, Clone, Debug)]
pub(crate) struct Sanctions {
    /// The list of sanctions that operators approve and the compliance tier serves, as SOURCE/LIST: its newest complete
    /// document is the current feed. `cairn sanctions import` brings ofac-sdn/sanctions; with --source NAME, it brings
    /// NAME/sanctions.
    #[arg(long, env = "CAIRN_SANCTIONS_FEED", value_name = "SOURCE/LIST", default_value = "ofac-sdn/sanctions")]
    pub(crate) sanctions_feed: FeedList,
    /// If true, a row counts as approved only if two operators with different names approved it.
    #[arg(long, env = "CAIRN_SANCTIONS_FOUR_EYES", value_name = "BOOL", default_value = "false", action = ArgAction::Set)]
    pub(crate) sanctions_four_eyes: bool,
}

/// A list of a source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FeedList(pub(crate) ListKey);

impl FromStr for FeedList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(source, list)| Some((source.parse().ok()?, list.parse().ok()?)));
        let (source, list) = parts.ok_or(
            "expected SOURCE/LIST, each 1 to 32 small letters, digits, dots, hyphens or underscores: for example ofac-sdn/sanctions",
        )?;
        Ok(FeedList(ListKey { source, list }))
    }
}

impl Sanctions {
    pub(crate) fn config(&self) -> SanctionsConfig {
        SanctionsConfig { list: Some(self.sanctions_feed.0.clone()), four_eyes: self.sanctions_four_eyes }
    }

    /// `source/name`, as approvals name the list.
    pub(crate) fn name(&self) -> String {
        let ListKey { source, list } = &self.sanctions_feed.0;
        format!("{source}/{list}")
    }
}
