//! HTTP: a small server of our own, because commanded faults need the bare socket.

mod faults;
mod message;
mod server;

pub(crate) use faults::{Call, Faults, Hook};
pub use faults::{HttpFault, HttpRule, Match, When};
pub(crate) use message::{Request, Response};
pub(crate) use server::{Handler, Server};
