//! The framework beneath the operations: it takes requests, charges, admits, checks and bounds them, has a service answer
//! them, and writes what comes of it. It knows nothing of chains: what an operation says about itself is data
//! ([`Info`]), and what answers is the service's ([`Backend`]).
//!
//! ```text
//! transport ─► requests ─► contract          connections, layers, routes ─► one `execute` ─► what an operation is
//!                 │            │
//!                 ▼            ▼
//!              limits       answers          who may ask how much │ bodies, failures, versions
//!              describe, pages               documents made from the operations │ what pages have in common
//! ```

mod answers;
mod config;
mod contract;
mod describe;
mod limits;
mod pages;
mod requests;
mod server;
mod transport;

pub use answers::{
    code::ErrorCode,
    compact::Selection,
    document::Document,
    error::{ApiError, Failure, FieldError, Location},
    meta::{Standing, TipMeta, Warning},
};
pub use config::{ForwardedHeader, HttpConfig};
pub use contract::{
    cost::Cost,
    format::{BadText, Look, TextFormat},
    input::{Field, InputSpec, Members, Raw},
    method::Method,
    offer::{Agreed, Offer, Package, Tier, Unit},
    operation::{Detail, Freshness, Info, NoInput, Registered},
    output::{CSV, File, Format, Formatted, JSON, MARKDOWN, Media, Output, Parts, Png, Table, Written},
    tool::{Effect, MAX_TOOL_ANSWER, Tool},
    work::Work,
};
pub use describe::{
    about::{About, Definition},
    discovery::{MCP, links},
};
pub use ipnet::IpNet;
pub use limits::{
    budget::WINDOW,
    gate::{CHECKOUT_PAGE, GETTING_STARTED_PAGE},
};
pub use pages::{
    escaping::{Html, segment},
    shell::{POLICY, page},
};
pub use requests::{
    ask::{Answer, Ask, Backend, Call, Content, Versions},
    inside::{AnswerSchema, Api, Described, Reply},
};
pub use server::Service;
pub use transport::{
    admin::{admin_router, serve_admin},
    metrics::Metrics,
    router::{router, router_with, serve},
};
