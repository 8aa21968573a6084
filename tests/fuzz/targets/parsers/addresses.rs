//! Addresses: what is one reads back from its script, on its network.

use cairn_domain::{Subject, address_of, parse_address, parse_script_hash};
use cairn_model::Network;

use super::bounds::within_bounds;

/// A text; bytes that are not UTF-8 do not get past HTTP.
pub fn run(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let any = within_bounds(bytes, |_| parse_address(text, None));
    let mut networks = 0;
    for network in Network::ALL {
        let Ok(subject) = parse_address(text, Some(network)) else { continue };
        networks += 1;
        assert_eq!(any.as_ref(), Ok(&subject), "{text} means something else without a network");
        match subject {
            Subject::Script(script) => {
                let again = address_of(&script, network).unwrap_or_else(|| panic!("{text}: no address of its script"));
                // Bech32 has a second form in capitals.
                assert!(again == text || again == text.to_lowercase(), "{text} is written {again}");
            }
            Subject::ScriptHash(hash) => {
                let digits = &text[text.len() - 64..];
                assert_eq!(parse_script_hash(digits), Some(hash));
            }
        }
    }
    assert_eq!(networks > 0, any.is_ok(), "{text}: of {networks} networks");
    if let Err(error) = any {
        assert!(error.to_string().len() < 200);
    }
}
