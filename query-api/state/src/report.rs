//! A report of a client about an address, as it is stored.

use crate::{MAX_REPORT_CHARS, MAX_REPORT_TXIDS, MAX_TEXT_CHARS, StateError, named::named, pool::stored_row};

named! {
    /// Decision of an operator about a report.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub enum Visibility {
        /// It is shown once it is paid.
        Shown = "shown",
        /// It waits for the operator.
        Held = "held",
        /// The operator has hidden it.
        Hidden = "hidden",
    }
}

/// A report to store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewReport {
    /// The address that it is about.
    pub address: String,
    /// SHA-256 of its script in hex.
    pub script_hash: String,
    /// Category of what is reported.
    pub category: String,
    /// The client's description: untrusted text.
    pub description: String,
    /// Ids of transactions that show it.
    pub evidence_txids: Vec<String>,
    /// A web page with evidence. Nothing ever fetches it.
    pub evidence_url: Option<String>,
    /// Until when it should be paid, in seconds since 1970.
    pub expires_at: u64,
    /// Satoshis that must be paid.
    pub amount_sats: u64,
    /// [`Visibility::Held`] if an operator must see it first.
    pub visibility: Visibility,
}

/// The block that publishes a report.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PublishingBlock {
    /// Its height.
    pub height: u32,
    /// Its hash in hex.
    pub hash: String,
}

/// The answer of whoever holds the key of a reported address. All times are in seconds since 1970.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reply {
    /// Its text, which is untrusted; `None` once an operator has erased it.
    pub text: Option<String>,
    /// When it was received.
    pub replied_at: u64,
}

/// A report. All times are in seconds since 1970.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// Its id: `rp_` and 32 hexadecimal digits.
    pub id: String,
    /// Content of the client.
    pub content: NewReport,
    /// When it was received.
    pub created_at: u64,
    /// The script that is paid to.
    pub payment_script: Vec<u8>,
    /// Its address.
    pub payment_address: String,
    /// Votes for it.
    pub up: u64,
    /// Votes against it.
    pub down: u64,
    /// The block that was last seen to publish it; a reorganization may have removed it since.
    pub published_in: Option<PublishingBlock>,
    /// The answer of whoever holds the key of the address.
    pub reply: Option<Reply>,
    /// When an operator erased the texts: description, URL and reply.
    pub erased_at: Option<u64>,
}

impl Report {
    /// Votes for it, less those against it.
    #[must_use]
    pub fn score(&self) -> i64 {
        i64::try_from(self.up).unwrap_or(i64::MAX).saturating_sub(i64::try_from(self.down).unwrap_or(i64::MAX))
    }
}

/// True for a text of at most `most` characters that is harmless in a terminal.
pub(crate) fn is_text(text: &str, most: usize) -> bool {
    let strange = |c: char| c.is_control() && c != '\n' && c != '\t';
    !text.trim().is_empty() && text.chars().count() <= most && !text.contains(strange)
}

impl NewReport {
    /// Checks that it can be stored: texts are bounded, and harmless in a terminal.
    pub(crate) fn check(&self) -> Result<(), StateError> {
        let short = |text: &str| text.len() <= MAX_TEXT_CHARS && !text.contains(char::is_control);
        let description = &self.description;
        let is_txid = |text: &String| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let fits = is_text(description, MAX_REPORT_CHARS)
            && self.evidence_txids.len() <= MAX_REPORT_TXIDS
            && self.evidence_txids.iter().all(is_txid)
            && [&self.address, &self.script_hash, &self.category].into_iter().all(|text| short(text))
            && self.evidence_url.as_deref().is_none_or(short);
        if fits { Ok(()) } else { Err(StateError::Report) }
    }
}

/// Columns of a report, in the order of [`StoredReport`].
macro_rules! columns {
    ($rest:literal) => {
        concat!(
            "SELECT address, script_hash, category, description, evidence_txids, evidence_url, visibility, ",
            "payment_script, payment_address, id, created_at, expires_at, amount_sats, up, down, published_height, ",
            "published_hash, reply, replied_at, erased_at FROM reports ",
            $rest
        )
    };
}
pub(crate) use columns;

stored_row! {
    pub(crate) struct StoredReport {
        address: String,
        script_hash: String,
        category: String,
        description: String,
        evidence_txids: String,
        evidence_url: Option<String>,
        visibility: String,
        payment_script: String,
        payment_address: String,
        id: String,
        created_at: i64,
        expires_at: i64,
        amount_sats: i64,
        up: i64,
        down: i64,
        published_height: Option<i64>,
        published_hash: Option<String>,
        reply: Option<String>,
        replied_at: Option<i64>,
        erased_at: Option<i64>,
    }
}

impl StoredReport {
    pub(crate) fn read(self) -> Result<Report, StateError> {
        let bad = |what: &str| StateError::Row(format!("report {} has an invalid {what}", self.id));
        let number = |number: i64| u64::try_from(number).map_err(|_| bad("number"));
        let visibility = Visibility::ALL.into_iter().find(|one| one.name() == self.visibility);
        let block = |(height, hash)| {
            Ok::<_, StateError>(PublishingBlock { height: u32::try_from(height).map_err(|_| bad("height"))?, hash })
        };
        let reply = |at| Ok::<_, StateError>(Reply { text: self.reply.clone(), replied_at: number(at)? });
        let reply = self.replied_at.map(reply).transpose()?;
        let erased_at = self.erased_at.map(number).transpose()?;
        let txids = self.evidence_txids.split(' ').filter(|txid| !txid.is_empty());
        let content = NewReport {
            evidence_txids: txids.map(str::to_owned).collect(),
            expires_at: number(self.expires_at)?,
            amount_sats: number(self.amount_sats)?,
            visibility: visibility.ok_or_else(|| bad("visibility"))?,
            address: self.address,
            script_hash: self.script_hash,
            category: self.category,
            description: self.description,
            evidence_url: self.evidence_url,
        };
        Ok(Report {
            created_at: number(self.created_at)?,
            payment_script: hex::decode(&self.payment_script).map_err(|_| bad("script"))?,
            up: number(self.up)?,
            down: number(self.down)?,
            published_in: self.published_height.zip(self.published_hash).map(block).transpose()?,
            reply,
            erased_at,
            payment_address: self.payment_address,
            content,
            id: self.id.clone(),
        })
    }
}
