//! Bytes of claims. A text that is the same as that of the claim before takes one byte.
//!
//! ```text
//! rows after the one before │ length │ script │ type │ tier │ level │ category │ behaviour │ flags │ texts (6) │ times
//!   text   0: as before; else length + 1 │ bytes
//!   flags  1 asserted at │ 2 valid from │ 4 valid to │ 8 inherited │ 16 person │ 32 redacted
//! ```

use std::sync::Arc;

use super::{Behaviour, Category, Claim, ClaimList, ClaimType, EntityName, EvidenceTier, MAX_SCRIPT};
use crate::codec::{Bytes, MAX_TEXT, Malformed, put_text, put_varint};

const TEXTS: usize = 6;

/// Values that a claim may share with the one before it.
#[derive(Clone, Default)]
pub struct Shared {
    row: u32,
    texts: [Option<Arc<str>>; TEXTS],
}

fn texts_of(claim: &Claim) -> [Arc<str>; TEXTS] {
    let entity = claim.entity.as_ref().map_or_else(|| Arc::from(""), |name| Arc::clone(&name.0));
    let rest = [&claim.entity_name, &claim.label, &claim.source_url, &claim.origin_url, &claim.note].map(Arc::clone);
    let [name, label, source_url, origin_url, note] = rest;
    [entity, name, label, source_url, origin_url, note]
}

/// Appends a claim; its row must be above that of the claim before.
pub fn put_claim(out: &mut Vec<u8>, shared: &mut Shared, claim: &Claim) {
    put_varint(out, u128::from(claim.row.wrapping_sub(shared.row)));
    shared.row = claim.row;
    put_varint(out, claim.script.len() as u128);
    out.extend_from_slice(&claim.script);
    let [category, behaviour] = [claim.category.map_or(0, Category::code), claim.behaviour.map_or(0, Behaviour::code)];
    out.extend([claim.claim_type.code(), claim.tier.code(), claim.level, category, behaviour]);
    let times = [claim.asserted_at, claim.valid_from, claim.valid_to];
    let flags = (0..).zip(times).fold(0, |flags, (at, time)| flags | u8::from(time.is_some()) << at);
    let facts = [claim.is_inherited, claim.is_person, claim.is_redacted];
    out.push((3..).zip(facts).fold(flags, |flags, (at, fact)| flags | u8::from(fact) << at));
    for (before, text) in shared.texts.iter_mut().zip(texts_of(claim)) {
        if before.as_deref().unwrap_or_default() == &*text {
            out.push(0);
        } else {
            put_varint(out, text.len() as u128 + 1);
            out.extend_from_slice(text.as_bytes());
            *before = Some(text);
        }
    }
    times.into_iter().flatten().for_each(|time| put_varint(out, time.into()));
}

/// Appends a list of claims.
pub fn put_list(out: &mut Vec<u8>, list: &ClaimList) {
    out.push(u8::from(list.is_complete));
    put_text(out, list.name.as_str());
}

impl Bytes<'_> {
    /// A list of claims.
    pub fn list(&mut self) -> Result<ClaimList, Malformed> {
        let is_complete = match self.array()? {
            [0] => false,
            [1] => true,
            _ => return Err(Malformed("kind of list")),
        };
        Ok(ClaimList { name: self.slug()?, is_complete })
    }

    /// A claim, after the one that left `shared`.
    pub fn claim(&mut self, shared: &mut Shared) -> Result<Claim, Malformed> {
        let rows: u32 = self.number()?;
        let row = shared.row.checked_add(rows).filter(|_| rows > 0).ok_or(Malformed("row of a claim"))?;
        let length = Some(self.number()?).filter(|length| *length <= MAX_SCRIPT).ok_or(Malformed("script too long"))?;
        let script = self.take(length)?.into();
        let [claim_type, tier, level, category, behaviour, flags] = self.array()?;
        if flags >> 6 != 0 {
            return Err(Malformed("flags of a claim"));
        }
        let mut text = |at: usize| -> Result<Arc<str>, Malformed> {
            let before = &mut shared.texts[at];
            let length: usize = self.number()?;
            if length > MAX_TEXT {
                return Err(Malformed("text too long"));
            }
            if let Some(length) = length.checked_sub(1) {
                let text: Arc<str> = str::from_utf8(self.take(length)?).map_err(|_| Malformed("not UTF-8"))?.into();
                if before.as_deref().unwrap_or_default() == &*text {
                    return Err(Malformed("a text that is repeated"));
                }
                *before = Some(text);
            }
            Ok(before.get_or_insert_with(|| Arc::from("")).clone())
        };
        let entity = match text(0)? {
            none if none.is_empty() => None,
            name => Some(EntityName::shared(&name).map_err(|_| Malformed("name of an entity"))?),
        };
        let [entity_name, label, source_url, origin_url, note] = [text(1)?, text(2)?, text(3)?, text(4)?, text(5)?];
        let mut time = |at: u8| if flags >> at & 1 == 1 { self.number().map(Some) } else { Ok(None) };
        let (asserted_at, valid_from, valid_to) = (time(0)?, time(1)?, time(2)?);
        shared.row = row;
        let optional = |code: u8| if code == 0 { None } else { Some(code) };
        let word = Malformed("word of a claim");
        let claim = Claim {
            row,
            script,
            claim_type: ClaimType::of_code(claim_type).ok_or(word)?,
            tier: EvidenceTier::of_code(tier).ok_or(word)?,
            level,
            entity,
            entity_name,
            category: optional(category).map(|code| Category::of_code(code).ok_or(word)).transpose()?,
            behaviour: optional(behaviour).map(|code| Behaviour::of_code(code).ok_or(word)).transpose()?,
            label,
            source_url,
            origin_url,
            note,
            asserted_at,
            valid_from,
            valid_to,
            is_inherited: flags & 8 != 0,
            is_person: flags & 16 != 0,
            is_redacted: flags & 32 != 0,
        };
        claim.check().map_err(Malformed)?;
        Ok(claim)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text() -> impl Strategy<Value = Arc<str>> {
        prop_oneof![Just(""), Just("a"), Just("https://example.org/ä")].prop_map(Arc::from)
    }

    prop_compose! {
        fn claim()(
            row in 1u32..5,
            script in prop::collection::vec(any::<u8>(), 1..40),
            words in (0usize..8, 0usize..7, 0u8..=100, prop::option::of(0usize..22), prop::option::of(0usize..16)),
            entity in prop::option::of(prop_oneof![Just("binance"), Just("htx")]),
            texts in (text(), text(), text(), text(), text()),
            times in (prop::option::of(any::<u32>()), prop::option::of(0u32..9), prop::option::of(9u32..20)),
            flags in (any::<bool>(), any::<bool>()),
        ) -> Claim {
            Claim {
                row,
                script: script.into(),
                claim_type: ClaimType::ALL[words.0],
                tier: EvidenceTier::ALL[words.1],
                level: words.2,
                entity: entity.map(|name| name.parse().unwrap()),
                entity_name: texts.0,
                category: words.3.map(|at| Category::ALL[at]),
                behaviour: words.4.map(|at| Behaviour::ALL[at]),
                label: if texts.1.is_empty() { "label".into() } else { texts.1 },
                source_url: texts.2,
                origin_url: texts.3,
                note: texts.4,
                asserted_at: times.0,
                valid_from: times.1,
                valid_to: times.2,
                is_inherited: flags.0,
                is_person: flags.1,
                is_redacted: false,
            }
        }
    }

    proptest! {
        #[test]
        fn claims_read_back(mut claims in prop::collection::vec(claim(), 1..20), cut in any::<prop::sample::Index>()) {
            let mut row = 0;
            for claim in &mut claims {
                row += claim.row;
                claim.row = row;
            }
            let (mut out, mut shared) = (Vec::new(), Shared::default());
            claims.iter().for_each(|claim| put_claim(&mut out, &mut shared, claim));
            let (mut bytes, mut shared) = (Bytes::new(&out), Shared::default());
            for claim in &claims {
                prop_assert_eq!(&bytes.claim(&mut shared).unwrap(), claim);
            }
            prop_assert!(bytes.is_empty());
            // A truncated claim is not read, and nothing panics.
            let (mut bytes, mut shared) = (Bytes::new(&out[..cut.index(out.len())]), Shared::default());
            let read = (0..claims.len()).take_while(|_| bytes.claim(&mut shared).is_ok()).count();
            prop_assert!(read < claims.len());
        }

        #[test]
        fn every_value_has_one_form(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let (mut input, mut shared) = (Bytes::new(&bytes), Shared::default());
            if let Ok(claim) = input.claim(&mut shared) {
                let (mut out, mut shared) = (Vec::new(), Shared::default());
                put_claim(&mut out, &mut shared, &claim);
                prop_assert_eq!(&out[..], &bytes[..bytes.len() - input.left()]);
            }
        }
    }
}
