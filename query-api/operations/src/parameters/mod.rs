//! Parameters that mean more than text or number: how clients write them, and what is wrong with one.

pub(crate) mod addresses;
pub(crate) mod amount;
pub(crate) mod currency;
pub(crate) mod date;
pub(crate) mod descriptor;
pub(crate) mod identifier;
pub(crate) mod limit;
pub(crate) mod since;
#[cfg(test)]
mod tests;
pub(crate) mod time;

use cairn_http::TextFormat;

use crate::{
    dormancy::WEEK,
    feed::{EVENT_ID, EVENT_TYPES},
    risk::exposure::parameters::{EXPOSURE_GROUPS, LABELS_AS_OF},
    timestamps::{FILE_HASH, SHA256},
    vocabulary::cursor::CURSOR,
};

pub(crate) const FORMATS: &[TextFormat] = &[
    identifier::ADDRESS,
    addresses::ADDRESSES,
    descriptor::DESCRIPTOR,
    identifier::TXID,
    identifier::BLOCK,
    amount::AMOUNT,
    date::DATE,
    time::TIME,
    since::SINCE,
    currency::CURRENCY,
    EVENT_ID,
    EVENT_TYPES,
    WEEK,
    LABELS_AS_OF,
    EXPOSURE_GROUPS,
    FILE_HASH,
    SHA256,
    CURSOR,
];
