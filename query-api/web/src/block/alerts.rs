//! Large transactions of a block, from the list of the last days.

use serde::Deserialize;

use crate::format::Plain;
use crate::visible::visible;

/// Blocks from the tip for which the list of the last seven days is read: about two weeks of blocks.
pub(super) const COVERED_BLOCKS: u64 = 2_016;

#[derive(Deserialize)]
pub(super) struct Alerts {
    since_height: Option<u64>,
    #[serde(default)]
    alerts: Vec<Alert>,
    next_cursor: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Alert {
    pub(super) txid: String,
    height: Option<u64>,
    pub(super) net_external_sats: i64,
    from_owner: Option<Owner>,
    to_owner: Option<Owner>,
}

#[derive(Deserialize)]
pub(super) struct Owner {
    entity: Option<String>,
    category: Option<String>,
    #[serde(default)]
    is_person: bool,
}

impl Alert {
    /// Who paid and who was paid, as far as labels name them.
    pub(super) fn owners(&self) -> [Option<&Owner>; 2] {
        [self.from_owner.as_ref(), self.to_owner.as_ref()]
    }
}

impl Owner {
    /// Name of the entity in paths, if it has a page.
    pub(super) fn entity(&self) -> Option<&str> {
        self.entity.as_deref().filter(|_| !self.is_person)
    }

    /// Its name, or its category.
    pub(super) fn shown(&self) -> String {
        visible(self.entity().or(self.category.as_deref()).unwrap_or("no name"))
    }

    pub(super) fn path(&self) -> Option<String> {
        self.entity().map(|entity| format!("/entity/{}", cairn_http::segment(entity)))
    }
}

impl Alerts {
    pub(super) fn of(&self, height: impl Plain<u64>) -> Vec<&Alert> {
        let height = height.plain();
        self.alerts.iter().filter(|alert| alert.height == Some(height)).take(25).collect()
    }

    /// True if the list that was read reaches back to the block, so that it has all of the block.
    pub(super) fn covers(&self, height: impl Plain<u64>) -> bool {
        let height = height.plain();
        let oldest = self.alerts.iter().filter_map(|alert| alert.height).min();
        let is_cut = self.next_cursor.is_some() && oldest.is_none_or(|oldest| oldest >= height);
        !is_cut && self.since_height.is_none_or(|since| since <= height)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_ends_before_the_block_is_not_complete() {
        let list = |next: &str, since: u64| -> Alerts {
            serde_json::from_str(&format!(
                r#"{{"since_height":{since},"next_cursor":{next},"alerts":[{{"txid":"a","height":9,
                "net_external_sats":1}},{{"txid":"b","height":7,"net_external_sats":2}}]}}"#
            ))
            .unwrap()
        };
        assert!(list("null", 5).covers(6) && !list("null", 5).covers(4));
        assert!(list("\"c\"", 5).covers(8) && !list("\"c\"", 5).covers(7));
        assert_eq!(list("null", 5).of(7).len(), 1);
    }
}
