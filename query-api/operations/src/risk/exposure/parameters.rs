//! Parameters of the operations.

use std::{borrow::Cow, collections::BTreeSet};

use cairn_domain::{claims::is_flag, dust::is_service};
use cairn_events::{Behaviour, Category};
use cairn_http::{BadText, Detail, TextFormat, trimmed};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Deserializer, de::Error};

use crate::operation::prelude::*;
use crate::parameters::{
    identifier::AddressParam,
    time::{TIME, TimeParam},
};

/// Moments of labels: a time, or a sequence number of the ledger.
pub(crate) const LABELS_AS_OF: TextFormat = TextFormat {
    name: "date-time-or-seq",
    codes: &[],
    takes_numbers: false,
    canonical: trimmed,
    example: None,
    look: |value, text, network| match is_number(text) {
        true => LabelsAsOf::parse(text).map(drop).map_err(BadText::new),
        false => (TIME.look)(value, text, network),
    },
};

/// Groups of sources, with commas between.
pub(crate) const EXPOSURE_GROUPS: TextFormat = TextFormat {
    name: "exposure-groups",
    codes: &[],
    takes_numbers: false,
    canonical: trimmed,
    example: None,
    look: |_, text, _| Groups::parse(text).map(drop).map_err(BadText::new),
};

const MAX_GROUPS: usize = 40;

/// Direction of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ExposureDirection")]
pub(crate) enum DirectionParam {
    Sources,
    Destinations,
    #[default]
    Both,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LabelsAsOf {
    /// In seconds since 1970.
    Time(u32),
    /// A sequence number of the ledger.
    Seq(u64),
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

impl LabelsAsOf {
    fn parse(text: &str) -> Result<Self, &'static str> {
        text.parse().map(LabelsAsOf::Seq).map_err(|_| "expected a date, a time, or a sequence number below 2^64")
    }
}

impl<'de> Deserialize<'de> for LabelsAsOf {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if is_number(&text) {
            return LabelsAsOf::parse(&text).map_err(D::Error::custom);
        }
        let time = TimeParam::deserialize(serde::de::value::StringDeserializer::<D::Error>::new(text))?;
        // A day counts wholly.
        Ok(LabelsAsOf::Time(if time.end > time.start { time.end - 1 } else { time.start }))
    }
}

impl JsonSchema for LabelsAsOf {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "LabelsAsOf".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": LABELS_AS_OF.name, "minLength": 1, "maxLength": 40})
    }
}

/// Groups of sources: categories, or lists.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Groups(pub(crate) BTreeSet<String>);

impl Groups {
    fn parse(text: &str) -> Result<Self, &'static str> {
        let is_word = |word: &str| {
            let letters =
                word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-.".contains(&byte));
            (1..=64).contains(&word.len()) && letters
        };
        let words: Vec<&str> = text.split(',').map(str::trim).collect();
        if words.len() > MAX_GROUPS {
            return Err("at most 40 are allowed");
        }
        if !words.iter().all(|word| is_word(word)) {
            return Err("expected words of small letters, digits, hyphens and underscores, with commas between");
        }
        Ok(Groups(words.into_iter().map(str::to_owned).collect()))
    }

    /// The groups of mixers, and of those who behave like one.
    pub(crate) fn mixers() -> Self {
        let words = [Category::Mixer.as_str(), Behaviour::Mixing.as_str()];
        Groups(words.into_iter().map(str::to_owned).collect())
    }

    /// The first word that is not a category or a behaviour.
    pub(crate) fn unknown_category(&self) -> Option<&str> {
        let is_known = |word: &str| word.parse::<Category>().is_ok() || word.parse::<Behaviour>().is_ok();
        self.0.iter().map(String::as_str).find(|word| !is_known(word))
    }
}

/// The categories that count without a choice, as a text.
pub(crate) fn counted_categories() -> impl Iterator<Item = &'static str> {
    let flags = Behaviour::ALL.iter().filter(|flag| is_flag(**flag)).map(|flag| flag.as_str());
    let owners = Category::ALL.iter().filter(|category| counts(**category)).map(|category| category.as_str());
    flags.chain(owners)
}

/// True if claims of a category make a source, unless a request chooses others.
pub(crate) fn counts(category: Category) -> bool {
    is_service(category) || category == Category::Perpetrator
}

impl<'de> Deserialize<'de> for Groups {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Groups::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl JsonSchema for Groups {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ExposureGroups".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": EXPOSURE_GROUPS.name, "minLength": 1, "maxLength": 1_000})
    }
}

/// Parameters of both operations.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ExposureInput {
    pub(crate) address: AddressParam,
    /// Sides to trace. `sources`: where the coins that it received came from; `destinations`: where the coins that it
    /// spent went.
    #[serde(default)]
    pub(crate) direction: DirectionParam,
    /// Maximum number of transactions to a script with a claim.
    #[serde(default = "two")]
    #[schemars(range(min = 1, max = 4))]
    pub(crate) depth: u8,
    /// Height of the newest block that counts. Default: the block at the time of `labels_as_of`, or the tip.
    #[schemars(example = 100)]
    pub(crate) as_of: Option<Height>,
    /// Moment of the claims. It is a time, or a sequence number of the ledger of input events: only documents that were
    /// known then count. Default: the claims that were asserted by the time of `as_of`, or all.
    #[schemars(example = "2026-01-01T00:00:00Z")]
    pub(crate) labels_as_of: Option<LabelsAsOf>,
    /// Only these, with commas between. They are categories (risk) or lists (sanctions). Default: behaviours that are
    /// flags, services and perpetrators; all lists.
    #[schemars(example = "sanctioned,mixer")]
    pub(crate) categories: Option<Groups>,
    /// Minimum share in millionths. Rows and paths below this share of the coins' value are left out and counted.
    #[serde(default = "hundred")]
    #[schemars(range(max = 1_000_000))]
    pub(crate) min_share_ppm: u32,
    /// Maximum number of paths. It holds for each direction.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 50))]
    pub(crate) path_limit: u32,
    /// `compact` omits explanatory and nested fields.
    #[serde(default)]
    #[allow(dead_code, reason = "applied to the answer of any operation that takes it")]
    view: Detail,
}

const fn two() -> u8 {
    2
}

const fn ten() -> u32 {
    10
}

const fn hundred() -> u32 {
    100
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_words_with_commas() {
        let groups = Groups::parse("sanctioned, exchange").unwrap();
        assert_eq!((groups.0.len(), groups.unknown_category()), (2, None));
        assert_eq!(Groups::parse("exchange,bank").unwrap().unknown_category(), Some("bank"));
        for bad in ["", "a,", "A", "a b", &"a,".repeat(60)] {
            assert!(Groups::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn flags_services_and_perpetrators_count() {
        let all: Vec<&str> = counted_categories().collect();
        for word in ["sanctioned", "ransomware", "exchange", "mixer", "perpetrator"] {
            assert!(all.contains(&word), "{word}");
        }
        for word in ["user", "victim", "donation", "cold_wallet"] {
            assert!(!all.contains(&word), "{word}");
        }
    }

    #[test]
    fn labels_are_as_of_a_time_or_a_seq() {
        let parse = |text: &str| serde_json::from_value::<LabelsAsOf>(text.into());
        assert_eq!(parse("17").unwrap(), LabelsAsOf::Seq(17));
        assert_eq!(parse("2024-01-01").unwrap(), LabelsAsOf::Time(1_704_153_599));
        assert_eq!(parse("2024-01-01T00:00:00Z").unwrap(), LabelsAsOf::Time(1_704_067_200));
        for bad in ["", "now", "99999999999999999999999", "-1"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
