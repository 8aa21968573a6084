//! `GET /v1/billing/checkout/{checkout_id}`.

use cairn_http::Freshness;

use super::followed::{CheckoutInput, CheckoutOutput, FollowedCheckout, SECRET, find};
use crate::operation::prelude::*;

pub(crate) struct GetCheckout;

impl Operation for GetCheckout {
    const INFO: Info = Info {
        summary: "State of a checkout; the first answer after the payment has the key of the pass",
        description: "Says whether a checkout is paid: what has arrived, what is missing, and when the pass ends. The \
            request needs the secret of the checkout in the header `X-Checkout-Secret`. The first answer after the payment \
            has the key of the pass, and no later one does. A payment on chain is looked up in the index. A Lightning \
            payment is noticed within a minute; POST to the path with `/refresh` asks the Lightning node at once.",
        source: "service",
        freshness: &[Freshness::NOW, TIP],
        has_ages: true,
        freshness_semantics: "time of the request; for payments on chain, time of the newest block in the index",
        errors: &[ErrorCode::CheckoutNotFound, ErrorCode::StateUnavailable],
        private: true,
        secret_header: Some(SECRET),
        tool: Tool::UNLISTED,
        ..Info::get("checkout", "/v1/billing/checkout/{checkout_id}", "billing")
    };
    type Input = CheckoutInput;
    type Output = CheckoutOutput;

    fn run(ctx: &Ctx<'_>, input: CheckoutInput) -> Result<CheckoutOutput, ApiError> {
        FollowedCheckout::look(ctx, find(ctx, input)?, false)?.answer(ctx)
    }
}
