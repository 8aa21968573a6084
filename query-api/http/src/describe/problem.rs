//! The members that only some errors have, as the OpenAPI document describes them.

use serde_json::{Map, Value, json};

fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

fn count(description: &str) -> Value {
    json!({"type": "integer", "minimum": 0, "description": description})
}

/// Adds them to the schema of errors, and the schema of errors that ask for payment.
pub(super) fn describe_members(schemas: &mut Map<String, Value>) {
    if let Some(members) = schemas.get_mut("Problem").and_then(|problem| problem["properties"].as_object_mut()) {
        members.extend(extras().map(|(name, schema)| (name.to_owned(), schema)));
    }
    schemas.insert("PaymentRequired".to_owned(), payment_required());
}

/// Each member with its schema.
fn extras() -> [(&'static str, Value); 11] {
    let route = json!({"type": "object", "required": ["method", "path", "summary"], "properties": {
        "method": {"type": "string"}, "path": {"type": "string"}, "summary": {"type": "string"},
    }});
    let limit = json!({"type": "object", "required": ["name", "set_by", "value"],
        "properties": {
            "name": text("Parameter that sets the limit."),
            "set_by": {"type": "string", "enum": ["request", "node"],
                "description": "Source of the limit: the request or the node."},
            "value": {"type": ["integer", "null"], "minimum": 0,
                "description": "The limit, in the unit of the parameter; null if the node set it."},
        },
        "description": "The exceeded limit; only with `max_fee_exceeded` and `max_burn_exceeded`."});
    let confirmed = json!({"type": "object", "required": ["height", "block_index"],
        "properties": {
            "height": count("Height of the block."),
            "block_index": count("Position of the transaction in the block; the coinbase is 0."),
        },
        "description": "Block that contains the transaction, if it is not in the mempool for that reason."});
    let departed = json!({"type": "object", "required": ["reason", "mempool_first_seen", "left_at"],
        "properties": {
            "reason": {"type": "string",
                "enum": ["confirmed", "replaced", "evicted", "conflict", "expired", "unknown"],
                "description": "Reason for which the transaction left the mempool."},
            "replaced_by": {"type": ["string", "null"],
                "description": "Id of the transaction that replaced this one or one of its ancestors."},
            "height": {"type": ["integer", "null"], "minimum": 0,
                "description": "Height of the block that contained the transaction."},
            "mempool_first_seen": text("Time at which the transaction was first seen."),
            "left_at": text("Time at which the transaction left the mempool."),
        },
        "description": "How the transaction left the mempool; only with `tx_not_found`, if it left it lately."});
    [
        (
            "did_you_mean",
            json!({"type": "array", "items": {"anyOf": [route, {"type": "string"}]},
                "description": "Nearest routes for `route_not_found`, similar names for other errors."}),
        ),
        (
            "links",
            json!({"type": "object", "additionalProperties": {"type": "string"},
                "description": "URLs of descriptions of the service by name; only with `route_not_found`."}),
        ),
        (
            "reject_reason",
            text(
                "The node's reason for rejecting a transaction, at most 300 characters; only if the node rejected it.",
            ),
        ),
        ("limit", limit),
        ("offset", count("Offset of the first byte of a proof that is wrong; only with `invalid_proof`.")),
        (
            "narrow_with",
            json!({"type": "array", "items": {"type": "string"},
                "description": "Parameters that make the answer smaller; only with `query_too_expensive`."}),
        ),
        ("transaction_count", count("Number of transactions of the addresses; only where there are too many.")),
        ("free_max_transactions", count("Number of transactions up to which no session or key is needed.")),
        ("hard_max_transactions", count("Maximum number of transactions of the addresses.")),
        ("confirmed", confirmed),
        ("departed", departed),
    ]
}

/// The schema of the bridge pass that gives access.
fn bridge() -> Value {
    json!({
        "type": "object",
        "description": "The bridge pass that gives access.",
        "required": ["scheme", "plan_id", "header", "currency", "checkout_url", "requested_capability", "pricing_status"],
        "properties": {
            "scheme": {"const": "api_key_bridge"},
            "plan_id": text("Plan of the pass."),
            "header": text("Header for the key of the pass."),
            "currency": text("Currency of the price of the pass."),
            "checkout_url": text("URL at which the pass is sold."),
            "catalog_url": text("URL of the catalog of plans and prices."),
            "description": text("The pass in one sentence."),
            "bridge_access": {"type": "boolean"},
            "requested_capability": text("The requested capability."),
            "future_native_l402_price_sats": {"type": ["integer", "null"],
                "description": "Price of a call after the beta; null with `future_native_reason`."},
            "future_native_price_unit": {"type": ["string", "null"],
                "description": "Unit of that price; null with `future_native_reason`."},
            "future_native_reason": text("Why the call has no price."),
            "pricing_status": text("Whether the pass is sold now, as a word."),
            "amount_sats": count("Price of the pass; absent while it is not sold."),
            "payment_methods": {"type": "array", "items": {"type": "string"},
                "description": "How the pass can be paid; absent while it is not sold."},
        },
    })
}

/// The schema of errors that ask for a wallet session.
fn payment_required() -> Value {
    let needed = json!({
        "type": "object",
        "required": ["requested_capability", "payment_required", "how_to_access", "checkout_page_url", "getting_started_url"],
        "properties": {
            "requested_capability": text("The requested capability."),
            "payment_required": bridge(),
            "how_to_access": text("Explanation of how to get access."),
            "checkout_page_url": text("Page of the checkout."),
            "getting_started_url": text("Page for newcomers."),
        },
    });
    json!({"allOf": [{"$ref": "#/components/schemas/Problem"}, needed]})
}

/// The schema of errors that ask to pay for a call.
pub(super) fn call_payment_required() -> Value {
    let needed = json!({
        "type": "object",
        "required": ["requested_capability", "how_to_access", "checkout_page_url", "getting_started_url"],
        "properties": {
            "requested_capability": text("The capability that is sold."),
            "payment_options": {
                "type": "object",
                "description": "Ways to open the call; only if it is sold one by one.",
                "required": ["bridge"],
                "properties": {"bridge": bridge(), "l402": l402(), "x402": x402()},
            },
            "payment_required": bridge(),
            "how_to_access": text("Explanation of how to pay and of how to get access."),
            "checkout_page_url": text("Page of the checkout."),
            "getting_started_url": text("Page for newcomers."),
        },
        "oneOf": [{"required": ["payment_options"]}, {"required": ["payment_required"]}],
    });
    json!({"allOf": [{"$ref": "#/components/schemas/Problem"}, needed]})
}

/// The schema of the offer of a call by x402.
fn x402() -> Value {
    json!({
        "type": "object",
        "description": "The offer of this call by x402 version 2. Without a way to pay, `accepts` is empty.",
        "required": ["error", "protocol", "version", "offer", "accepts"],
        "properties": {
            "error": text("`payment_required`, or why the payment was not accepted or none is possible, as a code."),
            "error_detail": text("Explanation; only without a way to pay."),
            "protocol": text("`x402`."),
            "version": count("Version of the protocol."),
            "offer": {
                "type": "object",
                "description": "The operation that is sold.",
                "properties": {
                    "id": text("Name of the operation."),
                    "path_template": text("Path template of the call."),
                    "price_usd": {"type": ["string", "null"], "description": "Price of a unit in dollars."},
                    "units": count("Units in the call: 1, or the addresses of a batch."),
                    "summary": text("The operation in one line."),
                },
            },
            "accepts": {"type": "array", "items": {"type": "object"},
                "description": "Payments that open the call, as in the header PAYMENT-REQUIRED. Sign one of them."},
            "resource": {"type": "object", "description": "The call that is paid; a payment repeats it unchanged."},
        },
    })
}

/// The schema of the offer of a call over Lightning.
fn l402() -> Value {
    let part = |description: &str, members: Value| {
        let mut schema = json!({"type": "object", "properties": members});
        schema["description"] = description.into();
        schema
    };
    json!({
        "type": "object",
        "required": ["error", "protocol", "offer"],
        "description": "The offer of this call over Lightning. Without an invoice it has no challenge and no payment.",
        "properties": {
            "error": text("`payment_required`, or the reason for which there is no invoice, as a code."),
            "error_detail": text("Explanation; only without an invoice."),
            "protocol": text("`L402`."),
            "offer": part("The operation that is sold.", json!({
                "id": text("Name of the operation."),
                "path_template": text("Path template of the call."),
                "price_sats": {"type": ["integer", "null"], "minimum": 0,
                    "description": "Price of the call; null if it is not known at present."},
                "summary": text("The operation in one line."),
            })),
            "challenge": part("The challenge, bound to this request.", json!({
                "id": text("Id of the challenge."),
                "offer_id": text("Name of the operation."),
                "resource_path": text("Path that the payment opens."),
                "status": text("State of the challenge."),
                "provider": text("Name of the Lightning backend."),
                "created_at": text("Time at which the challenge was made."),
                "updated_at": text("Time at which its state changed."),
                "expires_at": text("Time at which the challenge ends."),
            })),
            "payment_method": part("How the invoice is paid.", json!({
                "id": text("Id of the method."),
                "name": text("Name of the method."),
                "network": {"type": ["string", "null"], "description": "Network of the invoice; null if unknown."},
                "simulated": {"type": "boolean", "description": "True for an invoice of a test, which moves no coins."},
                "display_hint": text("How to show the invoice to people."),
            })),
            "payment": part("The payment that opens the call.", json!({
                "price_sats": count("Amount of the invoice."),
                "currency": text("Unit of the amount."),
                "invoice": text("Lightning invoice (BOLT 11)."),
                "payment_uri": text("URI of the invoice for wallets."),
                "payment_hash": text("Payment hash of the invoice."),
                "macaroon": text("Macaroon for `Authorization`."),
            })),
            "links": {"type": "object", "additionalProperties": {"type": "string"},
                "description": "URLs about the challenge by name; `status_url` has its state."},
            "authorization": part("How to send the payment.", json!({
                "scheme": text("Scheme of `Authorization`."),
                "header_example": text("The whole header, with a placeholder for the preimage."),
            })),
        },
    })
}
