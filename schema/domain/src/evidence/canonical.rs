//! JSON in the one form of RFC 8785, so that everyone who hashes a document hashes the same bytes.

use serde_json::{Number, Value};

/// The largest integer up to which doubles represent every integer: 2^53 − 1.
pub const MAX_SAFE: u64 = (1 << 53) - 1;

/// Writes a value in the canonical form of RFC 8785: members sorted by UTF-16 code units, no spaces, the shortest
/// escapes, numbers as ECMAScript writes them.
#[must_use]
pub fn canonical(value: &Value) -> Vec<u8> {
    let mut out = String::new();
    write(value, &mut out);
    out.into_bytes()
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => write_number(number, out),
        Value::String(text) => write_text(text, out),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            out.push('{');
            for (at, (name, value)) in sorted.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_text(name, out);
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
    }
}

fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            '\0'..='\u{1f}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}

fn write_number(number: &Number, out: &mut String) {
    let safe = |magnitude: u64| magnitude <= MAX_SAFE;
    match (number.as_u64(), number.as_i64(), number.as_f64()) {
        (Some(whole), _, _) if safe(whole) => out.push_str(&whole.to_string()),
        (_, Some(whole), _) if safe(whole.unsigned_abs()) => out.push_str(&whole.to_string()),
        (_, _, Some(float)) => write_double(float, out),
        // No number of this library is neither an integer nor a double.
        _ => out.push_str("null"),
    }
}

/// Writes a double as ECMAScript does: the fewest digits that give it back, with an exponent from 1e21 on and below
/// 1e-6.
fn write_double(float: f64, out: &mut String) {
    if float == 0.0 {
        // Also for negative zero.
        return out.push('0');
    }
    if float < 0.0 {
        out.push('-');
    }
    let shortest = format!("{:e}", float.abs());
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let digits = even_of_two(digits, float);
    let exponent: i32 = exponent.parse().unwrap_or_default();
    // At most 17 digits.
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let zeros = |many: i32| "0".repeat(usize::try_from(many).unwrap_or_default());
    match exponent + 1 {
        point if count <= point && point <= 21 => {
            out.push_str(&digits);
            out.push_str(&zeros(point - count));
        }
        point if 0 < point && point <= 21 => {
            let (whole, rest) = digits.split_at(usize::try_from(point).unwrap_or_default());
            out.push_str(&format!("{whole}.{rest}"));
        }
        point if -6 < point && point <= 0 => out.push_str(&format!("0.{}{digits}", zeros(-point))),
        _ => {
            let (first, rest) = digits.split_at(1);
            let rest = if rest.is_empty() { String::new() } else { format!(".{rest}") };
            out.push_str(&format!("{first}{rest}e{exponent:+}"));
        }
    }
}

/// The digits of a double, or those one below: of two that are equally close, ECMAScript takes the even ones.
fn even_of_two(digits: String, float: f64) -> String {
    let odd = digits.chars().last().filter(|last| matches!(last, '1' | '3' | '5' | '7' | '9'));
    let Some(below) = odd.and_then(|odd| char::from_digit(odd.to_digit(10)?.checked_sub(1)?, 10)) else {
        return digits;
    };
    let even: String = digits.chars().take(digits.len() - 1).chain([below]).collect();
    // No double has more digits than these.
    let exact = format!("{:.800e}", float.abs());
    let exact = exact.split('e').next().unwrap_or_default().replace('.', "");
    let half = exact.strip_prefix(&even).and_then(|rest| rest.strip_prefix('5'));
    let is_tie = half.is_some_and(|rest| rest.chars().all(|c| c == '0'));
    if is_tie { even } else { digits }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn text(json: &str) -> String {
        String::from_utf8(canonical(&serde_json::from_str(json).unwrap())).unwrap()
    }

    /// Section 3.2.2 and 3.2.3 of RFC 8785.
    #[test]
    fn the_examples_of_the_rfc_hold() {
        let input = r#"{
            "numbers": [1E30, 4.50, 2e-3],
            "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
            "literals": [null, true, false]
        }"#;
        let expected = "{\"literals\":[null,true,false],\"numbers\":[1e+30,4.5,0.002],\
                        \"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}";
        assert_eq!(text(input), expected);
        // The reader of JSON rounds the last digits of some doubles; no double is digested.
        for (number, expected) in
            [("333333333.33333329", "333333333.3333333"), ("0.000000000000000000000000001", "1e-27")]
        {
            let number: f64 = number.parse().unwrap();
            assert_eq!(canonical(&json!(number)), expected.as_bytes());
        }
        let sorted = text(
            r#"{"\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh",
                "1": "One", "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control", "\u00f6": "Latin Small Letter O With Diaeresis"}"#,
        );
        let at = |word: &str| sorted.find(word).unwrap();
        let order = ["Carriage", "One", "Control", "Latin", "Euro", "Emoji", "Hebrew"].map(at);
        assert!(order.is_sorted(), "{sorted}");
    }

    /// Appendix B of RFC 8785.
    #[test]
    fn numbers_are_written_as_in_the_appendix() {
        for (bits, expected) in [
            (0x0000_0000_0000_0000_u64, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0xc340_0000_0000_0000, "-9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0x41b3_de43_5555_5554, "333333333.33333325"),
            (0x41b3_de43_5555_5555, "333333333.3333333"),
            (0x41b3_de43_5555_5556, "333333333.3333334"),
            (0x41b3_de43_5555_5557, "333333333.33333343"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        ] {
            let mut out = String::new();
            write_double(f64::from_bits(bits), &mut out);
            assert_eq!(out, expected, "{bits:016x}");
        }
    }

    #[test]
    fn integers_are_exact_up_to_the_limit() {
        assert_eq!(text("[9007199254740991,-9007199254740991,0,-0]"), "[9007199254740991,-9007199254740991,0,0]");
        assert_eq!(text("[9007199254740993]"), "[9007199254740992]");
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(|n| json!(n >> 11)),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 48, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::hash_map(any::<String>(), inner, 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_form_is_read_as_the_same_and_written_the_same(value in any_json()) {
            let bytes = canonical(&value);
            let read: Value = serde_json::from_slice(&bytes).unwrap();
            prop_assert_eq!(canonical(&read), bytes);
        }

        #[test]
        fn the_order_of_members_does_not_matter(members in prop::collection::hash_map(any::<String>(), any_json(), 0..8)) {
            let forward: serde_json::Map<_, _> = members.clone().into_iter().collect();
            let mut backward: Vec<_> = members.into_iter().collect();
            backward.sort_by(|(a, _), (b, _)| b.cmp(a));
            let backward: serde_json::Map<_, _> = backward.into_iter().collect();
            prop_assert_eq!(canonical(&Value::Object(forward)), canonical(&Value::Object(backward)));
        }

        #[test]
        fn a_double_is_given_back(float in any::<f64>().prop_filter("finite", |n| n.is_finite())) {
            let mut out = String::new();
            write_double(float, &mut out);
            prop_assert_eq!(out.parse::<f64>().unwrap(), float);
        }
    }
}
