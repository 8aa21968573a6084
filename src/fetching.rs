//! Runs the price fetchers in a thread next to the follower, and gives them access to the ledger.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    thread::{self, JoinHandle},
};

use cairn_events::{Document, LiveQuote, Series, Slug};
use cairn_fetch::live::{Fetchers, Figures, Ledger, Settings, SettingsError};
use cairn_follow::NewestQuotes;
use cairn_link::{IndexSlot, IndexSource};
use cairn_model::CancelToken;
use cairn_pipeline::{INBOX, put_into_inbox};
use cairn_reader::ReadError;
use cairn_tables::events::{Candle, QuoteVersion, QuoteVersions};
use prometheus::Registry;

use crate::exit::{Exit, Failure};

/// The index that this process writes, its inbox, and the newest prices.
pub(crate) struct IndexLedger {
    slot: Arc<IndexSlot>,
    inbox: PathBuf,
    datadir: PathBuf,
    newest: NewestQuotes,
}

impl IndexLedger {
    /// Creates the ledger of the index in a data folder.
    pub(crate) fn new(slot: Arc<IndexSlot>, datadir: &Path, newest: NewestQuotes) -> Self {
        IndexLedger { slot, inbox: datadir.join(INBOX), datadir: datadir.to_owned(), newest }
    }

    fn last_in(&self, source: &Slug, series: Series, since: u32) -> Result<Option<u32>, ReadError> {
        let Some(reader) = self.slot.reader() else { return Ok(None) };
        let view = reader.view()?;
        let first = QuoteVersion {
            candle: Candle { series, closes_at: since },
            source: source.clone(),
            retrieved_at: 0,
            document: [0; 8],
        };
        let mut last = None;
        for row in view.scan::<QuoteVersions>(Some(&first))? {
            let (version, _) = row?;
            if version.candle.series != series {
                break;
            }
            if version.source == *source {
                last = Some(version.candle.closes_at);
            }
        }
        Ok(last)
    }
}

impl Ledger for IndexLedger {
    fn is_ready(&self) -> bool {
        // An index without blocks takes no documents: the waiting ones are not in the ledger yet.
        let has_blocks = || self.slot.reader().is_some_and(|reader| reader.view().is_ok());
        let is_empty = || match fs::read_dir(&self.inbox) {
            Ok(mut files) => {
                !files.any(|file| file.is_ok_and(|file| file.path().extension().is_some_and(|e| e == "events")))
            }
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        has_blocks() && is_empty()
    }

    fn last(&self, source: &Slug, series: Series, since: u32) -> Result<Option<u32>, String> {
        self.last_in(source, series, since).map_err(|error| format!("the ledger cannot be read: {error}"))
    }

    fn hand_in(&self, document: Document) -> Result<(), String> {
        put_into_inbox::<io::Error>(&self.datadir, |add| add(&document))
            .map(|_| ())
            .map_err(|error| format!("{}: {error}", self.inbox.display()))
    }

    fn publish(&self, quotes: Vec<LiveQuote>) {
        self.newest.put(quotes);
    }
}

/// Fetchers that are not started yet.
pub(crate) struct Fetching {
    fetchers: Fetchers<IndexLedger>,
    stop: CancelToken,
}

impl Fetching {
    /// Creates fetchers with these settings.
    ///
    /// # Errors
    /// Fails if the settings do not fit together, or the registry already has metrics with these names.
    pub(crate) fn new(settings: &Settings, ledger: IndexLedger, registry: &Registry) -> Result<Self, Failure> {
        let stop = CancelToken::new();
        let figures = Figures::register(registry).map_err(|error| Failure::new(Exit::Other, error.to_string()))?;
        let fetchers = Fetchers::new(settings, ledger, figures, &stop)?;
        tracing::info!(sources = settings.sources.join(","), "prices are fetched");
        Ok(Fetching { fetchers, stop })
    }

    /// Starts their thread. It ends when the result is dropped.
    pub(crate) fn start(self) -> io::Result<Running> {
        let fetchers = self.fetchers;
        let thread = thread::Builder::new().name("prices".to_owned()).spawn(move || fetchers.run())?;
        Ok(Running { thread: Some(thread), stop: self.stop })
    }
}

pub(crate) struct Running {
    thread: Option<JoinHandle<()>>,
    stop: CancelToken,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.cancel();
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            // Blocks are more important: indexing continues without prices.
            tracing::error!("the thread of the prices panicked; this is a bug");
        }
    }
}

impl From<SettingsError> for Failure {
    fn from(error: SettingsError) -> Self {
        Failure::usage(error.to_string())
    }
}
