//! The framework for the operations: it receives requests, applies rate limits and admission, validates the input, lets
//! a service answer, and writes the answer. It does not depend on Bitcoin: an operation is described by data
//! ([`Info`]), and the service implements it ([`Backend`]).
//!
//! ```text
//! transport ─► requests ─► contract          connections, layers, routes ─► one `execute` ─► what an operation is
//!                 │            │
//!                 ▼            ▼
//!          limits, access   answers          who may ask how much, who pays │ bodies, failures, versions
//!              describe, pages               documents made from the operations │ what pages have in common
//! ```
//!
//! `traces` records where the time of a request went.

mod access;
mod answers;
mod config;
mod contract;
mod describe;
mod limits;
mod pages;
mod requests;
mod server;
mod traces;
mod transport;

pub use access::{
    bridge::{CHECKOUT_PAGE, GETTING_STARTED_PAGE},
    offer::CallOffer,
    sold::SoldCall,
    till::{GivingBack, NotTaken, Receipt, TakenPayment, Till},
};
pub use answers::{
    code::ErrorCode,
    compact::Selection,
    document::Document,
    error::{ApiError, Failure, FieldError, Location},
    meta::{DataState, TipMeta, Warning},
    secrets::{REDACTED, looks_secret},
};
pub use cairn_work::{Limits, Stopped, Work};
pub use config::{ForwardedHeader, HttpConfig};
pub use contract::{
    access::EffectiveTier,
    cost::Cost,
    format::{BadText, Look, TextFormat, trimmed},
    input::{Field, InputSpec, Members, Raw},
    method::Method,
    mode::{AccessMode, X402Gate},
    nearest::nearest,
    offer::{AgreedOperation, Offer, Package, Tier, Unit},
    operation::{Detail, FileBody, Freshness, Info, NoInput, RegisteredOperation, StreamSpec},
    output::{
        CSV, Column, File, Format, Formatted, HTML, JSON, MARKDOWN, Media, Output, Parts, Png, SerializedAnswer, Table,
        TableRow,
    },
    pass::{CheckoutPause, PASS_DAYS, PASS_PLAN, PassMethod, PassOffer},
    secret_header::SecretHeader,
    tool::{Effect, MAX_TOOL_ANSWER, Tool},
};
pub use describe::{
    about::{About, Definition},
    discovery::{MCP, links},
};
pub use ipnet::IpNet;
pub use limits::{budget::WINDOW, stream_slots::StreamSlots};
pub use pages::{
    escaping::{Html, segment},
    shell::{POLICY, Page, versioned},
};
pub use requests::{
    ask::{Answer, AnswerNotes, Aside, Ask, Backend, Call, Content, Metric, Versions},
    fingerprint::Fingerprint,
    inside::{AdmittedRequest, AnswerSchema, Api, OperationDescription, Reply},
    snapshot::Snapshot,
    work::{Asker, HeldMemory, HeldStream, OpenConnection},
};
pub use server::Service;
pub use traces::{
    encode::encode_traces,
    sink::{TraceQueue, Traces},
    span::Span,
};
pub use transport::{
    admin::{admin_router, serve_admin},
    hosts::Hosts,
    metrics::Metrics,
    middleware::Dialect,
    router::{OtherInterface, other_router, router, router_with, serve, serve_all},
    threads::runtime,
};
