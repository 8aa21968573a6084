//! Suggests the nearest name for a typing error.

/// Characters of a text that are compared.
const COUNTED: usize = 200;

/// Edits (insert, delete, replace) between the first 200 characters of two texts.
fn distance(a: &str, b: &str) -> usize {
    let counted = |text: &str| text.chars().take(COUNTED).collect::<String>();
    strsim::levenshtein(&counted(a), &counted(b))
}

/// Distance of a path from a template: a placeholder matches any non-empty segment at no cost.
pub(crate) fn path_distance(path: &str, template: &str) -> usize {
    let segments = |p: &'_ str| -> Vec<String> { p.split('/').filter(|s| !s.is_empty()).map(str::to_owned).collect() };
    let (path, template) = (segments(path), segments(template));
    let paired = path.iter().zip(&template);
    let edits: usize =
        paired.map(|(p, t)| if t.starts_with('{') { 0 } else { distance(&p.to_lowercase(), t).min(8) }).sum();
    edits + path.len().abs_diff(template.len()) * 4
}

/// The nearest name, if it is near enough.
pub fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let best = names.map(|n| (distance(&name.to_lowercase(), n), n)).min()?;
    (best.0 <= 1 + name.chars().count() / 4).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("same", "same"), 0);
    }

    #[test]
    fn near_names_are_found() {
        assert_eq!(nearest("limt", ["limit", "offset"].into_iter()), Some("limit"));
        assert_eq!(nearest("colour", ["limit", "offset"].into_iter()), None);
        assert_eq!(nearest("x", [].into_iter()), None);
    }

    #[test]
    fn placeholders_match_anything() {
        let near = path_distance("/v1/walets/1A1z/overview", "/v1/wallets/{address}/overview");
        let far = path_distance("/v1/walets/1A1z/overview", "/v1/blocks/{height_or_hash}");
        assert!(near < far && near == 1);
        assert_eq!(path_distance("/v1/wallets/", "/v1/wallets"), 0);
    }
}
