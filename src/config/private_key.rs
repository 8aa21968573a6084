//! Private keys in the place of another setting.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

/// Most bytes that are read of a file with a credential. Credentials are shorter.
const MAX_BYTES: u64 = 4_096;
const KEY_DIGITS: usize = 64;

/// Returns the beginning of a text file.
///
/// # Errors
/// Fails if the file cannot be read, or is not a text.
pub(super) fn text_of(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

/// True if a text has the form of a private key in hexadecimal digits, with or without `0x`.
pub(super) fn bare_key(text: &str) -> bool {
    let text = text.trim();
    let digits = text.strip_prefix("0x").unwrap_or(text);
    digits.len() == KEY_DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}
