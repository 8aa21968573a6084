//! Messages for the holder of an address's key to sign.
//!
//! A message says what it is for, and until when it can be used. Its last line authenticates the lines before by a key
//! of the service. So the server needs no memory of the messages that it has given out: it refuses its own ones after
//! their time, and all that somebody else made.

use bitcoin::{
    Script,
    hashes::{Hash, HashEngine, Hmac, HmacEngine, sha256},
};
use cairn_domain::signed::{Verdict, verify_signed};
use cairn_events::SignedText;
use cairn_http::{ApiError, Location};
use cairn_model::DAY_SECS;
use cairn_state::ServiceSecret;
use jiff::Timestamp;

use crate::values::rfc3339;

/// How long a message can be signed and sent back, in seconds.
pub(crate) const VALID_SECS: u32 = DAY_SECS;
/// Begins the line with the time until which a message can be used.
const UNTIL: &str = "Valid until: ";

/// 422 for a member of the body.
pub(crate) fn wrong(name: &str, message: impl Into<String>) -> ApiError {
    ApiError::validation(Location::Body, name, message)
}

/// Ends a message: its last second (in seconds since 1970), and a line that only this service can make.
pub(crate) fn seal(lines: &str, until: u32, secret: &ServiceSecret) -> String {
    let lines = format!("{lines}\n{UNTIL}{}", rfc3339(until));
    let mut mac = HmacEngine::<sha256::Hash>::new(secret.bytes());
    mac.input(lines.as_bytes());
    let mac = Hmac::<sha256::Hash>::from_engine(mac);
    let nonce: String = mac.to_byte_array().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("{lines}\nNonce: {nonce}")
}

/// Returns the signed text and its last second, if it is the message that `make` makes and can still be used. `of`
/// names in words what it is about.
///
/// # Errors
/// 422 for any other message.
pub(crate) fn checked(
    signed: &SignedText,
    now: u32,
    of: &str,
    make: impl Fn(u32) -> Result<String, ApiError>,
) -> Result<(SignedText, u32), ApiError> {
    // Forms and tools change line ends, and add one at the end.
    let message = signed.message.replace("\r\n", "\n").trim_end_matches('\n').to_owned();
    let until = message.lines().find_map(|line| line.strip_prefix(UNTIL));
    let until: Option<Timestamp> = until.and_then(|until| until.parse().ok());
    let until = until.and_then(|until| u32::try_from(until.as_second()).ok());
    let ours = match until {
        Some(until) => make(until)? == message,
        None => false,
    };
    match until.filter(|_| ours) {
        Some(until) if until >= now => {
            Ok((SignedText { message, signature: signed.signature.trim().to_owned() }, until))
        }
        Some(_) => Err(wrong("signed_message", "is older than 24 hours: ask for a new one without it")),
        None => {
            let words = format!(
                "is not the message_to_sign of this server for {of}: ask for it without signed_message and signature"
            );
            Err(wrong("signed_message", words))
        }
    }
}

/// Verifies a signature by the key of a script. Returns the reason if it cannot be checked.
///
/// # Errors
/// 422 if the signature is not that of the address.
pub(crate) fn verify(script: &[u8], signed: &SignedText) -> Result<Option<String>, ApiError> {
    match verify_signed(Script::from_bytes(script), &signed.message, &signed.signature) {
        Verdict::Invalid(reason) => {
            Err(wrong("signature", format!("is not that of the address for signed_message: {reason}")))
        }
        Verdict::Inconclusive(reason) => {
            Ok(Some(format!("the signature cannot be checked: {reason}; the ticket is for the operator to decide")))
        }
        Verdict::Valid(_) => Ok(None),
    }
}
