//! The table of sections: one line each.

use cairn_domain::evidence::digestible;
use cairn_http::Stopped;
use cairn_reader::ReadError;
use serde_json::{Value, json};

use super::{
    input::EvidencePackInput,
    section::{Section, SectionStatus},
};
use crate::{
    definitions::{CLAIMS, EXPOSURE, FLOW_GRAPH, RISK_CHECK, RISK_SIGNALS},
    operation::prelude::*,
    operation::read,
    risk::{risk_check::RiskCheck, signals::RiskSignals},
    wallets::{
        detail::WalletDetail, flow_graph::FlowGraph, overview::Overview, transactions::Transactions,
        trust_safety::TrustSafety,
    },
};

pub(super) struct SectionLine {
    pub(super) name: &'static str,
    /// Its part of the work, in relation to the others.
    pub(super) weight: u32,
    /// True if it is computed before the others: its clock begins with the request.
    pub(super) goes_first: bool,
    pub(super) definitions: &'static [&'static str],
    /// Members that its data does not have, besides [`LEFT_OUT`].
    left_out: &'static [&'static str],
    /// The reason why a request does not get it.
    skipped: fn(&EvidencePackInput) -> Option<&'static str>,
    data: fn(&Ctx<'_>, &EvidencePackInput) -> Result<Value, ApiError>,
}

/// The sections, in the order of the answer.
pub(super) const SECTIONS: &[SectionLine] = &[
    SectionLine {
        name: "labels",
        data: |ctx, input| ask::<WalletDetail>(ctx, json!({"address": input.address.text, "limit": 200})),
        ..section(1, &[CLAIMS])
    },
    SectionLine {
        name: "trust_safety",
        data: |ctx, input| ask::<TrustSafety>(ctx, json!({"address": input.address.text})),
        ..section(1, &[CLAIMS])
    },
    SectionLine {
        name: "risk_signals",
        left_out: BASE_RATES,
        data: |ctx, input| ask::<RiskSignals>(ctx, json!({"address": input.address.text})),
        ..section(4, &[RISK_SIGNALS])
    },
    SectionLine {
        name: "risk_check",
        left_out: BASE_RATES,
        skipped: |input| (!input.include_risk_check).then_some("include_risk_check_false"),
        data: |ctx, input| ask::<RiskCheck>(ctx, json!({"address": input.address.text})),
        ..section(8, &[RISK_CHECK, RISK_SIGNALS, EXPOSURE])
    },
    SectionLine {
        name: "overview",
        // Its caveats are about prices.
        left_out: &["total_sats", "caveats", "caveat_codes"],
        data: |ctx, input| ask::<Overview>(ctx, json!({"address": input.address.text})),
        ..section(2, &[])
    },
    SectionLine {
        name: "transactions",
        data: |ctx, input| {
            ask::<Transactions>(ctx, json!({"address": input.address.text, "limit": input.tx_limit.get()}))
        },
        ..section(3, &[])
    },
    SectionLine {
        name: "flow_graph",
        goes_first: true,
        skipped: |input| (!input.include_graph).then_some("include_graph_false"),
        data: |ctx, input| ask::<FlowGraph>(ctx, json!({"address": input.address.text, "hops": input.depth})),
        ..section(8, &[FLOW_GRAPH])
    },
];

/// A section of this weight that rests on these definitions; the table sets the other fields.
const fn section(weight: u32, definitions: &'static [&'static str]) -> SectionLine {
    SectionLine {
        name: "",
        weight,
        goes_first: false,
        definitions,
        left_out: &[],
        skipped: |_| None,
        data: |_, _| Err(ApiError::internal()),
    }
}

/// Members that no section has: they depend on prices, on the mempool or on the moment, or name pages of another
/// operation.
const LEFT_OUT: &[&str] = &[
    "price",
    "price_as_of",
    "value_usd",
    "net_value",
    "value_reason",
    "currency",
    "mempool_first_seen",
    "offset",
    "next_offset",
    "next_cursor",
];

/// Base rates are measured from time to time, on each machine by itself.
const BASE_RATES: &[&str] = &["base_rate", "base_rate_reason"];

/// The answer of another operation to these parameters.
fn ask<O: Operation<Output: Serialize>>(ctx: &Ctx<'_>, input: Value) -> Result<Value, ApiError> {
    Ok(serde_json::to_value(O::run(ctx, read::<O>(&input)?)?)?)
}

/// The reason of a section that the clock has cut.
pub(super) const TIME: &str = "time_budget";

impl SectionLine {
    /// Computes the section within its share of the work; `rest` is the weight of this and all later sections.
    ///
    /// # Errors
    /// Fails only if the whole request has stopped.
    pub(super) fn compute(&self, ctx: &Ctx<'_>, input: &EvidencePackInput, rest: u32) -> Result<Section, ApiError> {
        if let Some(reason) = (self.skipped)(input) {
            return Ok(without(SectionStatus::Skipped, reason));
        }
        let share = rest.div_ceil(self.weight.max(1));
        let (computed, stopped) = ctx.work.part(share, || ctx.silently(|| (self.data)(ctx, input)));
        // Nobody waits any more, or there is no memory.
        ctx.work.poll()?;
        Ok(match (computed, stopped) {
            (_, Some(stopped)) if is_of_time(&stopped) => without(SectionStatus::Unavailable, TIME),
            (_, Some(_)) => without(SectionStatus::Unavailable, "work_budget"),
            (Ok(data), None) if is_cut_by_time(&data) => without(SectionStatus::Unavailable, TIME),
            // A part that another machine may have.
            (Ok(data), None) if lacks_a_part(&data) => without(SectionStatus::Unavailable, "part_unavailable"),
            (Ok(data), None) => {
                let data = digestible(data, &|name| self.leaves_out(name));
                Section { status: SectionStatus::Ok, reason: None, data: Some(data) }
            }
            (Err(error), None) => self.failed(ctx, &error),
        })
    }

    fn leaves_out(&self, name: &str) -> bool {
        name.ends_with("_btc")
            || name.starts_with("unconfirmed")
            || LEFT_OUT.contains(&name)
            || self.left_out.contains(&name)
    }

    fn failed(&self, ctx: &Ctx<'_>, error: &ApiError) -> Section {
        match error.source.as_ref().and_then(|source| source.downcast_ref::<ReadError>()) {
            Some(ReadError::Unfinished(_) | ReadError::StageVersion { .. }) => {
                return without(SectionStatus::Unavailable, "tables_unfinished");
            }
            Some(damage) if damage.is_damage() => {
                ctx.damages.note(damage);
                tracing::error!(section = self.name, error = %damage, "a section of an evidence pack");
                return without(SectionStatus::Error, "index_damaged");
            }
            Some(other) => tracing::error!(section = self.name, error = %other, "a section of an evidence pack"),
            None => {}
        }
        let status = if error.retryable { SectionStatus::Unavailable } else { SectionStatus::Error };
        without(status, error.code.name())
    }
}

/// True if a clock has stopped the work, not a count: another machine may get further.
pub(super) fn is_of_time(stopped: &Stopped) -> bool {
    matches!(stopped, Stopped::Late | Stopped::Processor(_))
}

fn without(status: SectionStatus, reason: &str) -> Section {
    Section { status, reason: Some(reason.to_owned()), data: None }
}

/// True if the clock has cut something: the text is a reason in lists of them.
fn is_cut_by_time(data: &Value) -> bool {
    match data {
        Value::String(text) => text == TIME,
        Value::Array(items) => items.iter().any(is_cut_by_time),
        Value::Object(members) => members.values().any(is_cut_by_time),
        _ => false,
    }
}

/// True if a part of an answer with parts is unavailable.
fn lacks_a_part(data: &Value) -> bool {
    let parts = data.as_object().into_iter().flat_map(|members| members.values());
    parts.into_iter().any(|part| part.get("status").and_then(Value::as_str) == Some("unavailable"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_by_the_clock_is_found() {
        assert!(is_cut_by_time(&json!({"a": [{"truncated_reasons": ["node_limit", "time_budget"]}]})));
        assert!(!is_cut_by_time(&json!({"truncated_reasons": ["node_limit"], "time_budget": 1})));
    }

    #[test]
    fn every_section_has_a_name_and_a_weight() {
        for line in SECTIONS {
            assert!(!line.name.is_empty() && line.weight > 0, "{}", line.name);
        }
        let line = &SECTIONS[0];
        assert!(line.leaves_out("value_btc") && line.leaves_out("unconfirmed_sats") && !line.leaves_out("value_sats"));
    }
}
