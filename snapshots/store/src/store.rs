//! A store and its objects.

use std::{
    fmt,
    future::Future,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use cairn_model::CancelToken;
use futures_util::TryStreamExt;
use object_store::{
    ClientConfigKey, GetOptions, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions, RetryConfig,
    aws::{AmazonS3Builder, AmazonS3ConfigKey, Checksum},
    local::LocalFileSystem,
    path::Path as Name,
};
use tokio::runtime::Runtime;

use crate::{Location, StoreError};

/// Settings of a store.
#[derive(Clone)]
pub struct Options {
    /// How long a request that fails is repeated.
    pub patience: Duration,
    /// How long one attempt may take.
    pub timeout: Duration,
    /// Settings of buckets, with the names that other tools have: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`,
    /// `AWS_REGION`, `AWS_ENDPOINT_URL` and what else object_store knows.
    pub settings: Vec<(String, String)>,
}

impl Options {
    /// Settings of buckets from the environment.
    #[must_use]
    pub fn of_environment(patience: Duration) -> Self {
        let settings =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        let settings = settings.filter(|(name, _)| name.starts_with("AWS_")).collect();
        Options { patience, timeout: Duration::from_secs(120), settings }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The settings have credentials.
        f.debug_struct("Options")
            .field("patience", &self.patience)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// Pause before the second attempt; doubles.
const PAUSE: Duration = Duration::from_millis(200);
/// How long a stop waits for what tidies up.
const MOMENT: Duration = Duration::from_secs(3);
/// Bytes that are read at a time.
const READ: u64 = 8 << 20;

/// An object in a listing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Object {
    /// Its name below the location.
    pub name: String,
    /// Its bytes.
    pub bytes: u64,
    /// When it was written.
    pub modified: SystemTime,
}

/// A store of objects at a location. All calls block, and end soon after the token is cancelled. Dropping it within a
/// Tokio runtime panics.
pub struct Store {
    pub(crate) objects: Arc<dyn ObjectStore>,
    prefix: Name,
    location: Location,
    runtime: Runtime,
    pub(crate) cancel: CancelToken,
    patience: Duration,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Its content includes credentials.
        write!(f, "Store({})", self.location)
    }
}

impl Store {
    /// The store at a location. Nothing is asked of it yet.
    pub fn open(location: &Location, options: &Options, cancel: &CancelToken) -> Result<Self, StoreError> {
        let (objects, prefix): (Arc<dyn ObjectStore>, _) = match location {
            Location::Bucket { bucket, prefix } => (Arc::new(bucket_of(bucket, options)?), Name::from(prefix.as_str())),
            Location::Folder(folder) => {
                std::fs::create_dir_all(folder).map_err(StoreError::at(folder))?;
                let folder =
                    LocalFileSystem::new_with_prefix(folder).map_err(|e| StoreError::Settings(e.to_string()))?;
                (Arc::new(folder.with_fsync(true)), Name::default())
            }
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("store")
            .enable_all()
            .build()
            .map_err(|error| StoreError::Settings(error.to_string()))?;
        let patience = options.patience;
        Ok(Store { objects, prefix, location: location.clone(), runtime, cancel: cancel.clone(), patience })
    }

    /// Its location.
    #[must_use]
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// The whole name of an object, for people.
    #[must_use]
    pub fn shown(&self, name: &str) -> String {
        format!("{}/{name}", self.location)
    }

    pub(crate) fn name(&self, name: &str) -> Name {
        Name::from_iter(self.prefix.parts().chain(Name::from(name).parts()))
    }

    /// Waits for a request, unless the work is cancelled.
    pub(crate) fn wait<T>(
        &self,
        name: &str,
        request: impl Future<Output = object_store::Result<T>>,
    ) -> Result<T, StoreError> {
        let done = self.runtime.block_on(async {
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => None,
                done = request => Some(done),
            }
        });
        done.ok_or(StoreError::Stopped)?.map_err(|error| StoreError::of(self.shown(name), &error))
    }

    /// The bytes of an object; `None` if there is none. A longer one than `most` is an error.
    pub fn read(&self, name: &str, most: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let from = self.name(name);
        // One request: each costs time and, in many stores, money.
        let read = self.again(|| {
            let request = async {
                let found = self.objects.get(&from).await?;
                let bytes = found.meta.size;
                Ok((bytes, if bytes > most { None } else { Some(found.bytes().await?) }))
            };
            match self.wait(name, request)? {
                (bytes, None) => Err(StoreError::TooLong { name: self.shown(name), bytes, most }),
                (bytes, Some(found)) if found.len() as u64 != bytes => {
                    Err(self.cut_short(name, found.len() as u64, bytes))
                }
                (_, Some(found)) => Ok(found.into()),
            }
        });
        match read {
            Ok(found) => Ok(Some(found)),
            Err(StoreError::Absent { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads an object to its end, some megabytes at a time; gives its bytes.
    ///
    /// # Errors
    /// Returns [`StoreError::Absent`] if there is no such object; passes on the error of `seen`.
    pub fn scan(&self, name: &str, seen: &mut dyn FnMut(&[u8]) -> Result<(), StoreError>) -> Result<u64, StoreError> {
        let Some(meta) = self.meta(name)? else { return Err(StoreError::Absent { name: self.shown(name) }) };
        let mut at = 0;
        while at < meta.size {
            let part = self.part(name, &meta, at..meta.size.min(at + READ))?;
            at += part.len() as u64;
            seen(&part)?;
        }
        Ok(meta.size)
    }

    /// A part of an object, which must not have changed since.
    fn part(&self, name: &str, meta: &ObjectMeta, range: std::ops::Range<u64>) -> Result<Vec<u8>, StoreError> {
        let expected = range.end - range.start;
        let options = GetOptions { range: Some(range.into()), if_match: meta.e_tag.clone(), ..GetOptions::default() };
        self.again(|| {
            let request = async { self.objects.get_opts(&meta.location, options.clone()).await?.bytes().await };
            let bytes = self.wait(name, request)?;
            if bytes.len() as u64 != expected {
                return Err(self.cut_short(name, bytes.len() as u64, expected));
            }
            Ok(bytes.into())
        })
    }

    fn cut_short(&self, name: &str, sent: u64, of: u64) -> StoreError {
        StoreError::Failed { name: self.shown(name), why: format!("it sent {sent} bytes of {of}") }
    }

    /// Repeats reads that break off: the client repeats failed requests, but not requests whose answers break off.
    fn again<T>(&self, read: impl Fn() -> Result<T, StoreError>) -> Result<T, StoreError> {
        let (until, mut pause) = (Instant::now() + self.patience, PAUSE);
        loop {
            match read() {
                Err(StoreError::Failed { .. }) if Instant::now() + pause < until && !self.cancel.wait(pause) => {
                    pause *= 2
                }
                other => return other,
            }
        }
    }

    pub(crate) fn meta(&self, name: &str) -> Result<Option<ObjectMeta>, StoreError> {
        match self.wait(name, self.objects.head(&self.name(name))) {
            Ok(meta) => Ok(Some(meta)),
            Err(StoreError::Absent { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The bytes of an object, and when it was written, without reading it; `None` if there is none.
    pub fn find(&self, name: &str) -> Result<Option<Object>, StoreError> {
        let object =
            |meta: ObjectMeta| Object { name: name.to_owned(), bytes: meta.size, modified: meta.last_modified.into() };
        Ok(self.meta(name)?.map(object))
    }

    /// Writes an object, in one request. It is there as a whole or not at all.
    pub fn write(&self, name: &str, bytes: Vec<u8>) -> Result<(), StoreError> {
        self.wait(name, self.objects.put(&self.name(name), bytes.into())).map(drop)
    }

    /// Writes an object if there is none; false if there is one.
    pub fn create(&self, name: &str, bytes: Vec<u8>) -> Result<bool, StoreError> {
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        let to = self.name(name);
        let request = async {
            match self.objects.put_opts(&to, bytes.into(), options).await {
                Ok(_) => Ok(true),
                Err(object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. }) => Ok(false),
                Err(error) => Err(error),
            }
        };
        self.wait(name, request)
    }

    /// Removes an object that may not be there.
    pub fn remove(&self, name: &str) -> Result<(), StoreError> {
        match self.wait(name, self.objects.delete(&self.name(name))) {
            Err(StoreError::Absent { .. }) => Ok(()),
            other => other,
        }
    }

    /// Waits a moment for a request that tidies up, also when the work is cancelled.
    pub(crate) fn finish_soon(&self, request: impl Future<Output = object_store::Result<()>>) {
        // A failed removal is left for the next run.
        let _ = self.runtime.block_on(async { tokio::time::timeout(MOMENT, request).await });
    }

    /// Removes an object, and does not wait long for it.
    pub(crate) fn remove_soon(&self, name: &str) {
        self.finish_soon(self.objects.delete(&self.name(name)));
    }

    /// All objects whose names begin with these parts, by name.
    pub fn list(&self, below: &str) -> Result<Vec<Object>, StoreError> {
        let prefix = self.name(below);
        let found: Vec<ObjectMeta> = self.again(|| self.wait(below, self.objects.list(Some(&prefix)).try_collect()))?;
        let before = self.prefix.parts().count();
        let named = |meta: ObjectMeta| Object {
            name: Name::from_iter(meta.location.parts().skip(before)).to_string(),
            bytes: meta.size,
            modified: meta.last_modified.into(),
        };
        let mut objects: Vec<Object> = found.into_iter().map(named).collect();
        objects.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(objects)
    }
}

fn bucket_of(bucket: &str, options: &Options) -> Result<impl ObjectStore, StoreError> {
    // The first caller in the process chooses; this is the one that all of Cairn has.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (mut builder, mut given) = (AmazonS3Builder::new(), Vec::new());
    for (name, value) in &options.settings {
        // Others have settings with such names, too.
        if let Ok(key) = name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>() {
            builder = builder.with_config(key, value);
            given.push(key);
        }
    }
    builder = builder.with_bucket_name(bucket).with_retry(RetryConfig {
        // The time ends it.
        max_retries: 10_000,
        retry_timeout: options.patience,
        ..RetryConfig::default()
    });
    let client = |key| AmazonS3ConfigKey::Client(key);
    let mut or = |key: AmazonS3ConfigKey, value: String| {
        if !given.contains(&key) {
            builder = std::mem::take(&mut builder).with_config(key, value);
        }
    };
    or(AmazonS3ConfigKey::Checksum, Checksum::SHA256.to_string());
    or(client(ClientConfigKey::Timeout), format!("{} s", options.timeout.as_secs().max(1)));
    or(client(ClientConfigKey::ConnectTimeout), "5 s".to_owned());
    let endpoints = [AmazonS3ConfigKey::S3Endpoint, AmazonS3ConfigKey::Endpoint];
    // The first one that is set is used.
    if is_local_http(endpoints.iter().find_map(|key| builder.get_config_value(key))) {
        builder = builder.with_allow_http(true);
    }
    builder.build().map_err(|error| StoreError::Settings(error.to_string()))
}

/// True for an endpoint without TLS on this machine, which needs none.
fn is_local_http(endpoint: Option<String>) -> bool {
    let Some(rest) = endpoint.as_deref().and_then(|endpoint| endpoint.strip_prefix("http://")) else { return false };
    let authority = rest.split('/').next().unwrap_or_default();
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.chars().all(|c| c.is_ascii_digit()) => host,
        _ => authority,
    };
    matches!(host, "127.0.0.1" | "localhost" | "[::1]")
}

#[cfg(test)]
mod tests {
    use super::is_local_http;

    #[test]
    fn only_this_machine_needs_no_tls() {
        for (endpoint, local) in [
            ("http://127.0.0.1:9000", true),
            ("http://localhost", true),
            ("http://[::1]:9000/x", true),
            ("http://127.0.0.1.evil.example", false),
            ("http://localhost:9000@evil.example", false),
            ("https://127.0.0.1", false),
            ("http://10.0.0.1", false),
        ] {
            assert_eq!(is_local_http(Some(endpoint.to_owned())), local, "{endpoint}");
        }
        assert!(!is_local_http(None));
    }
}
