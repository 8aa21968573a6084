//! Times answers: each question is asked several times over the router, without the network.

use std::{sync::Arc, time::Instant};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::Request,
};
use cairn_http::HttpConfig;
use cairn_link::IndexSlot;
use cairn_operations::{ApiConfig, ApiState, router};
use cairn_reader::Reader;
use serde_json::Value;
use tokio::runtime::Runtime;
use tower::ServiceExt;

/// A question: what it is called in the table, its path, and its body if it is posted.
pub(crate) struct Question {
    pub(crate) name: String,
    pub(crate) path: String,
    pub(crate) body: Option<Value>,
}

impl Question {
    pub(crate) fn get(path: impl Into<String>) -> Self {
        let path = path.into();
        Question { name: path.clone(), path, body: None }
    }

    fn request(&self) -> Request<Body> {
        match &self.body {
            None => Request::get(&self.path).body(Body::empty()).unwrap(),
            Some(body) => {
                let json = Request::post(&self.path).header("content-type", "application/json");
                json.body(Body::from(body.to_string())).unwrap()
            }
        }
    }
}

/// An answer.
pub(crate) struct Answered {
    pub(crate) millis: f64,
    /// Rows of the index that it read.
    pub(crate) rows: String,
    pub(crate) body: Vec<u8>,
}

/// A server without gates and without a network.
pub(crate) struct LocalApi {
    router: Router,
    runtime: Runtime,
}

impl LocalApi {
    pub(crate) fn of(reader: Arc<Reader>) -> Self {
        let config = ApiConfig::from(HttpConfig { gates_enabled: false, ..ApiConfig::default().http });
        Self::over(router(ApiState::new(Arc::new(IndexSlot::with(reader)), config)))
    }

    pub(crate) fn over(router: Router) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        LocalApi { router, runtime }
    }

    pub(crate) fn ask(&self, question: &Question) -> Answered {
        let start = Instant::now();
        let (response, body) = self.runtime.block_on(async {
            let (head, body) = self.router.clone().oneshot(question.request()).await.unwrap().into_parts();
            (head, to_bytes(body, usize::MAX).await.unwrap().to_vec())
        });
        let millis = start.elapsed().as_secs_f64() * 1e3;
        assert_eq!(response.status.as_u16(), 200, "{}: {}", question.path, String::from_utf8_lossy(&body));
        let rows = response.headers.get("x-rows-read").map_or("", |rows| rows.to_str().unwrap()).to_owned();
        Answered { millis, rows, body }
    }

    /// Prints a row for each question: median and most of its time, rows read, bytes. It is asked for once more, at
    /// first, which warms.
    pub(crate) fn print(&self, times: usize, questions: &[Question]) {
        println!("\n| answer | ms, median | ms, most | rows read | bytes |\n|---|---|---|---|---|");
        for question in questions {
            self.ask(question);
            let answers: Vec<Answered> = (0..times).map(|_| self.ask(question)).collect();
            print_row(&question.name, &answers);
        }
    }
}

/// The row of a question.
pub(crate) fn print_row(name: &str, answers: &[Answered]) {
    let mut millis: Vec<f64> = answers.iter().map(|answer| answer.millis).collect();
    millis.sort_by(f64::total_cmp);
    let (most, last) = (millis.last().copied().unwrap_or_default(), answers.last().unwrap());
    println!("| {name} | {:.1} | {most:.1} | {} | {} |", millis[millis.len() / 2], last.rows, last.body.len());
}
