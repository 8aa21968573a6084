//! A document: rows that an operator imports or a fetcher brings at one time.

use crate::{
    BadListing, Claim, ClaimList, Contest, ContestAct, DocumentHash, Listing, Provenance, QuoteRow, Slug,
    codec::MAX_TEXT,
};

/// A document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Document {
    /// Its provenance.
    pub provenance: Provenance,
    /// When an index took it first, in seconds since 1970; `None` if none has.
    pub received_at: Option<u32>,
    /// Its content.
    pub body: Body,
}

/// Content of a document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Body {
    /// Prices or exchange rates: ascending by series and time, one row for each.
    Quotes(Vec<QuoteRow>),
    /// Another document no longer holds, and never will again.
    Withdrawal {
        /// Hash of that document.
        document: DocumentHash,
        /// Why.
        reason: String,
    },
    /// Claims about scripts: ascending by row.
    Claims {
        /// The list that they are on.
        list: ClaimList,
        /// The claims.
        rows: Vec<Claim>,
    },
    /// Tags of mining pools, or profiles of entities: ascending by row. A document is the whole list as of its time of
    /// retrieval.
    Listing {
        /// The list's name among those of the source.
        list: Slug,
        /// Its rows.
        rows: Listing,
    },
    /// A party contests a statement, or the operator ends a contest.
    Contest(Box<Contest>),
}

/// Most rows of a document: it is taken in one step, in memory. A longer file becomes several documents.
pub const MAX_ROWS: usize = 250_000;

/// A document that the ledger does not take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadDocument {
    /// Its rows are not in order, or two are of the same series and time.
    #[error(
        "row {0} of the document does not follow the one before: sort the rows by series and time, one for each time"
    )]
    Order(usize),
    /// A time is not a multiple of the interval.
    #[error("row {0} of the document closes at a time that is not a multiple of its interval")]
    Time(usize),
    /// A number is not a price.
    #[error("row {0} of the document has a price that is not above zero, or a volume below zero")]
    Price(usize),
    /// Its claims are not in order, or two are of the same row.
    #[error("claim {0} of the document does not follow the one before: sort the claims by row, one for each row")]
    Row(usize),
    /// A claim breaks a rule.
    #[error("claim {0} of the document has {1}")]
    Claim(usize, &'static str),
    /// Its list breaks a rule.
    #[error(transparent)]
    Listing(#[from] BadListing),
    /// A contest breaks a rule.
    #[error("the contest has {0}")]
    Contest(&'static str),
    /// It has no rows.
    #[error("the document has no rows")]
    Empty,
    /// It has more than [`MAX_ROWS`] rows.
    #[error("the document has {0} rows; at most {MAX_ROWS} are taken: split the file")]
    TooLong(usize),
    /// It withdraws itself.
    #[error("the document withdraws itself")]
    Itself,
    /// A text is longer than [`MAX_TEXT`] bytes.
    #[error("the {0} of the document is longer than {MAX_TEXT} bytes")]
    Text(&'static str),
}

impl Body {
    /// True if it blanks statements of other documents.
    #[must_use]
    pub fn redacts(&self) -> bool {
        matches!(self, Body::Contest(contest) if contest.act == ContestAct::Redacts)
    }
}

impl Document {
    /// Checks the rules that the type does not enforce.
    pub fn check(&self) -> Result<(), BadDocument> {
        if self.provenance.origin.len() > MAX_TEXT {
            return Err(BadDocument::Text("origin"));
        }
        match &self.body {
            Body::Withdrawal { reason, .. } if reason.len() > MAX_TEXT => Err(BadDocument::Text("reason")),
            Body::Withdrawal { document, .. } if *document == self.provenance.document => Err(BadDocument::Itself),
            Body::Withdrawal { .. } => Ok(()),
            Body::Quotes(rows) => check_count(rows.len()).and_then(|()| check_quotes(rows)),
            Body::Claims { rows, .. } => check_count(rows.len()).and_then(|()| check_claims(rows)),
            Body::Listing { rows, .. } => check_count(rows.len()).and_then(|()| Ok(rows.check()?)),
            Body::Contest(contest) => contest.check().map_err(BadDocument::Contest),
        }
    }

    /// Number of rows; 0 if it is a withdrawal or a contest.
    #[must_use]
    pub fn count(&self) -> usize {
        match &self.body {
            Body::Quotes(rows) => rows.len(),
            Body::Claims { rows, .. } => rows.len(),
            Body::Listing { rows, .. } => rows.len(),
            Body::Withdrawal { .. } | Body::Contest(_) => 0,
        }
    }

    /// The quotes; empty if it is of another kind.
    #[must_use]
    pub fn rows(&self) -> &[QuoteRow] {
        match &self.body {
            Body::Quotes(rows) => rows,
            Body::Claims { .. } | Body::Listing { .. } | Body::Withdrawal { .. } | Body::Contest(_) => &[],
        }
    }
}

fn check_count(count: usize) -> Result<(), BadDocument> {
    match count {
        0 => Err(BadDocument::Empty),
        count if count > MAX_ROWS => Err(BadDocument::TooLong(count)),
        _ => Ok(()),
    }
}

fn check_quotes(rows: &[QuoteRow]) -> Result<(), BadDocument> {
    for (at, row) in rows.iter().enumerate() {
        let order = |row: &QuoteRow| (row.series, row.closes_at);
        if at > 0 && order(&rows[at - 1]) >= order(row) {
            return Err(BadDocument::Order(at + 1));
        }
        if !row.closes_at.is_multiple_of(row.series.interval.seconds()) {
            return Err(BadDocument::Time(at + 1));
        }
        if !row.quote.is_sound() {
            return Err(BadDocument::Price(at + 1));
        }
    }
    Ok(())
}

fn check_claims(rows: &[Claim]) -> Result<(), BadDocument> {
    let mut before = 0;
    for (at, claim) in (1..).zip(rows) {
        if claim.row <= before {
            return Err(BadDocument::Row(at));
        }
        before = claim.row;
        claim.check().map_err(|what| BadDocument::Claim(at, what))?;
    }
    Ok(())
}
