//! Spans in the encoding of OTLP: the message `ExportTraceServiceRequest` of Protocol Buffers.

use super::span::{Attribute, Span};

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const BYTES: u64 = 2;

/// `SPAN_KIND_INTERNAL` and `SPAN_KIND_SERVER`.
const KINDS: [u64; 2] = [1, 2];
/// `STATUS_CODE_ERROR`.
const ERROR: u64 = 2;

/// Encodes spans as one message to a collector.
#[must_use]
pub fn encode_traces(spans: &[Span]) -> Vec<u8> {
    let (mut resource, mut scope, mut scoped) = (Vec::new(), Vec::new(), Vec::new());
    text(&mut scope, 1, "cairn");
    text(&mut scope, 2, env!("CARGO_PKG_VERSION"));
    for (name, value) in [("service.name", "cairn"), ("service.version", env!("CARGO_PKG_VERSION"))] {
        bytes(&mut resource, 1, &key_value(name, &Attribute::Text(value.to_owned())));
    }
    bytes(&mut scoped, 1, &scope);
    for span in spans {
        bytes(&mut scoped, 2, &encode_span(span));
    }
    let (mut resource_spans, mut request) = (Vec::new(), Vec::new());
    bytes(&mut resource_spans, 1, &resource);
    bytes(&mut resource_spans, 2, &scoped);
    bytes(&mut request, 1, &resource_spans);
    request
}

fn encode_span(span: &Span) -> Vec<u8> {
    let mut out = Vec::new();
    bytes(&mut out, 1, &span.trace);
    bytes(&mut out, 2, &span.id);
    if let Some(parent) = &span.parent {
        bytes(&mut out, 4, parent);
    }
    text(&mut out, 5, &span.name);
    number(&mut out, 6, KINDS[usize::from(span.is_server)]);
    fixed(&mut out, 7, span.start);
    fixed(&mut out, 8, span.end);
    for (name, value) in &span.attributes {
        bytes(&mut out, 9, &key_value(name, value));
    }
    if span.has_failed {
        let mut status = Vec::new();
        number(&mut status, 3, ERROR);
        bytes(&mut out, 15, &status);
    }
    out
}

fn key_value(name: &str, value: &Attribute) -> Vec<u8> {
    let (mut any, mut out) = (Vec::new(), Vec::new());
    match value {
        Attribute::Text(value) => text(&mut any, 1, value),
        Attribute::Number(value) => number(&mut any, 3, *value),
    }
    text(&mut out, 1, name);
    bytes(&mut out, 2, &any);
    out
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn number(out: &mut Vec<u8>, field: u64, value: u64) {
    varint(out, field << 3 | VARINT);
    varint(out, value);
}

fn fixed(out: &mut Vec<u8>, field: u64, value: u64) {
    varint(out, field << 3 | FIXED64);
    out.extend_from_slice(&value.to_le_bytes());
}

fn bytes(out: &mut Vec<u8>, field: u64, value: &[u8]) {
    varint(out, field << 3 | BYTES);
    varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

fn text(out: &mut Vec<u8>, field: u64, value: &str) {
    bytes(out, field, value.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes that PyPI's `opentelemetry-proto` writes for the same span.
    #[test]
    fn a_span_has_the_bytes_of_the_standard() {
        let span = Span {
            trace: [1; 16],
            id: [2; 8],
            parent: Some([3; 8]),
            name: "work".to_owned(),
            is_server: false,
            start: 1,
            end: 300,
            attributes: vec![("rows", Attribute::Number(300)), ("op", Attribute::Text("tip".to_owned()))],
            has_failed: true,
        };
        let expected = "0a1001010101010101010101010101010101120802020202020202022208030303030303\
                        03032a04776f726b3001390100000000000000412c010000000000004a0b0a04726f7773\
                        120318ac024a0b0a026f7012050a037469707a021802";
        assert_eq!(hex::encode(encode_span(&span)), expected);
    }

    #[test]
    fn a_message_nests_its_spans() {
        let message = encode_traces(&[]);
        let has = |text: &str| message.windows(text.len()).any(|window| window == text.as_bytes());
        assert!(has("service.name") && has("service.version") && message.len() < 128);
        assert_eq!(usize::from(message[1]), message.len() - 2);
    }
}
