//! What the server's threads share.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::http::{Call, Faults, Handler, HttpFault, Request, Response, When};
use crate::options::StandInOptions;
use crate::rpc::{self, RpcError, code};
use crate::{Topic, World, rest};

/// What changes with a restart.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    /// The value that the Authorization header must have.
    pub(crate) authorization: String,
    pub(crate) started: Instant,
    pub(crate) addresses: BTreeMap<Topic, String>,
}

/// The node behind the server.
#[derive(Debug)]
pub(crate) struct Shared {
    world: Mutex<World>,
    faults: Mutex<Faults>,
    session: Mutex<Session>,
    pub(crate) version: u32,
    pub(crate) rest: bool,
    pub(crate) txindex: bool,
    pub(crate) coinstatsindex: bool,
    pub(crate) high_water_mark: i32,
}

/// A test that panics while it holds a lock has failed already; the rest may go on.
fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(crate) fn new(world: World, options: &StandInOptions) -> Self {
        let session = Session { authorization: String::new(), started: Instant::now(), addresses: BTreeMap::new() };
        Self {
            world: Mutex::new(world),
            faults: Mutex::new(Faults::new(options.seed)),
            session: Mutex::new(session),
            version: options.version,
            rest: options.rest,
            txindex: options.txindex,
            coinstatsindex: options.coinstatsindex,
            high_water_mark: options.zmq.high_water_mark,
        }
    }

    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        hold(&self.world)
    }

    pub(crate) fn faults(&self) -> MutexGuard<'_, Faults> {
        hold(&self.faults)
    }

    pub(crate) fn set_session(&self, session: Session) {
        *hold(&self.session) = session;
    }

    pub(crate) fn authorization(&self) -> String {
        hold(&self.session).authorization.clone()
    }

    pub(crate) fn uptime(&self) -> Duration {
        hold(&self.session).started.elapsed()
    }

    pub(crate) fn zmq_addresses(&self) -> BTreeMap<Topic, String> {
        hold(&self.session).addresses.clone()
    }

    /// Runs what waits for this point of this call.
    fn run_hooks(&self, when: When, call: &Call) {
        let due = self.faults().due(when, call);
        for hook in due {
            (hook.action)(&mut self.world());
        }
    }
}

fn is_rest(request: &Request) -> bool {
    request.path().starts_with("/rest/")
}

/// The handler of the HTTP server.
#[derive(Debug)]
pub(crate) struct Door(pub(crate) Arc<Shared>);

impl Handler for Door {
    fn calls(&self, request: &Request) -> Vec<Call> {
        match request.path().strip_prefix("/rest/") {
            Some(path) => vec![Call::Rest(path.to_owned())],
            None => rpc::methods(&request.body).into_iter().map(Call::Rpc).collect(),
        }
    }

    fn fault(&self, calls: &[Call]) -> Option<HttpFault> {
        self.0.faults().strike(calls)
    }

    fn answer(&self, request: &Request) -> Response {
        let shared = self.0.as_ref();
        if let Some(path) = request.path().strip_prefix("/rest/").filter(|_| shared.rest) {
            let call = Call::Rest(path.to_owned());
            shared.run_hooks(When::Before, &call);
            let response = rest::answer(shared, request);
            shared.run_hooks(When::After, &call);
            return response;
        }
        if request.path() != "/" && !request.path().starts_with("/wallet/") {
            return Response::text(404, "");
        }
        if request.method != "POST" {
            return Response::text(405, "JSONRPC server handles only POST requests");
        }
        if request.authorization.as_ref() != Some(&shared.authorization()) {
            return Response::text(401, "");
        }
        rpc::answer(shared.version, &request.body, |method, params| {
            let call = Call::Rpc(method.to_owned());
            shared.run_hooks(When::Before, &call);
            let result = rpc::execute(shared, method, params);
            shared.run_hooks(When::After, &call);
            result
        })
    }

    fn warming_up(&self, request: &Request, message: &str) -> Response {
        if is_rest(request) {
            return Response::text(503, format!("Service temporarily unavailable: {message}\r\n"));
        }
        if request.authorization.as_ref() != Some(&self.0.authorization()) {
            return Response::text(401, "");
        }
        rpc::answer(self.0.version, &request.body, |_, _| Err(RpcError::new(code::WARM_UP, message)))
    }

    fn in_body(&self, calls: &[Call]) {
        for call in calls {
            self.0.run_hooks(When::InBody, call);
        }
    }

    fn watches_body(&self, calls: &[Call]) -> bool {
        let faults = self.0.faults();
        let watching = |call| faults.hooks.iter().any(|hook| hook.when == When::InBody && hook.on.covers(call));
        calls.iter().any(watching)
    }
}
