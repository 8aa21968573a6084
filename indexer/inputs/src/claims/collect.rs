//! From what a row says to a claim, or to a line of the report.

use std::{collections::HashSet, sync::Arc};

use cairn_events::{
    Behaviour, Category, Claim, ClaimType, EntityName, EvidenceTier, Listed, Profile,
    claim::{MAX_NAME, MAX_NOTE, plain},
};
use jiff::civil::Date;
use sha2::{Digest, Sha256};

use super::{
    address::{is_bitcoin, script_of},
    options::{ClaimLayout, ClaimOptions},
    report::{ClaimCode, ClaimReport, count_name},
};
use crate::{
    error::InputError,
    time::{TimeFormat, seconds},
};

/// Most claims of a file. Each takes 8 bytes to find repeats: 120 MB at most while their table grows.
const MAX_CLAIMS: u64 = 4_000_000;

/// The content of a row. Texts are as in the file.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Draft<'a> {
    pub(super) address: &'a str,
    /// Empty if the row does not say.
    pub(super) currency: &'a str,
    pub(super) claim_type: Option<ClaimType>,
    pub(super) tier: Option<EvidenceTier>,
    pub(super) level: Option<u8>,
    /// A name for look-ups; empty if the row does not say.
    pub(super) entity: &'a str,
    pub(super) entity_name: &'a str,
    pub(super) category: Option<Category>,
    pub(super) behaviour: Option<Behaviour>,
    pub(super) label: &'a str,
    pub(super) source_url: &'a str,
    pub(super) origin_url: &'a str,
    pub(super) note: &'a str,
    pub(super) asserted_at: &'a str,
    pub(super) valid_from: &'a str,
    pub(super) valid_to: &'a str,
    /// `None`: true for claims that make members, from level 40.
    pub(super) is_inherited: Option<bool>,
    pub(super) is_person: bool,
}

/// An error of a row: its code, the field, and the text in it.
pub(super) type Fault<'a> = (ClaimCode, &'static str, &'a str);

pub(super) struct Collector<'a> {
    pub(super) report: ClaimReport,
    pub(super) options: &'a ClaimOptions,
    deliver: &'a mut dyn FnMut(Claim),
    seen: HashSet<u64>,
    /// The texts of the last claim, which are used again where they are the same.
    texts: [Arc<str>; 6],
    /// Notes on the row, reported once it is taken.
    notes: Vec<(ClaimCode, &'static str, String)>,
}

impl<'a> Collector<'a> {
    pub(super) fn new(layout: ClaimLayout, options: &'a ClaimOptions, deliver: &'a mut dyn FnMut(Claim)) -> Self {
        let texts = std::array::from_fn(|_| Arc::from(""));
        let report = ClaimReport::new(layout);
        Collector { report, options, deliver, seen: HashSet::new(), texts, notes: Vec::new() }
    }

    /// Counts a row; its number as claims have it.
    pub(super) fn row(&mut self, row: u64) -> Result<u32, InputError> {
        self.report.rows = self.report.rows.saturating_add(1);
        self.notes.clear();
        u32::try_from(row).map_err(|_| InputError::TooManyRows(u32::MAX.into()))
    }

    /// A note on the row that is read.
    pub(super) fn note(&mut self, code: ClaimCode, field: &'static str, value: &str) {
        // A row has few fields, so this is bounded.
        self.notes.push((code, field, value.chars().take(100).collect()));
    }

    /// Refuses a row that was counted.
    pub(super) fn refuse(&mut self, row: u32, field: Option<&str>, code: ClaimCode, value: &str) {
        self.report.tell(row.into(), field, code, value);
    }

    /// Refuses a row about another asset.
    pub(super) fn refuse_asset(&mut self, row: u32, asset: &str) {
        count_name(&mut self.report.other_assets, &asset.to_ascii_uppercase());
        self.report.tell(row.into(), None, ClaimCode::OtherAsset, "");
    }

    /// Takes a row that was counted, or refuses it.
    pub(super) fn take(&mut self, row: u32, draft: &Draft<'_>) -> Result<(), InputError> {
        let script = match self.script(row, draft) {
            Some(script) => script,
            None => return Ok(()),
        };
        self.take_script(row, script, draft)
    }

    /// The script of a row; without one the row was refused.
    pub(super) fn script(&mut self, row: u32, draft: &Draft<'_>) -> Option<Arc<[u8]>> {
        let has_scripts = matches!(self.report.layout, ClaimLayout::Facts | ClaimLayout::Csv);
        let is_ours = draft.currency.is_empty() || is_bitcoin(draft.currency);
        let read = script_of(draft.address, self.options.network, has_scripts);
        match read {
            Ok(script) if is_ours => return Some(script),
            // A Bitcoin address that a list of sanctions has under another asset is worth a look.
            Ok(_) if self.report.layout == ClaimLayout::SdnAdvanced => {
                self.refuse(row, Some("address"), ClaimCode::ListedUnderOtherAsset, draft.address);
            }
            _ if !is_ours => self.refuse_asset(row, draft.currency),
            Err((ClaimCode::OtherAsset, Some(_))) if !draft.currency.is_empty() => {
                self.refuse(row, Some("address"), ClaimCode::ListedUnderOtherAsset, draft.address);
            }
            Err((ClaimCode::OtherAsset, Some(asset))) => self.refuse_asset(row, asset),
            Err((code, _)) => self.refuse(row, Some("address"), code, draft.address),
            Ok(_) => {}
        }
        None
    }

    /// Takes a row that was counted, or refuses it.
    pub(super) fn take_script(&mut self, row: u32, script: Arc<[u8]>, draft: &Draft<'_>) -> Result<(), InputError> {
        let claim = match self.claim(row, script, draft) {
            Ok(claim) => claim,
            Err((code, field, value)) => {
                self.refuse(row, Some(field), code, value);
                return Ok(());
            }
        };
        if let Err(what) = claim.check() {
            let code = if what.starts_with("an end") { ClaimCode::Period } else { ClaimCode::Empty };
            self.refuse(row, None, code, "");
            return Ok(());
        }
        if !self.seen.insert(fingerprint(&claim)) {
            self.refuse(row, Some("address"), ClaimCode::Repeated, draft.address);
            return Ok(());
        }
        if self.report.taken >= MAX_CLAIMS {
            return Err(InputError::TooManyRows(MAX_CLAIMS));
        }
        self.took(row, claim.asserted_at);
        self.report.persons += u64::from(claim.is_person);
        (self.deliver)(claim);
        Ok(())
    }

    /// Takes the profile of a row that was counted, or refuses it. A file has one of each entity.
    pub(super) fn take_profile(&mut self, profile: Profile) -> Result<(), InputError> {
        let (row, entity) = (profile.row, profile.entity.as_str());
        if profile.check().is_err() {
            self.refuse(row, None, ClaimCode::Empty, "");
            return Ok(());
        }
        if !self.seen.insert(first_bytes(&Sha256::digest(entity))) {
            self.refuse(row, Some("id"), ClaimCode::Repeated, entity);
            return Ok(());
        }
        if self.report.profiles.len() == Profile::MAX {
            return Err(InputError::TooManyRows(Profile::MAX as u64));
        }
        self.took(row, profile.asserted_at);
        self.report.profiles.push(profile);
        Ok(())
    }

    /// Counts a row that is taken, and reports its notes.
    fn took(&mut self, row: u32, asserted_at: Option<u32>) {
        for (code, field, value) in std::mem::take(&mut self.notes) {
            self.report.tell(row.into(), Some(field), code, &value);
        }
        self.report.taken += 1;
        self.report.newest = self.report.newest.max(asserted_at);
    }

    fn claim<'d>(&mut self, row: u32, script: Arc<[u8]>, draft: &Draft<'d>) -> Result<Claim, Fault<'d>> {
        let defaults = &self.options.defaults;
        let claim_type = draft.claim_type.or(defaults.claim_type).unwrap_or(ClaimType::ReportedAs);
        let tier = draft.tier.or(defaults.tier).unwrap_or(EvidenceTier::Community);
        if tier == EvidenceTier::ClusterInherited {
            return Err((ClaimCode::UnknownWord, "evidence_tier", "cluster_inherited"));
        }
        let level = draft.level.or(defaults.level).unwrap_or_else(|| tier.level());
        if level > 100 {
            return Err((ClaimCode::BadLevel, "level", ""));
        }
        let (category, behaviour) = (draft.category.or(defaults.category), draft.behaviour.or(defaults.behaviour));
        let is_nobody = is_placeholder(draft.entity) || is_placeholder(draft.entity_name);
        let entity = match draft.entity {
            _ if is_nobody => None,
            "" => EntityName::from_words(draft.entity_name).or_else(|| defaults.entity.clone()),
            name => Some(name.parse::<EntityName>().map_err(|_| (ClaimCode::BadEntity, "entity", name))?),
        };
        // A placeholder is not a name, but it is the label of the source.
        let label = if draft.label.is_empty() && is_nobody { draft.entity_name } else { draft.label };
        let [asserted_at, valid_from, valid_to] = [
            time(draft.asserted_at).ok_or((ClaimCode::BadTime, "asserted_at", draft.asserted_at))?,
            time(draft.valid_from).ok_or((ClaimCode::BadTime, "valid_from", draft.valid_from))?,
            time(draft.valid_to).ok_or((ClaimCode::BadTime, "valid_to", draft.valid_to))?,
        ];
        let asserted_at = asserted_at.or(defaults.asserted_at);
        if asserted_at.is_some_and(|at| at > self.options.now) {
            return Err((ClaimCode::Future, "asserted_at", draft.asserted_at));
        }
        Ok(Claim {
            row,
            script,
            claim_type,
            tier,
            level,
            entity_name: self.text(0, "entity_name", if is_nobody { "" } else { draft.entity_name }, MAX_NAME),
            entity,
            category,
            behaviour,
            label: self.text(1, "label", label, MAX_NAME),
            source_url: self.url(2, "source_url", draft.source_url),
            origin_url: self.url(3, "origin_url", draft.origin_url),
            note: self.text(4, "note", draft.note, MAX_NOTE),
            asserted_at,
            valid_from,
            valid_to,
            is_inherited: draft.is_inherited.unwrap_or(claim_type.makes_members() && level >= 40),
            is_person: draft.is_person,
            is_redacted: false,
        })
    }

    /// A text as a claim has it, with a note on what was left out.
    pub(super) fn text(&mut self, at: usize, field: &'static str, text: &str, most: usize) -> Arc<str> {
        let text = text.trim();
        if self.texts.get(at).is_some_and(|before| &**before == text) {
            return self.texts.get(at).map(Arc::clone).unwrap_or_default();
        }
        let out = plain(text, most);
        let whole = if text.len() > most { plain(text, text.len()) } else { Arc::clone(&out) };
        if whole.len() > out.len() {
            self.note(ClaimCode::Shortened, field, &out);
        }
        let is_hidden =
            |letter: char| !letter.is_whitespace() && !cairn_events::claim::is_plain(letter.encode_utf8(&mut [0; 4]));
        if text.contains(is_hidden) {
            self.note(ClaimCode::Cleaned, field, &out);
        }
        if out.starts_with(['=', '+', '-', '@']) && out.len() > 1 {
            self.note(ClaimCode::Formula, field, &out);
        }
        if let Some(before) = self.texts.get_mut(at) {
            *before = Arc::clone(&out);
        }
        out
    }

    fn url(&mut self, at: usize, field: &'static str, text: &str) -> Arc<str> {
        if text.is_empty() || is_url(text) {
            return self.text(at, field, text, MAX_NOTE);
        }
        self.note(ClaimCode::NotUrl, field, text);
        Arc::from("")
    }
}

/// True for an address of the web.
pub(super) fn is_url(text: &str) -> bool {
    ["https://", "http://"].iter().any(|scheme| {
        text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)) && text.len() > scheme.len()
    })
}

/// True for words of sources that name nobody: "unnamed", "not named", "unknown …", "OFAC SDN entry 1234".
pub(super) fn is_placeholder(name: &str) -> bool {
    let letter = |letter: char| if letter.is_alphanumeric() { letter.to_ascii_lowercase() } else { ' ' };
    let text: String = name.chars().take(MAX_NAME).map(letter).collect();
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    words.first().is_some_and(|word| *word == "unknown")
        || words.iter().any(|word| matches!(*word, "unnamed" | "unidentified"))
        || words.windows(2).any(|pair| pair == ["not", "named"])
        || words.windows(3).any(|three| matches!(three, ["sdn", "entry", number] if is_number(number)))
}

/// Seconds since 1970 (UTC) of a day, a time, a month (`2018-04`, its first day) or a year; `Some(None)` of nothing.
pub(super) fn time(text: &str) -> Option<Option<u32>> {
    let text = text.trim();
    if text.is_empty() {
        return Some(None);
    }
    let has_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let second = match (text.len(), text.split_once('-')) {
        (4, None) if has_digits(text) => month_start(text, "1")?,
        (7, Some((year, month))) if has_digits(year) && has_digits(month) => month_start(year, month)?,
        _ => seconds(text, &TimeFormat::Any, None).ok()?,
    };
    u32::try_from(second).ok().map(Some)
}

fn month_start(year: &str, month: &str) -> Option<i64> {
    let date = Date::new(year.parse().ok()?, month.parse().ok()?, 1).ok()?;
    date.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|time| time.timestamp().as_second())
}

/// Fingerprint of a claim, equal for equal claims: 8 bytes of a SHA-256, so that two claims do not match by accident.
fn fingerprint(claim: &Claim) -> u64 {
    let mut hash = Sha256::new();
    hash.update((claim.script.len() as u64).to_le_bytes());
    hash.update(&claim.script);
    let [category, behaviour] = [claim.category.map_or(0, Category::code), claim.behaviour.map_or(0, Behaviour::code)];
    hash.update([claim.claim_type.code(), category, behaviour]);
    let entity = claim.entity.as_ref().map_or("", EntityName::as_str);
    hash.update([u8::try_from(entity.len()).unwrap_or(0)]);
    hash.update(entity);
    hash.update(claim.label.as_bytes());
    first_bytes(&hash.finalize())
}

fn first_bytes(digest: &[u8]) -> u64 {
    digest.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_nobody() {
        for name in [
            "OFAC SDN listed party (unnamed in source)",
            "Ransomware (group not named in source)",
            "OFAC SDN entry 36216",
            "ofac-sdn-entry-36216",
            "Unknown ransomware",
        ] {
            assert!(is_placeholder(name), "{name}");
        }
        for name in ["", "Binance", "SDN entry", "Noted name", "The Unknown Band"] {
            assert!(!is_placeholder(name), "{name}");
        }
    }

    #[test]
    fn days_months_and_years() {
        assert_eq!(time(""), Some(None));
        assert_eq!(time("2018"), Some(Some(1_514_764_800)));
        assert_eq!(time("2018-01"), time("2018"));
        assert_eq!(time("2018-01-01"), time("2018"));
        assert_eq!(time("1514764800"), time("2018"));
        for text in ["1969", "2018-13", "soon", "2018-1-1", "9999-01-01"] {
            assert_eq!(time(text), None, "{text}");
        }
    }
}
