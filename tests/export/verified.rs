//! `verify` reports every damage of an export.

use std::fs;

use cairn_export::ExportError;
use cairn_model::CancelToken;

use crate::support::*;

#[test]
fn every_damage_is_told_by_its_file() {
    let world = World::of(&chain(2, 40));
    let made = world.export("out", &options());
    let out = world.out("out");
    let check = || verify(&out, &CancelToken::never(), &|_, _| {}).unwrap().differences;
    assert_eq!(check(), []);
    for entry in made.manifest.files() {
        let path = out.join(&entry.path);
        let bytes = fs::read(&path).unwrap();
        let damages: [(&str, Option<Vec<u8>>); 4] = [
            (
                "SHA-256",
                Some(
                    bytes
                        .iter()
                        .enumerate()
                        .map(|(at, byte)| if at == bytes.len() / 2 { byte ^ 4 } else { *byte })
                        .collect(),
                ),
            ),
            ("bytes", Some(bytes[..bytes.len() - 1].to_vec())),
            ("bytes", Some(Vec::new())),
            ("No such file", None),
        ];
        for (what, damaged) in damages {
            match damaged {
                Some(damaged) => fs::write(&path, damaged).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            let found = check();
            assert!(found.len() == 1 && found[0].path == entry.path && found[0].what.contains(what), "{found:?}");
        }
        fs::write(&path, bytes).unwrap();
    }
    fs::write(out.join("blocks/more.parquet"), b"").unwrap();
    let found = check();
    assert!(found.len() == 1 && found[0].path == "blocks/more.parquet", "{found:?}");
    fs::remove_file(out.join("blocks/more.parquet")).unwrap();
    // Without a manifest, or with another one.
    let text = fs::read_to_string(out.join("manifest.json")).unwrap();
    let mut too_many: serde_json::Value = serde_json::from_str(&text).unwrap();
    for file in too_many["datasets"][0]["files"].as_array_mut().unwrap() {
        file["rows"] = (1u64 << 63).into();
    }
    for (text, what) in [
        (text.replace("\"schema_version\": 1", "\"schema_version\": 99"), "version 99"),
        (text[..text.len() / 2].to_owned(), "not a manifest"),
        (text.replacen("\"blocks/", "\"../blocks/", 1), "outside of the folder"),
        (text.replacen("\"blocks/", "\"/blocks/", 1), "outside of the folder"),
        (text.replacen("\"name\": \"blocks\"", "\"name\": \"..\"", 1), "outside of the folder"),
        (too_many.to_string(), "more bytes or rows"),
    ] {
        fs::write(out.join("manifest.json"), text).unwrap();
        let refused = verify(&out, &CancelToken::never(), &|_, _| {}).unwrap_err();
        assert!(refused.to_string().contains(what), "{refused}");
    }
    fs::remove_file(out.join("manifest.json")).unwrap();
    let refused = verify(&out, &CancelToken::never(), &|_, _| {}).unwrap_err();
    assert!(matches!(refused, ExportError::Manifest { .. }), "{refused}");
}
