//! The node's ZMQ notifications, with every gap in them reported.

mod event;
mod message;
mod payload;
mod queue;
mod sequence;
mod subscriber;
mod topic;

pub use event::{Gap, GapCause, NodeEvent};
pub use payload::Payload;
pub use topic::{Topic, ZmqEndpoint, endpoints};

pub(crate) use message::{Content, Message};
pub(crate) use queue::{Queue, QueueLimits};
pub(crate) use sequence::Sequences;
pub(crate) use subscriber::{Observer, Subscriber};
