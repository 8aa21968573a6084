//! Traces: where the time of a request went, as spans of OpenTelemetry. See ADR 58.

pub(crate) mod encode;
pub(crate) mod parent;
pub(crate) mod request;
pub(crate) mod sink;
pub(crate) mod span;
