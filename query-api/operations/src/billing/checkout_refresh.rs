//! `POST /v1/billing/checkout/{checkout_id}/refresh`.

use cairn_http::{Effect, Freshness, Method};

use super::followed::{CheckoutInput, CheckoutOutput, FollowedCheckout, SECRET, find};
use crate::operation::prelude::*;

/// Looks up the payment of a checkout now.
pub(crate) struct RefreshCheckout;

impl Operation for RefreshCheckout {
    const INFO: Info = Info {
        method: Method::Post,
        summary: "Look up the payment of a checkout now; the first answer after it has the key of the pass",
        description: "Asks the Lightning node, or the index for a payment on chain, and answers with the state of the \
            checkout as it is then. The request needs the secret of the checkout in the header `X-Checkout-Secret`, and no \
            body. The first answer after the payment has the key of the pass, and no later one does. Ask every few seconds \
            while somebody waits.",
        cost: Cost::Heavy,
        source: "service",
        freshness: &[Freshness::NOW, TIP],
        freshness_semantics: "time of the request; for payments on chain, time of the newest block in the index",
        errors: &[
            ErrorCode::CheckoutNotFound,
            ErrorCode::LightningUnavailable,
            ErrorCode::StateUnavailable,
            ErrorCode::IndexSyncing,
        ],
        private: true,
        secret_header: Some(SECRET),
        tool: Tool { effect: Effect::Adds, ..Tool::UNLISTED },
        ..Info::get("refresh_checkout", "/v1/billing/checkout/{checkout_id}/refresh", "billing")
    };
    type Input = CheckoutInput;
    type Output = CheckoutOutput;

    fn run(ctx: &Ctx<'_>, input: CheckoutInput) -> Result<CheckoutOutput, ApiError> {
        FollowedCheckout::look(ctx, find(ctx, input)?, true)?.answer(ctx)
    }
}
