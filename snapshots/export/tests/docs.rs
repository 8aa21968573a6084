//! `docs/analysts/data-dictionary.md` follows from the declarations. To regenerate it:
//! `CAIRN_UPDATE_DOCS=1 cargo test --release --workspace --test docs`.
#![allow(clippy::unwrap_used)]

use std::{fs, path::Path};

#[test]
fn the_dictionary_is_what_the_declarations_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/analysts/data-dictionary.md");
    let page = cairn_export::dictionary();
    if std::env::var_os("CAIRN_UPDATE_DOCS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &page).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        page == written,
        "docs/analysts/data-dictionary.md is stale: CAIRN_UPDATE_DOCS=1 cargo test --release --workspace --test docs"
    );
}
