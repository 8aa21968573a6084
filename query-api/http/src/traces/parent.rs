//! `traceparent` of W3C Trace Context.

use axum::http::HeaderMap;

/// The trace and the span of the client that a request belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TraceParent {
    pub(crate) trace: [u8; 16],
    pub(crate) span: [u8; 8],
}

/// The parent that a client names; `None` without a valid header, or with more than one. The flag that the client
/// samples has no effect: the operator decides what is exported.
pub(crate) fn trace_parent(headers: &HeaderMap) -> Option<TraceParent> {
    let mut values = headers.get_all("traceparent").iter();
    let (value, None) = (values.next()?.to_str().ok()?, values.next()) else { return None };
    let mut parts = value.split('-');
    let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let is_known = version == "00" && parts.next().is_none();
    // Later versions may append fields.
    let is_later = version != "00" && version != "ff";
    let is_lower = |part: &str| part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let is_valid = version.len() == 2 && flags.len() == 2 && [version, trace, span, flags].into_iter().all(is_lower);
    if !is_valid || !(is_known || is_later) {
        return None;
    }
    let mut parent = TraceParent { trace: [0; 16], span: [0; 8] };
    hex::decode_to_slice(trace, &mut parent.trace).ok()?;
    hex::decode_to_slice(span, &mut parent.span).ok()?;
    (parent.trace != [0; 16] && parent.span != [0; 8]).then_some(parent)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn only_valid_parents_count() {
        let of = |values: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append("traceparent", HeaderValue::from_static(value));
            }
            trace_parent(&headers)
        };
        let valid = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let parent = of(&[valid]).unwrap();
        assert_eq!(hex::encode(parent.trace), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(hex::encode(parent.span), "b7ad6b7169203331");
        assert_eq!(of(&["01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more"]), Some(parent));
        for wrong in [
            "",
            "00",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0af7651916cd43dd8448eb211c8031-b7ad6b7169203331-01",
        ] {
            assert_eq!(of(&[wrong]), None, "{wrong}");
        }
        assert_eq!((of(&[]), of(&[valid, valid])), (None, None));
    }
}
