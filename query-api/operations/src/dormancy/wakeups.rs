//! `GET /v1/dormancy/whale-wakeups`.

use cairn_domain::dormancy::WAKEUP_SATS;
use cairn_http::Formatted;
use cairn_tables::{stages::WAKEUPS, wakeups::WakeupRow};

use super::{by_input, wakeup::WhaleWakeup};
use crate::{
    definitions::WHALE_WAKEUPS,
    operation::prelude::*,
    page_request::{PageEnd, PageParams, PageRequest},
    parameters::{amount::BtcParam, limit::Limit, since::SinceParam},
    transfers::Owners,
    window::{BlockSpan, TX, Window},
};

/// Large holders that spend after years.
pub(crate) struct WhaleWakeups;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct WakeupsInput {
    /// First block: a height, date, time (RFC 3339), or days before the newest, as in `365d`. Default: 30d.
    #[schemars(example = "365d")]
    since: Option<SinceParam>,
    /// Only blocks before this one, in the same forms.
    until: Option<SinceParam>,
    /// Minimum sum of the cluster's coins of two years and more, in bitcoin, at least 1000.
    #[schemars(example = 5_000)]
    min_btc: Option<BtcParam>,
    /// Wake-ups per page; those of one transaction stay together.
    #[serde(default)]
    limit: Limit<50, 200>,
    #[serde(flatten)]
    page: PageParams,
}

/// Large holders that spend after years.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WakeupsOutput {
    #[serde(flatten)]
    blocks: BlockSpan,
    /// Newest block whose wake-ups are known: the tip, or slightly below it.
    followed_height: Height,
    min_sats: u64,
    min_btc: Btc,
    limit: u32,
    /// Wake-ups, the newest first.
    wakeups: Vec<WhaleWakeup>,
    #[serde(flatten)]
    end: PageEnd,
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
}

impl Operation for WhaleWakeups {
    const INFO: Info = Info {
        summary: "Clusters with 1 000 BTC or more of old coins that spent for the first time in two years",
        description: "One row for each first spend of a cluster that held 1 000 BTC or more of coins of two years and \
            more and had spent nothing for two years: its old coins, the sum spent, whether that is a test (less than \
            1 percent), the time of its last spend before, and its owner by today's labels. A wake-up does not prove a \
            sale: keys are also moved and inherited.",
        ..labelled_list("whale_wakeups", "/v1/dormancy/whale-wakeups")
    };
    type Input = WakeupsInput;
    type Output = Formatted<WakeupsOutput>;

    fn run(ctx: &Ctx<'_>, input: WakeupsInput) -> Result<Formatted<WakeupsOutput>, ApiError> {
        let view = ctx.view()?;
        let window = Window::of(view, input.since.or(Some(SinceParam::Days(30))), input.until)?;
        let sats = BtcParam::or_least(input.min_btc, WAKEUP_SATS)?;
        let request = PageRequest::new(ctx, window, input.limit.get(), input.page)?;
        let followed_height = view.late(&WAKEUPS)?;
        let (walk, fits) = (view.movements().wakeups_before(request.rest().end)?, |row: &WakeupRow| row.sats >= sats);
        let mut owners = Owners::default();
        let page = by_input::page(ctx, &request, (walk, fits), |rows| {
            let wakeups = rows.into_iter().map(|(key, row)| WhaleWakeup::of(view, &mut owners, key, row));
            Ok((wakeups.collect::<Result<_, _>>()?, TX))
        })?;
        request.answer(ctx, "wake-ups", page, |wakeups, end| WakeupsOutput {
            blocks: window.blocks(),
            followed_height,
            min_sats: sats,
            min_btc: Btc::of(sats),
            limit: request.limit,
            wakeups,
            end,
            definition: WHALE_WAKEUPS,
        })
    }
}
