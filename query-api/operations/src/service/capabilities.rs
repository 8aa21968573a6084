//! `GET /v1/capabilities`.

use cairn_http::{Freshness, MCP, Tier, Unit, links};

use super::beta_status::{Guardrail, guardrails};
use crate::operation::prelude::*;

pub(crate) struct Capabilities;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct CapabilitiesInput {
    /// If true, the answer has names and tiers only, without prices, links and limits.
    #[serde(default)]
    compact: bool,
}

/// The capabilities of the service.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CapabilitiesOutput {
    /// Identifier of the service.
    service: &'static str,
    version: &'static str,
    /// One sentence about the service; absent if compact.
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<&'static str>,
    /// Network of the index; null before anything is indexed.
    network: Option<&'static str>,
    product_mode: &'static str,
    auth_mode: &'static str,
    /// Number of operations; one with two paths counts twice.
    endpoints_available: usize,
    /// Operations by area.
    areas: Vec<Area>,
    /// Addresses whose whole history is public; absent if compact.
    #[serde(skip_serializing_if = "Option::is_none")]
    showcase_addresses: Option<Vec<String>>,
    /// Interfaces to the operations; absent if compact.
    #[serde(skip_serializing_if = "Option::is_none")]
    interfaces: Option<Vec<Interface>>,
    /// Documents about the service; absent if compact.
    #[serde(skip_serializing_if = "Option::is_none")]
    documents: Option<Vec<DocumentLink>>,
    /// Limits in force; absent if compact.
    #[serde(skip_serializing_if = "Option::is_none")]
    limits: Option<Vec<Guardrail>>,
    /// Cost of requests by class; absent if compact.
    #[serde(skip_serializing_if = "Option::is_none")]
    costs: Option<Vec<CostRow>>,
}

/// An area.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Area {
    name: &'static str,
    operations: Vec<Capability>,
}

/// An operation.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Capability {
    /// `operationId` in the OpenAPI document.
    name: &'static str,
    /// The path, prefixed with the method unless it is GET.
    endpoint: String,
    /// Summary; absent if compact.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'static str>,
    post_beta_tier: Tier,
    /// Cost class; absent if compact.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<&'static str>,
    /// Price per unit after the beta; absent if there is none, or if compact.
    #[serde(skip_serializing_if = "Option::is_none")]
    future_price_sats: Option<u64>,
    /// Unit of the price; absent if there is none, or if compact.
    #[serde(skip_serializing_if = "Option::is_none")]
    price_unit: Option<Unit>,
    /// Ways to pay for a call now; absent if there are none, or if compact.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    payment_methods: Vec<&'static str>,
}

/// An interface to the operations.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Interface {
    /// `http` or `mcp`.
    kind: &'static str,
    url: String,
}

/// A document about the service.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DocumentLink {
    url: String,
    media_type: &'static str,
    about: &'static str,
}

/// Cost of requests of a class.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CostRow {
    class: &'static str,
    /// Units of the client's rate limit.
    units: u32,
}

impl Operation for Capabilities {
    const INFO: Info = Info {
        summary: "Machine-readable summary of the service",
        description: "Operations by area with their tiers and costs, the interfaces, the documents and the limits in \
            force. With `compact=true` only names and tiers. For parameters and schemas use /openapi.json.",
        cost: Cost::Light,
        source: "service",
        freshness: &[Freshness::STATE, TIP],
        freshness_semantics: "time of the newest block in the index; the rest is current",
        tool: Tool::UNLISTED,
        ..index_get("capabilities", "/v1/capabilities", "service")
    };
    type Input = CapabilitiesInput;
    type Output = CapabilitiesOutput;

    fn run(ctx: &Ctx<'_>, input: CapabilitiesInput) -> Result<CapabilitiesOutput, ApiError> {
        let full = !input.compact;
        let mut areas: Vec<Area> = Vec::new();
        for op in ctx.operations {
            let (info, offer) = (&op.info, &op.offer);
            let capability = Capability {
                name: info.name,
                endpoint: info.endpoint(),
                summary: full.then_some(info.summary),
                post_beta_tier: offer.tier,
                cost: full.then_some(info.cost.name()),
                future_price_sats: offer.price_sats.filter(|_| full),
                price_unit: offer.unit.filter(|_| full),
                payment_methods: if full { ctx.config.payment_methods_of(op) } else { Vec::new() },
            };
            match areas.iter_mut().find(|area| area.name == info.area) {
                Some(area) => area.operations.push(capability),
                None => areas.push(Area { name: info.area, operations: vec![capability] }),
            }
        }
        let at = |path: &str| format!("{}{path}", ctx.config.base_url);
        let http = Interface { kind: "http", url: at("") };
        let mcp = Interface { kind: "mcp", url: at(MCP) };
        let document = |(path, media_type, about)| DocumentLink { url: at(path), media_type, about };
        let cost = |cost: Cost| CostRow { class: cost.name(), units: cost.units() };
        Ok(CapabilitiesOutput {
            service: "cairn",
            version: env!("CARGO_PKG_VERSION"),
            about: full.then_some(ctx.about.sentence),
            network: ctx.index.map(|view| view.network().name()),
            product_mode: ctx.config.access_mode.product_mode(),
            auth_mode: ctx.config.access_mode.auth_mode(),
            endpoints_available: ctx.operations.iter().map(|op| op.described_paths().count()).sum(),
            areas,
            showcase_addresses: full.then(|| ctx.chain.showcase_addresses.clone()),
            interfaces: full.then(|| if ctx.config.speaks_mcp() { vec![http, mcp] } else { vec![http] }),
            documents: full.then(|| links(ctx.config).into_iter().map(document).collect()),
            limits: full.then(|| guardrails(ctx)),
            costs: full.then(|| Cost::ALL.map(cost).into()),
        })
    }
}
