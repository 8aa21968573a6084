//! A bucket for tests: a server of S3's protocol that we did not write (`s3s-fs`), over a folder, with checked
//! signatures; in front of it, faults on demand.

use std::{
    error::Error,
    future::Future,
    io,
    net::SocketAddr,
    path::PathBuf,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Frame, Incoming},
    service::Service,
};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use s3s::{
    auth::SimpleAuth,
    service::{S3Service, S3ServiceBuilder},
};
use s3s_fs::FileSystem;
use tempfile::TempDir;
use tokio::{net::TcpListener, runtime::Runtime};

/// A fault of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// This status, and nothing is done.
    Status(u16),
    /// It is done after this time.
    Slow(Duration),
    /// It is done, and the answer breaks off in its middle.
    CutAnswer,
    /// The connection ends, and nothing is done.
    NoAnswer,
    /// It is done, and the connection ends without an answer.
    LostAnswer,
}

/// A request, for deciding what goes wrong.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Requests before it.
    pub number: u64,
    /// Its method.
    pub method: Method,
    /// The name of the object, or of the bucket.
    pub path: String,
    /// The text behind `?`.
    pub query: String,
}

impl Seen {
    /// True if it writes.
    #[must_use]
    pub fn writes(&self) -> bool {
        matches!(self.method, Method::PUT | Method::POST | Method::DELETE)
    }
}

/// Decides what goes wrong with a request.
pub type Plan = Arc<dyn Fn(&Seen) -> Option<Fault> + Send + Sync>;

/// The name of the bucket.
pub const NAME: &str = "cairn";
const KEY: &str = "AKIATESTTESTTESTTEST";
const SECRET: &str = "a secret of tests, forty characters long";

/// A bucket and its server, which ends when it is dropped.
pub struct Bucket {
    folder: TempDir,
    address: SocketAddr,
    front: Front,
    _runtime: Runtime,
}

impl Bucket {
    /// An empty bucket without faults.
    ///
    /// # Errors
    /// There is no room, or no port.
    pub fn start() -> io::Result<Self> {
        let folder = TempDir::new()?;
        std::fs::create_dir(folder.path().join(NAME))?;
        let files = FileSystem::new(folder.path()).map_err(|error| io::Error::other(format!("{error:?}")))?;
        let mut builder = S3ServiceBuilder::new(files);
        builder.set_auth(SimpleAuth::from_single(KEY, SECRET));
        let front = Front { service: builder.build(), plan: Arc::default(), requests: Arc::default() };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let address = listener.local_addr()?;
        let ours = front.clone();
        runtime.spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let served =
                    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(socket), ours.clone());
                tokio::spawn(served);
            }
        });
        Ok(Bucket { folder, address, front, _runtime: runtime })
    }

    /// The location of a prefix in it.
    #[must_use]
    pub fn location(&self, prefix: &str) -> String {
        format!("s3://{NAME}/{prefix}")
    }

    /// Environment variables for a client.
    #[must_use]
    pub fn environment(&self) -> Vec<(String, String)> {
        [
            ("AWS_ACCESS_KEY_ID", KEY),
            ("AWS_SECRET_ACCESS_KEY", SECRET),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ENDPOINT_URL", &format!("http://{}", self.address)),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
    }

    /// The folder of the objects.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        self.folder.path().join(NAME)
    }

    /// From now on, this goes wrong.
    pub fn fail(&self, plan: impl Fn(&Seen) -> Option<Fault> + Send + Sync + 'static) {
        *self.front.plan.lock() = Some(Arc::new(plan));
    }

    /// From now on, nothing goes wrong.
    pub fn heal(&self) {
        *self.front.plan.lock() = None;
    }

    /// Requests so far.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.front.requests.load(Ordering::Relaxed)
    }
}

/// Counts requests in front of the server, and makes them fail by a plan.
#[derive(Clone)]
struct Front {
    service: S3Service,
    plan: Arc<Mutex<Option<Plan>>>,
    requests: Arc<AtomicU64>,
}

type AnyError = Box<dyn Error + Send + Sync>;
type AnyBody = UnsyncBoxBody<Bytes, AnyError>;

impl Service<Request<Incoming>> for Front {
    type Response = Response<AnyBody>;
    type Error = AnyError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, AnyError>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let seen = Seen {
            number: self.requests.fetch_add(1, Ordering::Relaxed),
            method: request.method().clone(),
            path: request.uri().path().trim_start_matches('/').to_owned(),
            query: request.uri().query().unwrap_or_default().to_owned(),
        };
        let plan = self.plan.lock().clone();
        let fault = plan.and_then(|plan| plan(&seen));
        let service = self.service.clone();
        Box::pin(async move {
            match fault {
                Some(Fault::Status(status)) => {
                    // As servers do: what was sent is read first.
                    let _ = request.into_body().collect().await?;
                    let text =
                        "<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>";
                    let body = Full::new(Bytes::from_static(text.as_bytes())).map_err(|never| match never {});
                    return Ok(Response::builder().status(StatusCode::from_u16(status)?).body(body.boxed_unsync())?);
                }
                Some(Fault::NoAnswer) => return Err("the connection ends".into()),
                Some(Fault::Slow(time)) => tokio::time::sleep(time).await,
                Some(Fault::CutAnswer | Fault::LostAnswer) | None => {}
            }
            let has_body = request.method() != Method::HEAD;
            let answer = Service::call(&service, request).await?;
            match fault {
                Some(Fault::LostAnswer) => Err("the connection ends".into()),
                Some(Fault::CutAnswer) if has_body => cut(answer).await,
                _ => Ok(answer.map(|body| body.map_err(AnyError::from).boxed_unsync())),
            }
        })
    }
}

/// Half of an answer, and then nothing.
async fn cut(answer: Response<s3s::Body>) -> Result<Response<AnyBody>, AnyError> {
    let (mut head, body) = answer.into_parts();
    let whole = body.collect().await?.to_bytes();
    head.headers.insert(hyper::header::CONTENT_LENGTH, whole.len().into());
    let half = whole.slice(..whole.len() / 2);
    let frames = [Ok(Frame::data(half)), Err(AnyError::from("the connection ends"))];
    Ok(Response::from_parts(head, StreamBody::new(futures_util::stream::iter(frames)).boxed_unsync()))
}
