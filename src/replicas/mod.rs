//! What machines share through the database of the service state: those that serve copies of an index, and the one that
//! writes it.

mod lag;
mod outage;
mod queue;
mod writer;

pub(crate) use self::{
    lag::WriterWatch,
    queue::{queue, shared_url},
    writer::ForReplicas,
};
