//! The pages of an address as tabs.

use askama::{Template, filters::HtmlSafe};

use crate::links::address_path;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tab {
    Overview,
    Transactions,
    Pnl,
    Flow,
    Cluster,
    Risk,
    Reports,
}

impl Tab {
    pub(crate) const ALL: [Tab; 7] =
        [Tab::Overview, Tab::Transactions, Tab::Pnl, Tab::Flow, Tab::Cluster, Tab::Risk, Tab::Reports];

    /// The end of its path, after the address.
    pub(crate) const fn suffix(self) -> &'static str {
        match self {
            Tab::Overview => "",
            Tab::Transactions => "/transactions",
            Tab::Pnl => "/pnl",
            Tab::Flow => "/flow",
            Tab::Cluster => "/cluster",
            Tab::Risk => "/risk",
            Tab::Reports => "/reports",
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Tab::Overview => "Overview",
            Tab::Transactions => "Transactions",
            Tab::Pnl => "Profit and loss",
            Tab::Flow => "Flow of money",
            Tab::Cluster => "Cluster",
            Tab::Risk => "Risk evidence",
            Tab::Reports => "Reports",
        }
    }
}

/// Writes the tabs of an address.
#[derive(Template)]
#[template(path = "tabs.html")]
pub(crate) struct Tabs {
    path: String,
    current: Tab,
}

impl HtmlSafe for Tabs {}

pub(crate) fn tabs(address: &str, current: Tab) -> Tabs {
    Tabs { path: address_path(address), current }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_current_tab_is_marked() {
        let html = tabs("a/b", Tab::Pnl).to_string();
        assert!(html.contains("<a href=\"/address/a%2Fb/pnl\" aria-current=\"page\">"), "{html}");
        assert_eq!(html.matches("aria-current").count(), 1);
    }
}
