//! Errors of the chain generator.

use crate::exit::{Exit, Failure};

pub(super) fn generator(error: cairn_demo::Error) -> Failure {
    match error {
        cairn_demo::Error::Io(error) => error.into(),
        other => Failure::new(Exit::Other, format!("cannot generate the demo chain: {other}")),
    }
}
