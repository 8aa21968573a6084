//! `GET /v1/chain/whale-alerts/labeled`.

use cairn_http::Formatted;

use super::list::{ListInput, ListOutput, list};
use crate::operation::prelude::*;

/// Large transactions with a side that labels identify.
pub(crate) struct LabeledAlerts;

impl Operation for LabeledAlerts {
    const INFO: Info = Info {
        summary: "Transactions that pay 100 BTC or more to others and have a labelled side",
        description: "The whale alerts with a label for at least half of the value of one side: a label of the scripts \
            themselves (level 40 or more), or of their clusters. `flow_direction` shows between which owners the coins \
            moved, by today's labels: an import of labels can change it for old transactions.",
        ..labelled_list("whale_alerts_labeled", "/v1/chain/whale-alerts/labeled")
    };
    type Input = ListInput;
    type Output = Formatted<ListOutput>;

    fn run(ctx: &Ctx<'_>, input: ListInput) -> Result<Formatted<ListOutput>, ApiError> {
        list(ctx, input, true)
    }
}
