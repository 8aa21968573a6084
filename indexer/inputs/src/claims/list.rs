//! Addresses, one a line: `sanctioned_addresses_XBT.txt` as 0xB10C publishes it.
//!
//! Such a file says nothing of its addresses. If the caller says nothing either, it is a list of sanctions:
//! `listed_by`, `authority_listed`, `sanctioned`, level 100. Lines that begin with `#` are comments.

use std::io::BufRead;

use cairn_events::{Behaviour, ClaimType, EvidenceTier};

use super::{
    collect::{Collector, Draft},
    report::ClaimCode,
};
use crate::{
    csv::{Line, Lines},
    error::InputError,
};

pub(super) fn read(input: impl BufRead, collector: &mut Collector<'_>) -> Result<(), InputError> {
    let said = if !collector.options.defaults.is_claim() {
        Draft {
            claim_type: Some(ClaimType::ListedBy),
            tier: Some(EvidenceTier::AuthorityListed),
            behaviour: Some(Behaviour::Sanctioned),
            ..Draft::default()
        }
    } else {
        Draft::default()
    };
    let (mut lines, mut line) = (Lines::starting(input, 0), Line::new());
    while lines.next(&mut line)? {
        match line.text.as_deref() {
            Ok(text) if text.trim_start().starts_with('#') => {}
            Ok(text) => {
                let row = collector.row(line.number)?;
                collector.take(row, &Draft { address: text.trim(), ..said })?;
            }
            Err(code) => {
                let row = collector.row(line.number)?;
                collector.refuse(row, None, ClaimCode::of_line(*code), "");
            }
        }
    }
    Ok(())
}
