//! OFAC's `sdn_advanced.xml`, in one pass.
//!
//! Reference values come first in the file: they say which features are addresses of which asset, and which parties are
//! persons. Then come the parties with their names and features, then the entries with their dates and programmes. Only
//! parties with addresses are remembered, and their claims are delivered at the end. An entry's date becomes
//! `valid_from`: an address of the party may have been listed later.

use std::{
    collections::{HashMap, HashSet},
    io::{self, BufRead, BufReader, Read},
    sync::Arc,
};

use cairn_events::{Behaviour, ClaimType, EvidenceTier, claim::MAX_NAME};
use quick_xml::{
    Reader, XmlVersion,
    events::{BytesStart, Event},
};

use super::{
    collect::{Collector, Draft},
    options::ClaimLayout,
};
use crate::error::{InputError, excerpt};

/// Bytes between two events.
const MAX_BETWEEN: usize = 1 << 20;
/// Bytes of a text.
const MAX_TEXT: usize = 65_536;
const MAX_DEPTH: u32 = 32;
/// Reference values of a kind, and parts of a name.
const MAX_VALUES: usize = 4_096;
/// Addresses of all parties.
const MAX_ADDRESSES: usize = 100_000;
/// How the name of a feature begins that is an address; the asset follows.
const FEATURE: &str = "Digital Currency Address - ";

/// A file of which a part between two events is bounded.
struct Bounded<R> {
    input: BufReader<R>,
    left: usize,
    line: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.fill_buf()?.read(buffer)?;
        self.consume(length);
        Ok(length)
    }
}

impl<R: Read> BufRead for Bounded<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let left = self.left;
        let bytes = self.input.fill_buf()?;
        if left == 0 && !bytes.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a tag, text or comment has more than 1 MiB"));
        }
        Ok(bytes.get(..left).unwrap_or(bytes))
    }

    fn consume(&mut self, amount: usize) {
        let used = self.input.buffer().get(..amount).unwrap_or_default();
        self.line = self.line.saturating_add(used.iter().filter(|byte| **byte == b'\n').count() as u64);
        self.left = self.left.saturating_sub(amount);
        self.input.consume(amount);
    }
}

#[derive(Default)]
struct Reference {
    /// Asset by type of feature.
    assets: HashMap<String, Arc<str>>,
    person_types: HashSet<String>,
    person_subtypes: HashSet<String>,
    last_names: HashSet<String>,
    programmes: HashSet<String>,
}

#[derive(Default)]
struct Party {
    uid: String,
    profile: String,
    subtype: String,
    parts: Vec<(String, String)>,
    /// Groups of parts that are last names.
    last_names: HashSet<String>,
    name: String,
    addresses: Vec<(u32, Arc<[u8]>, String)>,
}

struct ListedParty {
    uid: String,
    name: String,
    is_person: bool,
    /// Year, month and day of its first entry.
    since: Option<[u16; 3]>,
    programmes: Vec<String>,
    addresses: Vec<(u32, Arc<[u8]>, String)>,
}

/// Where in the file the reader is.
#[derive(Default)]
struct ReaderState {
    id: String,
    other_id: String,
    is_primary_identity: bool,
    is_primary_alias: bool,
    part_group: String,
    asset: Option<Arc<str>>,
    is_issue: bool,
    is_event: bool,
    is_programme: bool,
    entry: Option<usize>,
    date: [u16; 3],
}

struct Sdn<'c, 'a> {
    collector: &'c mut Collector<'a>,
    reference: Reference,
    state: ReaderState,
    party: Party,
    listed: Vec<ListedParty>,
    by_profile: HashMap<String, usize>,
    text: String,
    count: u64,
    addresses: usize,
}

pub(super) fn read(input: impl Read, collector: &mut Collector<'_>) -> Result<(), InputError> {
    let input = Bounded { input: BufReader::new(input), left: MAX_BETWEEN, line: 0 };
    let mut reader = Reader::from_reader(input);
    reader.config_mut().expand_empty_elements = true;
    let mut sdn = Sdn {
        collector,
        reference: Reference::default(),
        state: ReaderState::default(),
        party: Party::default(),
        listed: Vec::new(),
        by_profile: HashMap::new(),
        text: String::new(),
        count: 0,
        addresses: 0,
    };
    let (mut buffer, mut depth, mut is_ours) = (Vec::new(), 0u32, false);
    loop {
        buffer.clear();
        reader.get_mut().left = MAX_BETWEEN;
        let event = reader.read_event_into(&mut buffer).map_err(|error| error.to_string());
        let line = reader.get_ref().line.saturating_add(1);
        let malformed = |what: String| InputError::Malformed { line, what };
        match event.map_err(|what| malformed(format!("not XML: {}", excerpt(&what))))? {
            Event::Eof if depth > 0 || !is_ours => return Err(malformed("the XML text ends too early".to_owned())),
            Event::Eof => break,
            Event::Start(tag) => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(malformed("nested deeper than 32".to_owned()));
                }
                if depth == 1 && (is_ours || tag.local_name().as_ref() != "Sanctions") {
                    let begins = excerpt(tag.local_name().as_ref());
                    return Err(InputError::OtherLayout { layout: ClaimLayout::SdnAdvanced.as_str(), begins });
                }
                is_ours = true;
                sdn.text.clear();
                sdn.start(&tag).map_err(malformed)?;
            }
            Event::End(tag) => {
                depth = depth.saturating_sub(1);
                sdn.end(tag.local_name().as_ref())?;
                sdn.text.clear();
            }
            Event::Text(text) => sdn.push(&text),
            Event::CData(text) => sdn.push(&text),
            Event::GeneralRef(name) => {
                let text = quick_xml::escape::unescape(&format!("&{};", &*name)).map(std::borrow::Cow::into_owned);
                let text = text.map_err(|_| malformed("an entity that is not defined".to_owned()))?;
                sdn.push(&text);
            }
            Event::DocType(_) => return Err(malformed("a document type is not allowed".to_owned())),
            _ => {}
        }
    }
    sdn.deliver()
}

/// The value of an attribute; empty without it.
fn attribute(tag: &BytesStart<'_>, name: &str) -> Result<String, String> {
    let found = tag.try_get_attribute(name).map_err(|error| excerpt(&error.to_string()))?;
    let Some(found) = found else { return Ok(String::new()) };
    let value = found.normalized_value(XmlVersion::Implicit1_0).map_err(|error| excerpt(&error.to_string()))?;
    Ok(value.chars().take(64).collect())
}

impl Sdn<'_, '_> {
    fn push(&mut self, text: &str) {
        if self.text.len() + text.len() <= MAX_TEXT {
            self.text.push_str(text);
        }
    }

    fn start(&mut self, tag: &BytesStart<'_>) -> Result<(), String> {
        let state = &mut self.state;
        let is_true = |name: &str| attribute(tag, name).map(|value| value == "true" || value == "1");
        match tag.local_name().as_ref() {
            "FeatureType" | "PartyType" | "NamePartType" | "SanctionsType" => state.id = attribute(tag, "ID")?,
            "PartySubType" => {
                (state.id, state.other_id) = (attribute(tag, "ID")?, attribute(tag, "PartyTypeID")?);
            }
            "DateOfIssue" => (state.is_issue, state.date) = (true, [0; 3]),
            "DistinctParty" => self.party = Party { uid: attribute(tag, "FixedRef")?, ..Party::default() },
            "Profile" => {
                self.party.profile = attribute(tag, "ID")?;
                self.party.subtype = attribute(tag, "PartySubTypeID")?;
            }
            "Identity" => {
                state.is_primary_identity = is_true("Primary")?;
                self.party.parts.clear();
                self.party.last_names.clear();
            }
            "Alias" => state.is_primary_alias = state.is_primary_identity && is_true("Primary")?,
            "NamePartValue" => state.part_group = attribute(tag, "NamePartGroupID")?,
            "NamePartGroup" if state.is_primary_identity => {
                let is_last = self.reference.last_names.contains(&attribute(tag, "NamePartTypeID")?);
                if is_last && self.party.last_names.len() < MAX_VALUES {
                    self.party.last_names.insert(attribute(tag, "ID")?);
                }
            }
            "Feature" => state.asset = self.reference.assets.get(&attribute(tag, "FeatureTypeID")?).cloned(),
            "SanctionsEntry" => state.entry = self.by_profile.get(&attribute(tag, "ProfileID")?).copied(),
            "EntryEvent" => (state.is_event, state.date) = (true, [0; 3]),
            "SanctionsMeasure" => {
                state.is_programme = self.reference.programmes.contains(&attribute(tag, "SanctionsTypeID")?);
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, name: &str) -> Result<(), InputError> {
        let (state, reference) = (&mut self.state, &mut self.reference);
        let text = self.text.trim();
        let add = |set: &mut HashSet<String>, is_one: bool| {
            if is_one && set.len() < MAX_VALUES {
                set.insert(state.id.clone());
            }
        };
        match name {
            "FeatureType" => {
                if let Some(asset) = text.strip_prefix(FEATURE)
                    && reference.assets.len() < MAX_VALUES
                {
                    reference.assets.insert(state.id.clone(), asset.trim().into());
                }
            }
            "PartyType" => add(&mut reference.person_types, text == "Individual"),
            "PartySubType" => {
                let is_person = reference.person_types.contains(&state.other_id);
                add(&mut reference.person_subtypes, is_person);
            }
            "NamePartType" => add(&mut reference.last_names, text == "Last Name"),
            "SanctionsType" => add(&mut reference.programmes, text == "Program"),
            "Year" | "Month" | "Day" if state.is_issue || state.is_event => {
                let at = ["Year", "Month", "Day"].iter().position(|part| *part == name);
                if let Some(part) = at.and_then(|at| state.date.get_mut(at)) {
                    *part = text.parse().unwrap_or(0);
                }
            }
            "DateOfIssue" => {
                state.is_issue = false;
                self.collector.report.newest = seconds_of(state.date);
            }
            "NamePartValue" if state.is_primary_alias && self.party.parts.len() < 64 => {
                let part = text.chars().take(MAX_NAME).collect();
                self.party.parts.push((std::mem::take(&mut state.part_group), part));
            }
            "Alias" => state.is_primary_alias = false,
            "Identity" if state.is_primary_identity => {
                self.party.name = name_of(&self.party);
                state.is_primary_identity = false;
            }
            "VersionDetail" => return self.address(),
            "Feature" => state.asset = None,
            "DistinctParty" => self.keep(),
            "EntryEvent" => self.event(),
            "Comment" if state.is_programme => self.programme(),
            "SanctionsMeasure" => state.is_programme = false,
            "SanctionsEntry" => state.entry = None,
            _ => {}
        }
        Ok(())
    }

    fn address(&mut self) -> Result<(), InputError> {
        let Some(asset) = self.state.asset.clone() else { return Ok(()) };
        self.count = self.count.saturating_add(1);
        let row = self.collector.row(self.count)?;
        let address = self.text.trim();
        let Some(script) = self.collector.script(row, &Draft { address, currency: &asset, ..Draft::default() }) else {
            return Ok(());
        };
        self.addresses += 1;
        if self.addresses > MAX_ADDRESSES {
            return Err(InputError::TooManyRows(MAX_ADDRESSES as u64));
        }
        self.party.addresses.push((row, script, address.to_owned()));
        Ok(())
    }

    /// Remembers the party that was read, if it has addresses.
    fn keep(&mut self) {
        let party = std::mem::take(&mut self.party);
        if party.addresses.is_empty() {
            return;
        }
        self.by_profile.insert(party.profile, self.listed.len());
        self.listed.push(ListedParty {
            uid: party.uid,
            name: party.name,
            is_person: self.reference.person_subtypes.contains(&party.subtype),
            since: None,
            programmes: Vec::new(),
            addresses: party.addresses,
        });
    }

    fn event(&mut self) {
        self.state.is_event = false;
        let date = self.state.date;
        if let Some(party) = self.state.entry.and_then(|at| self.listed.get_mut(at))
            && seconds_of(date).is_some()
        {
            party.since = Some(party.since.map_or(date, |since| since.min(date)));
        }
    }

    fn programme(&mut self) {
        let name: String = self.text.trim().chars().take(64).collect();
        if let Some(party) = self.state.entry.and_then(|at| self.listed.get_mut(at))
            && !name.is_empty()
            && party.programmes.len() < 16
            && !party.programmes.contains(&name)
        {
            party.programmes.push(name);
        }
    }

    fn deliver(self) -> Result<(), InputError> {
        let newest = self.collector.report.newest;
        for party in self.listed {
            let mut note = format!("SDN uid {}", party.uid);
            if !party.programmes.is_empty() {
                note.push_str(&format!(", programmes {}", party.programmes.join(", ")));
            }
            let since = party.since.map(|[year, month, day]| format!("{year:04}-{month:02}-{day:02}"));
            for (row, script, address) in party.addresses {
                let draft = Draft {
                    address: &address,
                    claim_type: Some(ClaimType::ListedBy),
                    tier: Some(EvidenceTier::AuthorityListed),
                    level: Some(EvidenceTier::AuthorityListed.level()),
                    entity_name: &party.name,
                    behaviour: Some(Behaviour::Sanctioned),
                    note: &note,
                    valid_from: since.as_deref().unwrap_or_default(),
                    is_inherited: Some(false),
                    is_person: party.is_person,
                    ..Draft::default()
                };
                self.collector.take_script(row, script, &draft)?;
            }
        }
        self.collector.report.newest = newest;
        Ok(())
    }
}

/// "LAST, First Middle" of a person, else the parts in their order.
fn name_of(party: &Party) -> String {
    let join = |is_last: bool| {
        let parts = party.parts.iter().filter(|(group, _)| party.last_names.contains(group) == is_last);
        parts.map(|(_, part)| part.as_str()).collect::<Vec<_>>().join(" ")
    };
    match (join(true), join(false)) {
        (last, rest) if !last.is_empty() && !rest.is_empty() => format!("{last}, {rest}"),
        (last, rest) => last + &rest,
    }
}

/// The second since 1970 (UTC) at which a day begins.
fn seconds_of([year, month, day]: [u16; 3]) -> Option<u32> {
    let [year, month, day] = [i16::try_from(year), i16::try_from(month), i16::try_from(day)].map(Result::ok);
    let date = jiff::civil::Date::new(year?, i8::try_from(month?).ok()?, i8::try_from(day?).ok()?).ok()?;
    let time = date.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    u32::try_from(time.timestamp().as_second()).ok()
}
