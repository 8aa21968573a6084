//! Inscriptions: content in the witness of a taproot script path, in an envelope that is never executed
//! (`OP_FALSE OP_IF "ord" … OP_ENDIF`).

use crate::asm::{Op, ops};

/// An inscription.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Inscription {
    /// The raw content type, as claimed.
    pub content_type: Option<Vec<u8>>,
    /// The content.
    pub body: Vec<u8>,
    /// True if the last field has a tag and no value. Indexers of inscriptions list it all the same.
    pub has_half_field: bool,
}

/// The inscriptions in the witness of one input.
#[must_use]
pub fn inscriptions(witness: &[&[u8]]) -> Vec<Inscription> {
    let Some(script) = tapscript(witness) else { return Vec::new() };
    let mut found = Vec::new();
    let mut rest = ops(script).map_while(Result::ok);
    let mut before: Option<Op<'_>> = None;
    while let Some(op) = rest.next() {
        let opens = op.code == 0x63 && before.is_some_and(|b| b.code == 0);
        before = Some(op);
        if opens {
            let marker = rest.next();
            before = marker;
            if marker.and_then(|m| m.data) == Some(b"ord") {
                found.extend(envelope(&mut rest));
            }
        }
    }
    found
}

/// Fields and body up to OP_ENDIF, also with a tag without a value before it; `None` if there is anything but pushes,
/// or the script ends before.
fn envelope<'a>(rest: &mut impl Iterator<Item = Op<'a>>) -> Option<Inscription> {
    let mut found = Inscription::default();
    loop {
        let op = rest.next()?;
        if op.code == 0x68 {
            return Some(found);
        }
        let tag = value(&op)?;
        if tag.is_empty() {
            return body(rest, found);
        }
        let op = rest.next()?;
        if op.code == 0x68 {
            found.has_half_field = true;
            return Some(found);
        }
        let value = value(&op)?;
        if tag == [1] && found.content_type.is_none() {
            found.content_type = Some(value);
        }
    }
}

fn body<'a>(rest: &mut impl Iterator<Item = Op<'a>>, mut found: Inscription) -> Option<Inscription> {
    loop {
        let op = rest.next()?;
        if op.code == 0x68 {
            return Some(found);
        }
        found.body.extend(value(&op)?);
    }
}

/// The stack element that a push creates.
fn value(op: &Op<'_>) -> Option<Vec<u8>> {
    match (op.code, op.data) {
        (_, Some(data)) => Some(data.to_vec()),
        (0x4f, None) => Some(vec![0x81]),
        (0x51..=0x60, None) => Some(vec![op.code - 0x50]),
        _ => None,
    }
}

/// The script of a taproot script path (BIP 341): the last element but one, not counting an annex.
fn tapscript<'a>(witness: &[&'a [u8]]) -> Option<&'a [u8]> {
    let stack = match witness {
        [rest @ .., last] if !rest.is_empty() && last.first() == Some(&0x50) => rest,
        all => all,
    };
    let [.., script, control] = stack else { return None };
    let proof = control.len().checked_sub(33)?;
    (proof.is_multiple_of(32) && proof <= 128 * 32).then_some(script)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTROL: [u8; 33] = [0xc0; 33];

    fn of(script_hex: &str) -> Vec<Inscription> {
        let script = hex::decode(script_hex).unwrap();
        inscriptions(&[&[1; 64], &script, &CONTROL])
    }

    #[test]
    fn an_envelope_is_found() {
        // <key> OP_CHECKSIG OP_0 OP_IF "ord" 1 "text/plain" OP_0 "hello" OP_ENDIF
        let script = format!("20{}ac0063036f7264010109746578742f706c61690005", "11".repeat(32)) + "68656c6c6f68";
        let found = of(&script);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].content_type.as_deref(), Some(&b"text/plai"[..]));
        assert_eq!(found[0].body, b"hello");
        let pushnum = of("0063036f726451096170706c2f6a736f6e0001610162016868");
        assert_eq!(pushnum[0].body, b"abh");
    }

    #[test]
    fn a_tag_without_a_value_is_marked() {
        for (script, content_type) in [
            // Only a tag; a tag that is a number; behind a whole field.
            ("0063036f7264010168", None),
            ("0063036f72645168", None),
            ("0063036f7264010103612f62010268", Some(&b"a/b"[..])),
        ] {
            let found = of(script);
            assert_eq!(found.len(), 1, "{script}");
            assert!(found[0].has_half_field && found[0].body.is_empty(), "{script}");
            assert_eq!(found[0].content_type.as_deref(), content_type, "{script}");
        }
        let whole = of("0063036f7264010103612f6200016168");
        assert!(!whole[0].has_half_field && whole[0].body == b"a");
        // Within the body there are no fields.
        assert!(!of("0063036f726400016101626801")[0].has_half_field);
    }

    #[test]
    fn what_is_none() {
        assert!(of("0063036f7264").is_empty());
        assert!(of("0063036f7265010168").is_empty());
        assert!(of("0063036f7264ac68").is_empty());
        assert!(inscriptions(&[]).is_empty());
        assert!(inscriptions(&[&[0x00, 0x63, 0x68]]).is_empty());
        assert!(inscriptions(&[&[0x00, 0x63, 0x68], &[0xc0; 34]]).is_empty());
    }

    #[test]
    fn an_annex_is_no_control_block() {
        let script = hex::decode("0063036f726400016168").unwrap();
        let annex = [&[0x50][..], &[0; 32]].concat();
        assert_eq!(inscriptions(&[&script, &CONTROL, &annex])[0].body, b"a");
    }

    proptest::proptest! {
        #[test]
        fn any_script_is_read(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..120)) {
            let script = [&[0x00, 0x63, 3][..], b"ord", &bytes].concat();
            let found = inscriptions(&[&script, &CONTROL]);
            proptest::prop_assert!(found.iter().map(|i| i.body.len()).sum::<usize>() <= script.len());
        }
    }
}
