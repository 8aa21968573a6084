//! Limits of sales, and checks by them.

/// Time in seconds during which rows of sales are kept for the report: 400 days.
pub const SALES_KEPT_SECS: u64 = 400 * 86_400;
/// Maximum number of days of a report.
pub const MAX_SALES_DAYS: u64 = 400;
/// Maximum number of rows of a table that one call removes.
pub(crate) const PURGED_AT_ONCE: i64 = 1_000;
/// Maximum length of short texts of a sale (capability, provider, method, holder) in bytes.
pub(crate) const MAX_NAME_BYTES: usize = 100;
/// Maximum length of paths, macaroons and invoices in bytes.
pub(crate) const MAX_LONG_BYTES: usize = 8_192;

/// True for a text of 1 to `max` bytes without control characters.
pub(crate) fn is_bounded(text: &str, max: usize) -> bool {
    (1..=max).contains(&text.len()) && !text.contains(char::is_control)
}

/// Bytes of a stored hash, or of another value of 32 bytes.
pub(super) fn bytes32(bytes: Vec<u8>) -> Option<[u8; 32]> {
    bytes.try_into().ok()
}
