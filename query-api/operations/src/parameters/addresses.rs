//! Several addresses in one parameter.

use cairn_http::{BadText, ErrorCode, TextFormat};

use super::identifier::{ADDRESS, AddressParam, canonical_address};

use crate::parsed::{parsed, schema};

pub(crate) const MAX_ADDRESSES: usize = 100;

pub(crate) const ADDRESSES: TextFormat = TextFormat {
    name: "bitcoin-addresses",
    codes: &[ErrorCode::InvalidAddress, ErrorCode::WrongNetwork],
    takes_numbers: false,
    canonical: |text| text.split(',').map(canonical_address).collect::<Vec<_>>().join(",").into(),
    example: ADDRESS.example,
    look: |value, text, network| {
        let count = text.split(',').count();
        if count > MAX_ADDRESSES {
            return Err(BadText::new(format!("has {count} addresses; at most {MAX_ADDRESSES} are allowed")));
        }
        text.split(',').try_for_each(|one| (ADDRESS.look)(value, one, network))
    },
};

/// Addresses, separated by commas.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct AddressesParam(pub(crate) Vec<AddressParam>);

parsed!(AddressesParam, |text: &str| text
    .split(',')
    .map(AddressParam::read)
    .collect::<Result<_, _>>()
    .map(AddressesParam));

schema!(inline AddressesParam, "Addresses", {
    "type": "string",
    "format": ADDRESSES.name,
    "minLength": 1,
    "maxLength": 12_900,
    "description": "Addresses on the network of the index, or scripthash:<hex>, separated by commas; at most 100.",
    "examples": ["1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa,12c6DSiU4Rq3P4ZxziKxzrL5LmMBrzjrJX"],
});
