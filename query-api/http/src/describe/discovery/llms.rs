//! `/llms.txt` and `/llms-full.txt`: the service for language models, as Markdown.

use std::fmt::Write;

use super::links::{MCP, links};
use crate::{
    config::HttpConfig,
    contract::{cost::Cost, offer::Tier, operation::Registered},
    describe::{about::About, openapi::example_of},
};

/// A link and a line for each operation, by tier.
pub(super) fn brief(operations: &[Registered], about: &About, config: &HttpConfig) -> String {
    let mut text = opening(about, config);
    for (tier, title) in [(Tier::Free, "Free operations"), (Tier::Premium, "Operations that are paid after the beta")] {
        let _ = writeln!(text, "\n## {title}\n");
        for op in operations.iter().filter(|op| op.offer.tier == tier) {
            let at = format!("{}/api/reference/#{}", config.base_url, op.info.name);
            let _ = writeln!(
                text,
                "- [{} {}]({at}): {}{}",
                op.info.method.name(),
                op.info.path,
                op.info.summary,
                price(op)
            );
        }
    }
    closing(&mut text, config);
    text
}

/// Every operation with its description, parameters and an example.
pub(super) fn full(operations: &[Registered], about: &About, config: &HttpConfig) -> String {
    let mut text = opening(about, config);
    let mut area = "";
    for op in operations {
        if op.info.area != area {
            area = op.info.area;
            let _ = writeln!(text, "\n## {area}");
        }
        let (method, path) = (op.info.method.name(), op.info.path);
        let _ = writeln!(text, "\n### {method} {path}\n\n{}{}. {}\n", op.info.summary, price(op), op.info.description);
        for field in &op.input.fields {
            let place = field.location.name();
            let needed = if field.required { ", required" } else { "" };
            let about = field.schema["description"].as_str().unwrap_or_default().replace('\n', " ");
            let _ = writeln!(text, "- `{}` ({place}{needed}): {about}", field.name);
        }
        let _ = writeln!(
            text,
            "\nExample: `{method} {}`. Cost: {} ({} units).",
            example_of(op, about),
            op.info.cost.name(),
            op.info.cost.units()
        );
        for code in op.info.errors {
            let _ = writeln!(text, "Error: {} `{}`.", code.status().as_u16(), code.name());
        }
    }
    closing(&mut text, config);
    text
}

fn price(op: &Registered) -> String {
    match (op.offer.price_sats, op.offer.tier) {
        (Some(sats), Tier::Premium) => format!(" (free during the beta, {sats} sats later)"),
        _ => String::new(),
    }
}

fn opening(about: &About, config: &HttpConfig) -> String {
    let limit = match config.rate_limit {
        0 => "This server has no rate limit.".to_owned(),
        limit => format!(
            "Rate limit per client: {limit} units per minute; {}. The response header `RateLimit` gives the remaining \
             units; 429 has `Retry-After`.",
            Cost::ALL.map(|cost| format!("a {} request costs {}", cost.name(), cost.units())).join(", ")
        ),
    };
    let mcp = if config.speaks_mcp() {
        format!(
            " The same operations are available as tools of the Model Context Protocol at {}{MCP}.",
            config.base_url
        )
    } else {
        String::new()
    };
    format!(
        "# {}\n\n> {}.\n\nBase URL: {}. No account is needed during the public beta.{mcp} {} {limit}\n",
        about.name, about.sentence, config.base_url, about.conventions_for_models
    )
}

fn closing(text: &mut String, config: &HttpConfig) {
    text.push_str("\n## More\n\n");
    for (path, _, what) in links(config) {
        let _ = writeln!(text, "- [{path}]({}{path}): {what}", config.base_url);
    }
}
