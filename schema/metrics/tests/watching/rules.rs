//! The alerting rules: metrics that exist, a test of each, and an alert for each condition of the operators' guide.

use cairn_model::Part;

use crate::{named, read};

/// An alert of `rules.yml`.
#[derive(Default, Debug)]
pub(crate) struct Rule {
    pub(crate) name: String,
    pub(crate) expression: String,
    /// Time after which it fires; empty: at once.
    pub(crate) lasts: String,
    pub(crate) severity: String,
    pub(crate) summary: String,
    pub(crate) description: String,
    pub(crate) guide: String,
}

/// A value of YAML without its quotes.
fn plain(value: &str) -> String {
    value
        .strip_prefix('\'')
        .and_then(|text| text.strip_suffix('\''))
        .map_or(value.to_owned(), |text| text.replace("''", "'"))
}

/// Reads the rules in the layout that the file has: a key and its value on a line, or a block of further lines.
pub(crate) fn rules() -> Vec<Rule> {
    let text = read("deploy/prometheus/rules.yml");
    let mut rules: Vec<Rule> = Vec::new();
    let mut is_block = false;
    for line in text.lines() {
        let words = line.trim();
        if let Some(name) = words.strip_prefix("- alert: ") {
            rules.push(Rule { name: name.to_owned(), ..Rule::default() });
            continue;
        }
        let Some(rule) = rules.last_mut() else { continue };
        if is_block && line.starts_with("          ") {
            rule.expression += &format!("{words}\n");
            continue;
        }
        is_block = false;
        let Some((key, value)) = words.split_once(": ") else { continue };
        match key {
            "expr" if value == "|" => is_block = true,
            "expr" => rule.expression = plain(value),
            "for" => rule.lasts = plain(value),
            "labels" => rule.severity = value.trim_start_matches("{severity: ").trim_end_matches('}').to_owned(),
            "summary" => rule.summary = plain(value),
            "description" => rule.description = plain(value),
            "guide" => rule.guide = plain(value),
            "- name" => {}
            _ => panic!("{}: {line}", rule.name),
        }
    }
    assert!(rules.len() >= 30 && rules.len() == text.matches("alert:").count(), "{} rules", rules.len());
    rules
}

/// Anchors of the headings of the operators' guide.
fn anchors() -> Vec<String> {
    let guide = read("docs/operators.md");
    let headings = guide.lines().filter_map(|line| line.strip_prefix('#')?.trim_start_matches('#').strip_prefix(' '));
    let anchor = |heading: &str| {
        let kept = heading.to_lowercase();
        kept.chars().filter(|c| c.is_alphanumeric() || " -".contains(*c)).collect::<String>().replace(' ', "-")
    };
    headings.map(anchor).collect()
}

#[test]
fn rules_name_metrics_that_exist() {
    for file in ["rules.yml", "rules_test.yml", "rules_days_test.yml"] {
        let text = read(&format!("deploy/prometheus/{file}"));
        for name in named(&text) {
            assert!(cairn_metrics::all().any(|metric| metric.name == name), "{file}: {name} is not a metric");
        }
    }
    // A label in a selector is one that the metric has.
    for rule in rules() {
        for (at, _) in rule.expression.match_indices("cairn_") {
            let rest = &rule.expression[at..];
            let (Some(open), Some(close)) = (rest.find('{'), rest.find('}')) else { continue };
            let name = &rest[..open];
            let Some(metric) = cairn_metrics::all().find(|metric| metric.name == name) else { continue };
            for pair in rest[open + 1..close].split(',') {
                let label = pair.split(['=', '!']).next().unwrap().trim();
                assert!(metric.labels.contains(&label), "{}: {name} has no label {label}", rule.name);
            }
        }
    }
}

#[test]
fn each_alert_says_what_is_wrong_and_what_to_do() {
    let anchors = anchors();
    for rule in rules() {
        assert!(["critical", "warning"].contains(&rule.severity.as_str()), "{rule:?}");
        assert!(!rule.expression.is_empty() && !rule.summary.is_empty() && rule.description.ends_with('.'), "{rule:?}");
        let anchor = rule.guide.strip_prefix("docs/operators.md#").unwrap_or_else(|| panic!("{rule:?}"));
        assert!(anchors.iter().any(|known| known == anchor), "{}: no section {anchor}", rule.name);
    }
}

/// Each alert fires in one of the tests, and is silent in another one. `make interop` runs them.
#[test]
fn each_alert_has_a_test() {
    let tests = read("deploy/prometheus/rules_test.yml") + &read("deploy/prometheus/rules_days_test.yml");
    for rule in rules() {
        let of_it = format!("alertname=\"{}\"", rule.name);
        let lines: Vec<&str> = tests.lines().filter(|line| line.contains(&of_it)).collect();
        let is_silent = |line: &&&str| line.ends_with("exp_samples: []}");
        let silent = lines.iter().filter(is_silent).count();
        assert!(silent > 0 && silent < lines.len(), "{}: {lines:?}", rule.name);
    }
}

#[test]
fn each_condition_of_the_guide_has_an_alert() {
    let rules = rules();
    let uses = |text: &str| rules.iter().any(|rule| rule.expression.contains(text));
    for part in Part::ALL {
        assert!(uses(&format!("cairn_trouble{{part=\"{}\"}} == 1", part.name())), "no alert for {}", part.name());
    }
    let guide = read("docs/operators.md");
    assert!(guide.contains(&format!(", {} alerts with tests", rules.len())), "the guide has another number of alerts");
    let (mut conditions, mut is_table) = (0, false);
    for line in guide.lines() {
        if line == "| metric | alert |" || !line.starts_with('|') {
            is_table = line.starts_with('|');
            continue;
        }
        let Some((metric, condition)) = line.trim_matches(['|', ' ']).rsplit_once(" | ").filter(|_| is_table) else {
            continue;
        };
        let is_condition = line.trim_end_matches(['|', ' ']).ends_with(condition.trim()) && !line.ends_with("| |");
        if !is_condition {
            continue;
        }
        conditions += 1;
        let name = named(metric)[0];
        let selector = metric.split('`').nth(1).unwrap();
        assert!(uses(name), "no alert for {line}");
        if let Some((_, label)) = selector.split_once('{').filter(|(_, label)| label.contains('=')) {
            assert!(uses(&format!("{name}{{{label}")), "no alert for {line}");
        }
    }
    assert!(conditions >= 12, "{conditions} conditions");
}
