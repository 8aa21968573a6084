//! Block files of a custom signet, as Bitcoin Core 31 wrote them with `-signetchallenge=51`: genesis and four blocks,
//! under an obfuscation key, without the preallocated zeros at the end.

use std::{fs, path::Path};

/// The challenge: `OP_TRUE`.
pub const SIGNET_CHALLENGE: &str = "51";
/// Height of the last block.
pub const SIGNET_HEIGHT: u32 = 4;
/// Hash of the last block.
pub const SIGNET_TIP: &str = "000001ec8b677410928aeded0bc1055736e49112005dae26be3bf14076c1753c";

/// Writes the files into a folder, and makes the folder if it is missing.
///
/// # Panics
/// Panics if they cannot be written.
pub fn write_signet(folder: &Path) {
    let files: [(&str, &[u8]); 3] = [
        ("blk00000.dat", include_bytes!("../data/signet/blk00000.dat")),
        ("rev00000.dat", include_bytes!("../data/signet/rev00000.dat")),
        ("xor.dat", include_bytes!("../data/signet/xor.dat")),
    ];
    fs::create_dir_all(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for (name, bytes) in files {
        fs::write(folder.join(name), bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}
