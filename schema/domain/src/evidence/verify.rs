//! Checks a pack.

use serde_json::Value;

use super::{
    keys::KeyRecord,
    pack::{BadPack, digest, names_of, signed_bytes},
    signature::ALGORITHM,
};

/// The signature of a pack.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Signed {
    /// There is none, for this reason.
    No(String),
    /// It names this key and was not checked, since no key was given.
    Unchecked(String),
    /// It is one by this key.
    By(KeyRecord),
}

/// A pack that was checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// Its digest, which matches.
    pub digest: String,
    /// Its signature.
    pub signed: Signed,
    /// Sections that the digest covers.
    pub sections: Vec<String>,
    /// Names that the digest does not cover.
    pub not_covered: Vec<String>,
}

/// Checks digest and signature of a pack. With keys, it must be signed by one of them.
pub fn verify(pack: &Value, keys: Option<&[KeyRecord]>) -> Result<Verdict, BadPack> {
    let bytes = signed_bytes(pack)?;
    let digest = digest(&bytes);
    match pack.get("digest_sha256").and_then(Value::as_str) {
        None => return Err(BadPack::at("/digest_sha256", "is missing: the pack has no digest")),
        Some(stated) if stated != digest => {
            return Err(BadPack::at("/digest_sha256", format!("is {stated}, but the pack has the digest {digest}")));
        }
        Some(_) => {}
    }
    is_null(pack, "digest_reason", "gives a reason although there is a digest")?;
    let signed = signature(pack, &bytes, keys)?;
    let texts = |name: &str| {
        let members = pack.as_object().ok_or_else(|| BadPack::at("/", "is not an object"))?;
        Ok(names_of(members, name)?.into_iter().map(str::to_owned).collect())
    };
    Ok(Verdict { digest, signed, sections: texts("digest_covers")?, not_covered: texts("not_covered")? })
}

fn is_null(pack: &Value, name: &str, problem: &str) -> Result<(), BadPack> {
    let is_null = pack.get(name).is_none_or(Value::is_null);
    if is_null { Ok(()) } else { Err(BadPack::at(format!("/{name}"), problem)) }
}

fn signature(pack: &Value, bytes: &[u8], keys: Option<&[KeyRecord]>) -> Result<Signed, BadPack> {
    let Some(signature) = pack.get("signature").filter(|signature| !signature.is_null()) else {
        let reason = pack.get("signature_reason").and_then(Value::as_str).unwrap_or("no reason is given");
        let refuses = keys.is_some();
        return if refuses { Err(BadPack::at("/signature", "is missing")) } else { Ok(Signed::No(reason.to_owned())) };
    };
    is_null(pack, "signature_reason", "gives a reason although there is a signature")?;
    let text = |name: &str| {
        let found = signature.get(name).and_then(Value::as_str);
        found.ok_or_else(|| BadPack::at(format!("/signature/{name}"), "is not a text"))
    };
    if signature.as_object().is_none_or(|members| members.len() != 3) {
        return Err(BadPack::at("/signature", "has other members than alg, key_id and value"));
    }
    if text("alg")? != ALGORITHM {
        return Err(BadPack::at("/signature/alg", format!("is not {ALGORITHM}")));
    }
    let value = hexadecimal(text("value")?).filter(|value| value.len() == 64);
    let value = value.ok_or_else(|| BadPack::at("/signature/value", "is not 64 bytes in small hexadecimal digits"))?;
    let id = text("key_id")?;
    let Some(keys) = keys else { return Ok(Signed::Unchecked(id.to_owned())) };
    let Some(record) = keys.iter().find(|record| record.key.id() == id) else {
        return Err(BadPack::at("/signature/key_id", format!("is {id}, which is not the id of a given key")));
    };
    if !record.key.verifies(bytes, &value) {
        return Err(BadPack::at("/signature/value", format!("is not a signature of the pack by key {id}")));
    }
    Ok(Signed::By(record.clone()))
}

/// The bytes of a text of small hexadecimal digits: one text for each value, so that no change goes unnoticed.
pub(super) fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|[high, low]| Some(digit(high)? << 4 | digit(low)?)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        super::{pack::FORMAT, parse, signature::SecretKey},
        *,
    };

    const SECRET: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n";

    fn signed() -> (Value, KeyRecord) {
        let key = SecretKey::from_pem(SECRET).unwrap();
        let mut pack = json!({
            "format": FORMAT, "address": "a", "tip": {"height": 5, "hash": "00ff"}, "digest_covers": ["labels"],
            "not_covered": ["_meta", "flow_graph"],
            "sections": {
                "labels": {"status": "ok", "reason": null, "data": {"n": 17, "é": "ü\u{1f600}\n"}},
                "flow_graph": {"status": "unavailable", "reason": "time_budget", "data": null},
            },
            "signature_reason": null, "digest_reason": null,
        });
        let bytes = signed_bytes(&pack).unwrap();
        let [alg, key_id, value] = key.sign(&bytes);
        pack["digest_sha256"] = json!(digest(&bytes));
        pack["signature"] = json!({"alg": alg, "key_id": key_id, "value": value});
        (pack, KeyRecord { key: key.public(), valid_from: None, valid_to: None })
    }

    #[test]
    fn a_signed_pack_is_accepted() {
        let (pack, record) = signed();
        let keys = [record.clone()];
        let verdict = verify(&pack, Some(&keys)).unwrap();
        assert_eq!(verdict.signed, Signed::By(record.clone()));
        assert_eq!((verdict.sections, verdict.not_covered.len()), (vec!["labels".to_owned()], 2));
        assert_eq!(verify(&pack, None).unwrap().signed, Signed::Unchecked(record.key.id()));
        let mut unsigned = pack.clone();
        (unsigned["signature"], unsigned["signature_reason"]) = (Value::Null, json!("no_key"));
        assert_eq!(verify(&unsigned, None).unwrap().signed, Signed::No("no_key".to_owned()));
        assert_eq!(verify(&unsigned, Some(&keys)).unwrap_err().place, "/signature");
        assert_eq!(verify(&pack, Some(&[])).unwrap_err().place, "/signature/key_id");
    }

    #[test]
    fn a_flipped_bit_anywhere_is_refused() {
        let (pack, record) = signed();
        let (keys, file) = ([record], pack.to_string().into_bytes());
        for at in 0..file.len() {
            for bit in 0..8 {
                let mut flipped = file.clone();
                flipped[at] ^= 1 << bit;
                let accepted = parse(&flipped).is_ok_and(|pack| verify(&pack, Some(&keys)).is_ok());
                assert!(!accepted, "bit {bit} of byte {at}: {}", String::from_utf8_lossy(&flipped));
            }
        }
    }
}
