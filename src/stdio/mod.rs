//! The Model Context Protocol over standard input and output, one message a line: so desktop clients speak to servers
//! that they start. Each message goes to the endpoint of the protocol, here or at a server, so answers are the same as
//! over HTTP.

mod lines;
mod message;
mod peer;
mod session;

use std::{io, sync::Arc, thread};

use cairn_model::CancelToken;
use tokio::sync::mpsc;

pub(crate) use self::peer::{Peer, Remote};
use self::{lines::Line, session::Session};
use crate::{
    exit::{Exit, Failure},
    out::written,
};

/// Lines and answers that wait. A client that sends more waits, too.
const WAITING: usize = 16;

/// Answers the messages on standard input until it ends or the token is cancelled.
pub(crate) fn serve(peer: Peer, cancel: &CancelToken) -> Result<(), Failure> {
    let runtime = cairn_http::runtime()?;
    let (lines, mut incoming) = mpsc::channel::<io::Result<Line>>(WAITING);
    // It ends with the input, or with the process: a read of a terminal cannot be interrupted.
    thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        let mut input = io::stdin().lock();
        while let Some(line) = lines::next(&mut input).transpose() {
            let failed = line.is_err();
            if lines.blocking_send(line).is_err() || failed {
                break;
            }
        }
    })?;
    let (answers, outgoing) = mpsc::channel::<Vec<u8>>(WAITING);
    let (ours, stop) = (cancel.clone(), CancelToken::new());
    let stopped = stop.clone();
    let writer = thread::Builder::new().name("stdout".to_owned()).spawn(move || {
        let result = written(lines::write_all(outgoing));
        // The program that started this one no longer reads.
        stopped.cancel();
        result
    })?;
    let read = runtime.block_on(async {
        let session = Arc::new(Session::new(peer, answers));
        let read = tokio::select! {
            read = session.answer_all(&mut incoming) => read,
            () = ours.cancelled() => Ok(()),
            () = stop.cancelled() => Ok(()),
        };
        drop(session);
        read
    });
    // Nobody waits for requests that still run.
    runtime.shutdown_background();
    let written = writer.join().map_err(|_| Failure::new(Exit::Other, "a thread panicked; this is a bug"))?;
    written.and(read.map_err(|error| Failure::new(Exit::Other, format!("standard input cannot be read: {error}"))))
}
