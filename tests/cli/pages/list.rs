//! Reads `docs/pages.md`.

use std::collections::{BTreeMap, BTreeSet};

/// A page of the list.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) title: String,
    /// Paths on the demo, or `POST`, a path and a form.
    pub(super) examples: Vec<String>,
    /// The items that it must show.
    pub(super) items: BTreeSet<String>,
}

/// Texts between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// An example with the addresses of the demo's actors.
fn filled(example: &str, names: &BTreeMap<&str, String>) -> String {
    names.iter().fold(example.to_owned(), |text, (name, address)| text.replace(&format!("{{{name}}}"), address))
}

/// All pages of the list. Rows of a table are items; a third cell is a further example.
pub(super) fn pages(text: &str, names: &BTreeMap<&str, String>) -> Vec<Page> {
    let mut pages: Vec<Page> = Vec::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            pages.push(Page { title: heading.to_owned(), examples: Vec::new(), items: BTreeSet::new() });
            continue;
        }
        let Some(page) = pages.last_mut() else { continue };
        if let Some(examples) = line.strip_prefix("Examples: ") {
            page.examples.extend(quoted(examples).map(|example| filled(example, names)));
        } else if let Some(row) = line.strip_prefix("| `") {
            let cells: Vec<&str> = row.split(" | ").collect();
            page.items.insert(cells[0].trim_end_matches(['`', ' ']).to_owned());
            page.examples.extend(cells.iter().skip(2).flat_map(|cell| quoted(cell)).map(|cell| filled(cell, names)));
        }
    }
    for page in &mut pages {
        page.examples.sort();
        page.examples.dedup();
        assert!(!page.examples.is_empty() && !page.items.is_empty(), "{page:?}");
        assert!(page.examples.iter().all(|example| !example.contains('{')), "{page:?}");
    }
    pages
}
