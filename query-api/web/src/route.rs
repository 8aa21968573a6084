//! Routes of pages: with and without a slash at the end, read-only or as forms.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    handler::Handler,
    http::{HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
    routing::{MethodRouter, any, get},
};
use cairn_http::Api;
use percent_encoding::percent_decode_str;

use crate::{answer, ask::Refused, site::Site};

/// Methods of a page that is only read.
const READ: &str = "GET, HEAD, OPTIONS";
/// Methods of a page with a form.
const FORM: &str = "GET, HEAD, POST, OPTIONS";

pub(crate) trait PageRoutes {
    /// Adds a page that is only read.
    fn page<H: Handler<T, Arc<Site>>, T: 'static>(self, path: &str, page: H) -> Self;
    fn form<H, T, P, U>(self, path: &str, page: H, answer: P) -> Self
    where
        H: Handler<T, Arc<Site>>,
        P: Handler<U, Arc<Site>>,
        T: 'static,
        U: 'static;
}

impl PageRoutes for Router<Arc<Site>> {
    fn page<H: Handler<T, Arc<Site>>, T: 'static>(self, path: &str, page: H) -> Self {
        both(self, path, get(page).fallback(async |method: Method| Api::method_not_allowed(&method, READ)))
    }

    fn form<H, T, P, U>(self, path: &str, page: H, answer: P) -> Self
    where
        H: Handler<T, Arc<Site>>,
        P: Handler<U, Arc<Site>>,
        T: 'static,
        U: 'static,
    {
        let methods = get(page).post(answer);
        both(self, path, methods.fallback(async |method: Method| Api::method_not_allowed(&method, FORM)))
    }
}

/// Adds a route, and a redirect from the same path with a slash at its end.
fn both(router: Router<Arc<Site>>, path: &str, methods: MethodRouter<Arc<Site>>) -> Router<Arc<Site>> {
    let router = router.route(path, methods);
    if path == "/" { router } else { router.route(&format!("{path}/"), any(without_slash)) }
}

/// Redirects to the path without its last slash. The place is relative, since a proxy may serve the pages below another
/// path.
async fn without_slash(request: Request) -> Response {
    let path = request.uri().path().trim_end_matches('/');
    let name = path.rsplit('/').next().unwrap_or_default();
    let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
    see(StatusCode::PERMANENT_REDIRECT, &format!("../{name}{query}"))
}

/// Refuses paths that are not text: no page takes them, and what would refuse them is not a page.
pub(crate) async fn readable(State(site): State<Arc<Site>>, request: Request, next: Next) -> Response {
    if percent_decode_str(request.uri().path()).decode_utf8().is_ok() {
        return next.run(request).await;
    }
    let refusal = Refused {
        status: StatusCode::BAD_REQUEST.as_u16(),
        code: "invalid_path".to_owned(),
        title: "The path cannot be read".to_owned(),
        detail: "The path has bytes that are not UTF-8; write other characters than ASCII as percent-encoded UTF-8."
            .to_owned(),
        ..Refused::default()
    };
    answer::refused(&site, "The path cannot be read", "", &refusal)
}

pub(crate) fn see(status: StatusCode, place: &str) -> Response {
    match HeaderValue::from_str(place) {
        Ok(place) => (status, [(header::LOCATION, place)]).into_response(),
        Err(_) => StatusCode::NOT_FOUND.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Canned, body_of, get};

    #[tokio::test]
    async fn paths_that_are_not_text_are_refused_by_a_page() {
        for path in ["/address/%ff", "/tx/%C3%28", "/entity/%80/"] {
            let response = get(Canned::new(), path).await;
            assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{path}");
            let html = body_of(response).await;
            assert!(html.contains("<h1>The path cannot be read</h1>") && html.contains("UTF-8"), "{html}");
        }
    }
}
