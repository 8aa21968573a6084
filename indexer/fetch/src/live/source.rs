//! A source: where it is, whether it answers, and what its log lines say.

use std::collections::BTreeMap;

use cairn_events::Slug;

use super::{
    LIMITS, SettingsError,
    backoff::{Backoff, chance},
    figures::Figures,
};
use crate::{
    Answer, Client, FetchError, Url, Validators,
    providers::{AnswerError, Provider},
};

pub(super) struct Source {
    pub(super) provider: &'static dyn Provider,
    pub(super) slug: Slug,
    home: Url,
    backoff: Backoff,
    /// Requests that fail at present: the request in words, and why.
    failing: BTreeMap<String, String>,
}

/// Why a request brought nothing.
#[derive(Debug)]
pub(super) enum RequestError {
    /// No answer.
    Fetch(FetchError),
    /// Another answer than expected.
    Answer(AnswerError),
    /// Its result cannot be stored.
    Ledger(String),
}

impl std::fmt::Display for RequestError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RequestError::Fetch(error) => error.fmt(f),
            RequestError::Answer(wrong) => wrong.fmt(f),
            RequestError::Ledger(reason) => f.write_str(reason),
        }
    }
}

impl RequestError {
    /// True if other requests to the source would fare no better.
    fn is_of_source(&self) -> bool {
        match self {
            RequestError::Fetch(FetchError::TooLong { .. }) | RequestError::Ledger(_) => false,
            RequestError::Fetch(_) => true,
            RequestError::Answer(AnswerError::Refused { status, is_limit, .. }) => *is_limit || *status >= 500,
            RequestError::Answer(_) => false,
        }
    }
}

pub(super) struct GoodAnswer {
    pub(super) content: Vec<u8>,
    /// The server's time, if the answer has it.
    pub(super) date: Option<u32>,
    /// The URL, without secrets.
    pub(super) url: String,
}

impl Source {
    pub(super) fn new(provider: &'static dyn Provider, home: Url) -> Result<Self, SettingsError> {
        let slug = provider.name().parse()?;
        Ok(Source { provider, slug, home, backoff: Backoff::default(), failing: BTreeMap::new() })
    }

    /// True if it may be asked.
    pub(super) fn is_open(&self, now: u32) -> bool {
        self.backoff.is_open(now)
    }

    /// Until when it is left alone.
    pub(super) fn until(&self) -> u32 {
        self.backoff.until()
    }

    pub(super) fn ask(
        &mut self,
        client: &Client,
        figures: &Figures,
        path: &str,
        now: u32,
    ) -> Result<GoodAnswer, RequestError> {
        figures.fetches.with_label_values(&[self.provider.name()]).inc();
        // Shown with the first request: an increase from nothing to 1 would not be seen as one.
        figures.failures.with_label_values(&[self.provider.name()]);
        figures.candles.with_label_values(&[self.provider.name()]);
        let url = self.home.below(path).map_err(|error| RequestError::Fetch(error.into()))?;
        let answer = client.get(&url, LIMITS, &Validators::default());
        let retry_after = answer.as_ref().ok().and_then(|answer| answer.retry_after);
        let answer = answer.map_err(RequestError::Fetch).and_then(|answer| self.look(answer));
        match &answer {
            Err(failed) if failed.is_of_source() => self.backoff.failed(now, retry_after, chance()),
            // It answers, whatever it says.
            _ => self.backoff.succeeded(),
        }
        answer
    }

    fn look(&self, answer: Answer) -> Result<GoodAnswer, RequestError> {
        let url = answer.url.shown();
        let content = answer.body.content().map_err(|error| {
            RequestError::Fetch(FetchError::Protocol {
                url: url.clone(),
                reason: format!("the answer cannot be decoded: {error}"),
            })
        })?;
        match self.provider.refusal(answer.status, &content) {
            Some(wrong) => Err(RequestError::Answer(wrong)),
            None => Ok(GoodAnswer { content, date: answer.date, url }),
        }
    }

    /// Notes that a request worked; logs it if it was the last one that failed.
    pub(super) fn works(&mut self, what: &str) {
        if self.failing.remove(what).is_some() && self.failing.is_empty() {
            tracing::info!(source = self.provider.name(), "the source of prices works again");
        }
    }

    /// Notes that a request failed; warns if none had failed before.
    pub(super) fn fails(&mut self, figures: &Figures, what: &str, failed: &RequestError) {
        if matches!(failed, RequestError::Fetch(FetchError::Cancelled)) {
            return;
        }
        figures.failures.with_label_values(&[self.provider.name()]).inc();
        let (source, is_first) = (self.provider.name(), self.failing.is_empty());
        if is_first {
            tracing::warn!(source, what, error = %failed, "a source of prices fails; it is asked again");
        } else {
            tracing::debug!(source, what, error = %failed, "a source of prices fails");
        }
        self.failing.insert(what.to_owned(), failed.to_string());
    }
}
