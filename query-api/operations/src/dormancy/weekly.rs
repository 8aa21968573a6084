//! `GET /v1/dormancy/weekly.json`.

use cairn_http::{BadText, TextFormat};

use super::report::{Report, parse_week};
use crate::operation::prelude::*;
use crate::parsed::{parsed, schema};

pub(crate) struct WeeklyReport;

pub(crate) const WEEK: TextFormat =
    TextFormat::trimmed("iso-week", |_, text, _| parse(text).map(drop).map_err(BadText::new));

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WeekParam(pub(super) u32);

fn parse(text: &str) -> Result<WeekParam, &'static str> {
    parse_week(text).map(WeekParam).ok_or("expected a week as in ISO 8601, for example 2025-W52")
}

parsed!(WeekParam, parse);

schema!(inline WeekParam, "Week", {"type": "string", "format": WEEK.name, "minLength": 8, "maxLength": 8});

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "WeeklyInput")]
pub(crate) struct WeeklyInput {
    /// Week in ISO 8601 format, in UTC. Default: the last full week before that of the newest block.
    pub(super) week: Option<WeekParam>,
}

impl Operation for WeeklyReport {
    const INFO: Info = Info {
        summary: "Weekly report on old coins: sums by age and the largest movements, compared with earlier weeks",
        description: "Coins of a year and more that were spent in an ISO week (UTC): value, number and coin-days \
            destroyed, in total and by age, compared with the week before and with the average of the 52 weeks before \
            this one; and the ten largest movements of coins of five years and more. /v1/dormancy/weekly.md has the \
            same report as text.",
        freshness: &[TIP, CLAIMS, LABELS],
        tool: Tool::UNLISTED,
        ..index_get("dormancy_weekly", "/v1/dormancy/weekly.json", "chain")
    };
    type Input = WeeklyInput;
    type Output = Report;

    fn run(ctx: &Ctx<'_>, input: WeeklyInput) -> Result<Report, ApiError> {
        Report::of(ctx, input.week.map(|week| week.0))
    }
}
