//! `GET /v1/chain/whale-alerts`.

use cairn_http::Formatted;

use super::list::{ListInput, ListOutput, list};
use crate::operation::prelude::*;

/// Transactions that move much.
pub(crate) struct WhaleAlerts;

impl Operation for WhaleAlerts {
    const INFO: Info = Info {
        summary: "Transactions that pay 100 BTC or more to others, the newest first",
        description: "Confirmed transactions that pay 100 BTC or more to scripts outside the clusters from which they \
            spend, in the last day, week or month before the newest block: the sum paid to others, the same without \
            possible change, the largest scripts on both sides, and the owners of the sides, as far as labels name \
            them. Coinbases and CoinJoins are left out. A transfer does not prove a sale.",
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
