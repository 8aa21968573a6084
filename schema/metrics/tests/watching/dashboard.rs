//! The dashboard: a row of panels for each area of the list, a panel for each metric, and the answers to "is it well?".

use cairn_metrics::{
    AREAS, BEST_HEIGHT, DAMAGED_TABLES, INDEX_TIP_HEIGHT, Kind, MetricSpec, REQUEST_DURATION, REQUESTS, TROUBLE,
};
use serde_json::{Value, json};

use crate::{generated, named};

/// Panels in a row, and columns of the grid that each takes.
const PANELS: usize = 3;
const WIDTH: usize = 8;
const HEIGHT: usize = 7;
/// Labels of which only the ten highest values are shown: they have about a hundred.
const WIDE: [&str; 2] = ["operation", "table"];

/// The series of a metric on the servers that are chosen.
fn series(name: &str) -> String {
    format!("{name}{{instance=~\"$instance\"}}")
}

fn data_source() -> Value {
    json!({ "type": "prometheus", "uid": "${datasource}" })
}

/// Expressions with the text of their legend.
fn expressions(metric: &MetricSpec) -> Vec<(String, String)> {
    let (name, labels) = (metric.name, metric.labels);
    let is_wide = labels.iter().any(|label| WIDE.contains(label)) && labels.len() == 1;
    // Of several labels, the last one is what matters.
    let label = labels.last().copied();
    let by = if is_wide {
        label.into_iter().collect()
    } else {
        [Some("instance"), label].into_iter().flatten().collect::<Vec<_>>()
    };
    let legend = by.iter().map(|label| format!("{{{{{label}}}}}")).collect::<Vec<_>>().join(" ");
    let summed = |function: &str, range: &str| {
        let sum = format!("sum by ({}) ({function}({}[{range}]))", by.join(", "), series(name));
        if is_wide { format!("topk(10, {sum})") } else { sum }
    };
    match metric.kind {
        Kind::Gauge => vec![(series(name), legend)],
        Kind::Time => vec![(format!("(time() - {0}) * ({0} > bool 0)", series(name)), legend)],
        Kind::Counter => vec![(summed("rate", "5m"), legend)],
        Kind::Events => vec![(summed("increase", "1h"), legend)],
        Kind::Histogram => {
            let rate = format!("rate({}[5m])", series(&format!("{name}_bucket")));
            let all = |part: &str| format!("histogram_quantile({part}, sum by (le) ({rate}))");
            let slowest = format!("topk(5, histogram_quantile(0.99, sum by (le, operation) ({rate})))");
            vec![
                (all("0.5"), "half of all".to_owned()),
                (all("0.99"), "99 % of all".to_owned()),
                (slowest, "99 % of {{operation}}".to_owned()),
            ]
        }
    }
}

fn title(metric: &MetricSpec) -> String {
    let words = metric.name.trim_start_matches("cairn_").trim_end_matches("_total").replace('_', " ");
    let per = match metric.kind {
        Kind::Gauge | Kind::Histogram => "",
        Kind::Time => ": age",
        Kind::Counter => " a second",
        Kind::Events => " an hour",
    };
    let (first, rest) = words.split_at(1);
    format!("{}{rest}{per}", first.to_uppercase())
}

fn unit(metric: &MetricSpec) -> &'static str {
    match metric.kind {
        Kind::Time | Kind::Histogram => "s",
        Kind::Counter if metric.name.contains("_bytes") => "Bps",
        Kind::Gauge if metric.name.ends_with("_seconds") => "s",
        _ => "short",
    }
}

fn targets(expressions: Vec<(String, String)>) -> Vec<Value> {
    let letters = ["A", "B", "C"];
    let target = |((expr, legend), id): ((String, String), &str)| json!({ "refId": id, "datasource": data_source(), "expr": expr, "legendFormat": legend });
    expressions.into_iter().zip(letters).map(target).collect()
}

fn panel(metric: &MetricSpec) -> Value {
    json!({
        "type": "timeseries",
        "title": title(metric),
        "description": metric.help,
        "datasource": data_source(),
        "fieldConfig": { "defaults": { "unit": unit(metric) }, "overrides": [] },
        "options": { "legend": { "displayMode": "list", "placement": "bottom" }, "tooltip": { "mode": "multi" } },
        "targets": targets(expressions(metric)),
    })
}

/// A number that is green below a limit, and red from it on.
fn number(title: &str, description: &str, unit: &str, red_from: f64, expr: String) -> Value {
    let steps = json!([{ "color": "green", "value": null }, { "color": "red", "value": red_from }]);
    json!({
        "type": "stat",
        "title": title,
        "description": description,
        "datasource": data_source(),
        "fieldConfig": {
            "defaults": { "unit": unit, "thresholds": { "mode": "absolute", "steps": steps } },
            "overrides": [],
        },
        "options": { "reduceOptions": { "calcs": ["lastNotNull"] }, "colorMode": "background" },
        "targets": targets(vec![(expr, "{{instance}}".to_owned())]),
    })
}

fn overview() -> Vec<Value> {
    let answers = |filter: &str| format!("sum(rate({}{{instance=~\"$instance\"{filter}}}[5m]))", REQUESTS.name);
    let errors = answers(", status=~\"5..\"");
    let buckets = series(&format!("{}_bucket", REQUEST_DURATION.name));
    vec![
        number(
            "Parts that do not work",
            "The row of troubles names them, /api/health the reason.",
            "short",
            1.0,
            format!("sum by (instance) ({})", series(TROUBLE.name)),
        ),
        number(
            "Blocks behind",
            "Above `max_lag_blocks` (6), requests that need the tip get 503.",
            "short",
            7.0,
            format!("{} - {}", series(BEST_HEIGHT.name), series(INDEX_TIP_HEIGHT.name)),
        ),
        number(
            "Damaged tables",
            "`cairn verify` shows the command that mends them.",
            "short",
            1.0,
            series(DAMAGED_TABLES.name),
        ),
        number("Answers a second", "Of all chosen servers.", "reqps", 1e9, answers("")),
        number(
            "Errors of the server",
            "Share of answers with a status from 500 on.",
            "percentunit",
            0.05,
            format!("({errors} or vector(0)) / {}", answers("")),
        ),
        number(
            "99 % of the answers take",
            "Without sending the body.",
            "s",
            1.0,
            format!("histogram_quantile(0.99, sum by (le) (rate({buckets}[5m])))"),
        ),
    ]
}

fn variables() -> Value {
    let instance = format!("label_values({}, instance)", TROUBLE.name);
    json!([
        { "name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus" },
        {
            "name": "instance",
            "label": "Server",
            "type": "query",
            "datasource": data_source(),
            "query": { "query": instance, "refId": "instances" },
            "refresh": 2,
            "multi": true,
            "includeAll": true,
            "allValue": ".*",
            "current": { "text": "All", "value": "$__all" },
        },
    ])
}

fn dashboard() -> String {
    let rows = [("Overview", overview())].into_iter();
    let rows = rows.chain(AREAS.iter().map(|area| (area.title, area.metrics.iter().map(panel).collect())));
    let (mut panels, mut y) = (Vec::new(), 0);
    let mut add = |mut panel: Value, [height, width, x, y]: [usize; 4]| {
        panel["id"] = json!(panels.len() + 1);
        panel["gridPos"] = json!({ "h": height, "w": width, "x": x, "y": y });
        panels.push(panel);
    };
    for (title, of_row) in rows {
        add(json!({ "type": "row", "title": title, "collapsed": false, "panels": [] }), [1, 24, 0, y]);
        y += 1;
        let lines = of_row.len().div_ceil(PANELS);
        for (at, panel) in of_row.into_iter().enumerate() {
            add(panel, [HEIGHT, WIDTH, at % PANELS * WIDTH, y + at / PANELS * HEIGHT]);
        }
        y += lines * HEIGHT;
    }
    let whole = json!({
        "title": "Cairn",
        "uid": "cairn",
        "description": "Generated from the list of metrics (schema/metrics); do not edit.",
        "tags": ["cairn"],
        "schemaVersion": 39,
        "editable": true,
        "refresh": "1m",
        "time": { "from": "now-6h", "to": "now" },
        "templating": { "list": variables() },
        "panels": panels,
    });
    serde_json::to_string_pretty(&whole).unwrap() + "\n"
}

#[test]
fn the_dashboard_is_what_the_list_says() {
    let text = dashboard();
    for metric in cairn_metrics::all() {
        assert!(named(&text).contains(&metric.name), "{} has no panel", metric.name);
    }
    generated("deploy/grafana/cairn.json", &text);
}
