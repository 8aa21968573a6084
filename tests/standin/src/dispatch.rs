//! Hands each request to its interface (REST or JSON-RPC), and applies what changes while it is answered.

use std::sync::Arc;

use crate::http::{Call, Handler, HttpFault, Request, Response, When};
use crate::rest;
use crate::rpc::{self, RpcError, code};
use crate::state::Shared;

fn is_rest(request: &Request) -> bool {
    request.path().starts_with("/rest/")
}

/// The handler of the HTTP server.
#[derive(Debug)]
pub(crate) struct Dispatch(pub(crate) Arc<Shared>);

impl Handler for Dispatch {
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
        let wallet = request.path().strip_prefix("/wallet/");
        rpc::answer(shared.version, &request.body, |method, params| {
            let call = Call::Rpc(method.to_owned());
            shared.run_hooks(When::Before, &call);
            let result = rpc::execute(shared, wallet, method, params);
            shared.run_hooks(When::After, &call);
            result
        })
    }

    fn answer_with(&self, request: &Request, result: &str) -> Response {
        if is_rest(request) {
            return Response::json(200, result.into());
        }
        let result = serde_json::from_str(result).map_err(|error| RpcError::new(code::MISC, error.to_string()));
        rpc::answer(self.0.version, &request.body, |_, _| result.clone())
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
