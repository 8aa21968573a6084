//! The fetchers: a task of the writer that brings closed candles into the ledger, and publishes current prices.
//!
//! One thread asks one server at a time. Prices of the moment come first, once a minute; in between it asks for candles
//! that have closed since. It never touches the index: documents go to the inbox, prices to the follower.

mod backoff;
mod candles;
mod figures;
mod source;
mod tick;

use std::{collections::BTreeMap, time::Duration};

use cairn_events::{Document, LiveQuote, Series, Slug};
use cairn_inputs::Pair;
use cairn_model::{CancelToken, each_once};

pub use figures::Figures;

use crate::{
    Client, Limits, Url,
    providers::{self, Provider},
};
use candles::CandleJob;
use source::Source;

/// Limits of an answer of an exchange or a central bank.
const LIMITS: Limits = Limits { received: 1 << 20, unpacked: 4 << 20, time: Duration::from_secs(10) };
/// Seconds between two rounds of prices of the moment.
const TICKS: u32 = 60;
/// Longest sleep: a clock that is set is noticed within it.
const NAP: Duration = Duration::from_secs(5);

/// Settings of the fetchers.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Names of the providers.
    pub sources: Vec<String>,
    /// The pair.
    pub pairs: Vec<Pair>,
    /// Other places of providers, by name: mirrors, proxies, servers of tests.
    pub endpoints: BTreeMap<String, Url>,
    /// Addresses outside the public network are allowed.
    pub allows_private: bool,
}

impl Settings {
    /// Checks that they fit together.
    pub fn check(&self) -> Result<(), SettingsError> {
        self.plan().map(drop)
    }

    /// Returns the sources to ask, and the series of candles to fetch.
    fn plan(&self) -> Result<(Vec<Source>, Vec<CandleJob>), SettingsError> {
        let (mut sources, mut jobs): (Vec<Source>, Vec<CandleJob>) = (Vec::new(), Vec::new());
        for name in &self.sources {
            let provider = known(name)?;
            if sources.iter().any(|source| source.provider.name() == provider.name()) {
                continue;
            }
            let at = sources.len();
            let series = each_once(self.pairs.iter().flat_map(|pair| provider.series(*pair)));
            if series.is_empty() {
                let pairs = self.pairs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                return Err(SettingsError::NoPair { name: provider.name(), pairs });
            }
            let home = self.endpoints.get(provider.name()).cloned();
            let home = home.map_or_else(|| provider.info().home.parse(), Ok)?;
            sources.push(Source::new(provider, home)?);
            jobs.extend(series.into_iter().map(|series| CandleJob::new(at, series)));
        }
        for name in self.endpoints.keys() {
            if !sources.iter().any(|source| source.provider.name() == name) {
                return Err(SettingsError::Endpoint { name: name.clone() });
            }
        }
        Ok((sources, jobs))
    }
}

/// Settings that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// There is no such provider.
    #[error("unknown source of prices {name:?}; known are {known}")]
    Unknown {
        /// The name.
        name: String,
        /// All names.
        known: String,
    },
    /// The provider quotes none of the pairs.
    #[error("{name} quotes none of the pairs {pairs}: add one that it quotes to --price-pairs, or leave it out")]
    NoPair {
        /// The provider.
        name: &'static str,
        /// The pairs.
        pairs: String,
    },
    /// An endpoint of a provider that is not configured.
    #[error("--price-endpoint names {name:?}, which is not among --price-sources")]
    Endpoint {
        /// The name.
        name: String,
    },
    /// A URL that cannot be used.
    #[error(transparent)]
    Url(#[from] crate::UrlError),
    /// A name that is not a source.
    #[error(transparent)]
    Slug(#[from] cairn_events::SlugError),
}

/// The ledger, as the fetchers see it.
pub trait Ledger: Send {
    /// True if the ledger has taken all documents that were handed in, and can take more.
    fn is_ready(&self) -> bool;

    /// Returns the closing time of the source's newest candle, if it closed at `since` or later.
    fn last(&self, source: &Slug, series: Series, since: u32) -> Result<Option<u32>, String>;

    /// Hands in a document.
    fn hand_in(&self, document: Document) -> Result<(), String>;

    /// Keeps and publishes the prices of the moment, which replace those before.
    fn publish(&self, quotes: Vec<LiveQuote>);
}

/// The fetchers.
pub struct Fetchers<L> {
    client: Client,
    cancel: CancelToken,
    ledger: L,
    figures: Figures,
    sources: Vec<Source>,
    jobs: Vec<CandleJob>,
    pairs: Vec<Pair>,
    /// The last price of each pair.
    quotes: BTreeMap<usize, LiveQuote>,
    next_tick: u32,
}

impl<L: Ledger> Fetchers<L> {
    /// Fetchers with these settings. They ask nobody yet.
    pub fn new(settings: &Settings, ledger: L, figures: Figures, cancel: &CancelToken) -> Result<Self, SettingsError> {
        let (sources, jobs) = settings.plan()?;
        let client = Client::new(cancel, settings.allows_private);
        let pairs = settings.pairs.clone();
        let (cancel, quotes) = (cancel.clone(), BTreeMap::new());
        Ok(Fetchers { client, cancel, ledger, figures, sources, jobs, pairs, quotes, next_tick: 0 })
    }

    /// Fetches until cancelled.
    pub fn run(mut self) {
        while !self.cancel.is_cancelled() {
            let now = now();
            // A clock that was set back must not stop it.
            if now >= self.next_tick || self.next_tick - now > 2 * TICKS {
                self.next_tick = (now / TICKS + 1) * TICKS;
                self.tick(now);
                continue;
            }
            let next = match self.most_due(now) {
                Some(job) => {
                    self.fetch_candles(job, now);
                    continue;
                }
                None => self.jobs.iter().map(|job| job.due).min().unwrap_or(u32::MAX).min(self.next_tick),
            };
            let pause = Duration::from_secs(next.saturating_sub(now).max(1).into());
            self.cancel.wait(pause.min(NAP));
        }
    }

    /// The job that has been due for longest, if its source can be asked and the ledger takes documents.
    fn most_due(&self, now: u32) -> Option<usize> {
        let can = |job: &&CandleJob| job.due <= now && self.sources.get(job.source).is_some_and(|of| of.is_open(now));
        let job = self.jobs.iter().filter(can).min_by_key(|job| job.due)?;
        // Looked at last, since it reads a folder.
        let at = self.jobs.iter().position(|other| std::ptr::eq(other, job))?;
        self.ledger.is_ready().then_some(at)
    }
}

/// The provider of a name, in words of operators.
fn known(name: &str) -> Result<&'static dyn Provider, SettingsError> {
    let all = || providers::ALL.map(|provider| provider.name()).join(", ");
    providers::named(name).ok_or_else(|| SettingsError::Unknown { name: name.to_owned(), known: all() })
}

/// Seconds since 1970.
fn now() -> u32 {
    u32::try_from(cairn_clock::now_secs()).unwrap_or(u32::MAX)
}
