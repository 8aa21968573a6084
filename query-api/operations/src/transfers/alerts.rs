//! `GET /v1/chain/whale-alerts`.

use cairn_http::{ApiError, Formatted, Info, Tool};

use super::list::{ListInput, ListOutput, list};
use crate::{
    context::{Ctx, labelled_list},
    operation::Operation,
};

/// Transactions that move much.
pub(crate) struct WhaleAlerts;

impl Operation for WhaleAlerts {
    const INFO: Info = Info {
        summary: "Transactions that pay 100 BTC or more to others, the newest first",
        description: "Confirmed transactions that pay 100 BTC or more to scripts outside the clusters that they spend from, of the \
            last day, week or month before the newest block: what they pay to others, the same without what may be change, the \
            largest scripts on both sides, and whose the sides are as far as the loaded labels tell. Coinbases and CoinJoins \
            are left out. That coins moved does not say that they were sold.",
        tool: Tool::reads(
            "asked which large transactions were confirmed lately, also by direction, as to or from exchanges",
            "unconfirmed ones (pulse_whales), or old coins (chain_awakenings)",
        ),
        ..labelled_list("whale_alerts", "/v1/chain/whale-alerts")
    };
    type Input = ListInput;
    type Output = Formatted<ListOutput>;

    fn run(ctx: &Ctx<'_>, input: ListInput) -> Result<Formatted<ListOutput>, ApiError> {
        list(ctx, input, false)
    }
}
