//! The page of metrics.

use std::fmt::Write;

use cairn_metrics::AREAS;

use crate::{generated, named, rules::rules};

const HEAD: &str = "# Metrics

Generated from the list in `schema/metrics` and from `deploy/prometheus/rules.yml`; do not edit. A test compares all three.
To regenerate this page and the dashboard: `CAIRN_UPDATE_DOCS=1 cargo test --release --workspace --test watching`.

`/metrics` of the [admin listener](operators.md#admin-listener) has these metrics. [Watching](operators.md#watching) says how
to use them. A number that is −1 is unknown, because the database cannot be read.
";

fn page() -> String {
    let rules = rules();
    let mut page = HEAD.to_owned();
    for area in AREAS {
        write!(page, "\n## {}\n\nServers: {}.\n\n", area.title, area.exposed_by).unwrap();
        page.push_str("| metric | type | labels | meaning | alerts |\n|---|---|---|---|---|\n");
        for metric in area.metrics {
            let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
            let uses = rules.iter().filter(|rule| named(&rule.expression).contains(&metric.name));
            let alerts: Vec<String> = uses.map(|rule| format!("`{}`", rule.name)).collect();
            let (name, kind, help) = (metric.name, metric.kind.name(), metric.help);
            writeln!(page, "| `{name}` | {kind} | {} | {help} | {} |", labels.join(", "), alerts.join(", ")).unwrap();
        }
    }
    page.push_str("\n## Alerts\n\n| alert | severity | for | it fires if | what to do |\n|---|---|---|---|---|\n");
    for rule in rules {
        let expression = rule.expression.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
        let guide = rule.guide.replace("docs/", "");
        let duration = if rule.lasts.is_empty() { "at once" } else { &rule.lasts };
        writeln!(
            page,
            "| `{}` | {} | {duration} | `{expression}` | {} [More](operators.md{}) |",
            rule.name,
            rule.severity,
            rule.description,
            guide.trim_start_matches("operators.md")
        )
        .unwrap();
    }
    page
}

#[test]
fn the_page_is_what_the_list_says() {
    generated("docs/metrics.md", &page());
}
