//! `GET /v1/capabilities`.

use cairn_http::{ApiError, Cost, Freshness, Info, MCP, Tier, Tool, Unit, links};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    beta_status::{Guardrail, guardrails},
    posture,
};
use crate::{
    context::{Ctx, TIP, index_get},
    operation::Operation,
};

/// What the service can do.
pub(crate) struct Capabilities;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct CapabilitiesInput {
    /// Whether names are enough: without prices, links and limits.
    #[serde(default)]
    compact: bool,
}

/// What the service can do.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CapabilitiesOutput {
    /// Identifier of the service.
    service: &'static str,
    version: &'static str,
    /// What it is, in a sentence; absent if compact.
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<&'static str>,
    /// Network of the index; null before anything is indexed.
    network: Option<&'static str>,
    product_mode: &'static str,
    auth_mode: &'static str,
    /// Operations that answer.
    endpoints_available: usize,
    /// Operations by area.
    areas: Vec<Area>,
    /// Ways to reach the operations; absent if compact.
    #[serde(skip_serializing_if = "Option::is_none")]
    interfaces: Option<Vec<Interface>>,
    /// Documents about the service; absent if compact.
    #[serde(skip_serializing_if = "Option::is_none")]
    documents: Option<Vec<DocumentLink>>,
    /// Limits that hold; absent if compact.
    #[serde(skip_serializing_if = "Option::is_none")]
    limits: Option<Vec<Guardrail>>,
    /// What requests of each class cost; absent if compact.
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
    /// `operationId` in the description of the interface.
    name: &'static str,
    /// The path, with the method before it if that is not GET.
    endpoint: String,
    /// What it answers; absent if compact.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'static str>,
    post_beta_tier: Tier,
    /// Class of cost; absent if compact.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<&'static str>,
    /// Price of a call after the beta; absent if there is none, or if compact.
    #[serde(skip_serializing_if = "Option::is_none")]
    future_price_sats: Option<u64>,
    /// What the price is for; absent if there is none, or if compact.
    #[serde(skip_serializing_if = "Option::is_none")]
    price_unit: Option<Unit>,
}

/// A way to reach the operations.
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

/// What requests of a class cost.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CostRow {
    class: &'static str,
    /// Units of a client's budget.
    units: u32,
}

impl Operation for Capabilities {
    const INFO: Info = Info {
        summary: "What the service can do, for machines",
        description: "Operations by area with their tiers and costs, the ways to reach them, the documents about them, \
            and the limits that hold. With `compact=true` names and tiers alone. For parameters and schemas use \
            /openapi.json.",
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
            product_mode: posture::PRODUCT_MODE,
            auth_mode: posture::AUTH_MODE,
            endpoints_available: ctx.operations.len(),
            areas,
            interfaces: full.then(|| if ctx.config.speaks_mcp() { vec![http, mcp] } else { vec![http] }),
            documents: full.then(|| links(ctx.config).into_iter().map(document).collect()),
            limits: full.then(|| guardrails(ctx)),
            costs: full.then(|| Cost::ALL.map(cost).into()),
        })
    }
}
