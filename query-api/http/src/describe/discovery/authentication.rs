//! How clients authenticate: one text for all documents, so that they cannot differ.

use serde_json::{Value, json};

use crate::{
    config::HttpConfig,
    contract::{access::EffectiveTier, operation::RegisteredOperation},
};

/// The header with a payment.
const PAYMENT: &str = "PAYMENT-SIGNATURE";

/// A way to authenticate.
enum Way {
    Session,
    BridgeKey,
    L402,
    X402,
}

/// A way to authenticate, with its purpose.
pub(super) struct Scheme {
    way: Way,
    description: String,
}

impl Scheme {
    /// Its name.
    pub(super) fn id(&self) -> &'static str {
        match self.way {
            Way::Session => "wallet_session",
            Way::BridgeKey => "bridge_key",
            Way::L402 => "l402",
            Way::X402 => "x402",
        }
    }

    /// The scheme in our own form.
    fn described(&self) -> Value {
        let (kind, header) = match self.way {
            Way::Session | Way::L402 => ("http", "Authorization"),
            Way::BridgeKey => ("apiKey", "X-WR-API-Key"),
            Way::X402 => ("apiKey", PAYMENT),
        };
        let mut scheme = json!({"id": self.id(), "type": kind});
        match self.way {
            Way::Session => scheme["scheme"] = "bearer".into(),
            Way::L402 => scheme["scheme"] = "L402".into(),
            Way::BridgeKey | Way::X402 => {}
        }
        scheme["in"] = "header".into();
        scheme["name"] = header.into();
        scheme["description"] = self.description.clone().into();
        scheme
    }

    /// The scheme in the form of agent cards.
    pub(super) fn for_card(&self) -> Value {
        let description = &self.description;
        let http = |scheme: &str| json!({"httpAuthSecurityScheme": {"scheme": scheme, "description": description}});
        let key = |name: &str| {
            json!({"apiKeySecurityScheme": {"name": name, "location": "header",
            "description": description}})
        };
        match self.way {
            Way::Session => http("Bearer"),
            Way::BridgeKey => key("X-WR-API-Key"),
            Way::L402 => http("L402"),
            Way::X402 => key(PAYMENT),
        }
    }

    /// True if it can open calls of this operation.
    pub(super) fn opens(&self, op: &RegisteredOperation, config: &HttpConfig) -> bool {
        match self.way {
            Way::Session | Way::BridgeKey => true,
            Way::L402 => config.sells_over_lightning(op),
            Way::X402 => config.sells_by_x402(op),
        }
    }
}

/// The operations of which some requests need a session or key; none while the gates are disabled.
pub(crate) fn gated<'o>(operations: &'o [RegisteredOperation], config: &HttpConfig) -> Vec<&'o RegisteredOperation> {
    operations.iter().filter(|op| EffectiveTier::of(op, config) == EffectiveTier::Conditional).collect()
}

/// Purpose of each way to authenticate.
pub(super) fn schemes(operations: &[RegisteredOperation], config: &HttpConfig) -> Vec<Scheme> {
    let names: Vec<&str> = gated(operations, config).iter().map(|op| op.info.name).collect();
    let some = names.join(", ");
    let needed = match (config.access_mode.is_live(), names.is_empty()) {
        (false, true) => "Nothing needs it on this server.".to_owned(),
        (false, false) => format!("Only some requests of {some} need it; everything else is open."),
        (true, true) => "It opens every premium operation without payment; everything else is open.".to_owned(),
        (true, false) => format!(
            "It opens every premium operation without payment, and some requests of {some}; everything else is open."
        ),
    };
    let session = format!("A wallet session: `Authorization: Bearer <token>`. {needed}");
    let key = "The key of a bridge pass: `X-WR-API-Key: <key>`. It gives the same access as a wallet session.";
    let l402 = "A paid call: `Authorization: L402 <macaroon>:<preimage>`, with the macaroon of the 402 answer and the \
                   preimage of its paid invoice. It opens one answer to the same request.";
    let l402 = config.payment_backend().map(|_| (Way::L402, l402.to_owned()));
    let x402 = "A call paid by x402 version 2: `PAYMENT-SIGNATURE: <payment>`, with a signed entry of `accepts` of the \
                402 answer. It opens one answer to the same request.";
    let x402 = config.is_x402_open().then(|| (Way::X402, x402.to_owned()));
    let ways = [(Way::Session, session), (Way::BridgeKey, key.to_owned())].into_iter().chain(l402).chain(x402);
    ways.map(|(way, description)| Scheme { way, description }).collect()
}

/// How clients authenticate, and which operations need it.
pub(crate) fn authentication(operations: &[RegisteredOperation], config: &HttpConfig) -> Value {
    let schemes: Vec<Value> = schemes(operations, config).iter().map(Scheme::described).collect();
    let needed_for = operations.iter().filter(|op| !EffectiveTier::of(op, config).is_open());
    json!({
        "required": false,
        "schemes": schemes,
        "needed_for": needed_for.map(|op| op.info.name).collect::<Vec<_>>(),
    })
}
