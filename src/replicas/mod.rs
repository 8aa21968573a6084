//! Data that machines share through the database of the service state: the machine that writes an index, and those that
//! serve copies of it.

mod lag;
mod outage;
mod queue;
mod writer;

pub(crate) use self::{
    lag::WriterWatch,
    queue::{queue, shared_url},
    writer::ForReplicas,
};
