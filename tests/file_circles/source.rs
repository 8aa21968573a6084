//! References of a Rust file to other files: its `use` declarations and the paths in its code, read from the text.

/// One name that a `use` declaration brings in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Use {
    /// The path as written, without braces and `as`.
    pub(crate) path: Vec<String>,
    /// The name that it has here; `*` for all names.
    pub(crate) name: String,
}

/// The references of a file, its test parts left out.
#[derive(Default, Debug)]
pub(crate) struct Source {
    pub(crate) uses: Vec<Use>,
    /// Other paths of two names or more.
    pub(crate) paths: Vec<Vec<String>>,
}

impl Source {
    pub(crate) fn read(text: &str) -> Self {
        let tokens = without_tests(&tokens(text));
        let mut source = Source::default();
        let mut at = 0;
        while at < tokens.len() {
            if tokens[at] == "use" {
                let end = tokens[at..].iter().position(|&token| token == ";").map_or(tokens.len(), |n| at + n);
                expand(&tokens[at + 1..end], &[], &mut source.uses);
                at = end;
            } else if is_name(tokens[at]) {
                let mut path = vec![tokens[at].to_owned()];
                while tokens.get(at + 1) == Some(&"::") && tokens.get(at + 2).is_some_and(|next| is_name(next)) {
                    path.push(tokens[at + 2].to_owned());
                    at += 2;
                }
                if path.len() > 1 {
                    source.paths.push(path);
                }
            }
            at += 1;
        }
        source
    }
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_name(token: &str) -> bool {
    token.starts_with(is_name_char)
}

/// Bytes of a block comment at the start of a text; these may be nested.
fn block_comment(text: &str) -> usize {
    let (mut at, mut depth) = (0, 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with("/*") {
            (at, depth) = (at + 2, depth + 1);
        } else if rest.starts_with("*/") {
            (at, depth) = (at + 2, depth - 1);
            if depth == 0 {
                break;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    at
}

/// Bytes up to and with the closing quote of a text that begins behind the opening one.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Bytes of a string at the start of a text, with its prefix (`b`, `r#`); `None` if there is none.
fn string(text: &str) -> Option<usize> {
    let prefix = text.len() - text.trim_start_matches(['b', 'c', 'r']).len();
    let hashes = text[prefix..].len() - text[prefix..].trim_start_matches('#').len();
    let begin = prefix + hashes;
    if prefix > 2 || !text[begin..].starts_with('"') {
        return None;
    }
    let inside = &text[begin + 1..];
    if !text[..prefix].contains('r') {
        return (hashes == 0).then(|| begin + 1 + quoted(inside, '"'));
    }
    let end = format!("\"{}", "#".repeat(hashes));
    Some(inside.find(&end).map_or(text.len(), |at| begin + 1 + at + end.len()))
}

/// Bytes of a character or a lifetime at the start of a text, which is a single quote.
fn character_or_lifetime(text: &str) -> usize {
    let mut inside = text[1..].chars();
    match (inside.next(), inside.next()) {
        (Some('\\'), _) => 1 + quoted(&text[1..], '\''),
        (Some(c), Some('\'')) => c.len_utf8() + 2,
        _ => 1 + text[1..].find(|c| !is_name_char(c)).unwrap_or(text.len() - 1),
    }
}

/// Names, numbers, `::` and single signs; no comments, no literals.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            Some(rest.find('\n').unwrap_or(rest.len()))
        } else if rest.starts_with("/*") {
            Some(block_comment(rest))
        } else if first == '\'' {
            Some(character_or_lifetime(rest))
        } else {
            string(rest)
        };
        let length = skipped.unwrap_or_else(|| {
            let length = match first {
                _ if rest.starts_with("::") => 2,
                c if is_name_char(c) => rest.find(|c| !is_name_char(c)).unwrap_or(rest.len()),
                c => c.len_utf8(),
            };
            tokens.push(&rest[..length]);
            length
        });
        rest = rest[length..].trim_start();
    }
    tokens
}

/// Without the items behind `#[cfg(test)]`.
fn without_tests<'t>(tokens: &[&'t str]) -> Vec<&'t str> {
    const TEST: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if !tokens[at..].starts_with(&TEST) {
            kept.push(tokens[at]);
            at += 1;
            continue;
        }
        at += TEST.len();
        // The item ends with a semicolon or with its block.
        let mut depth = 0;
        while let Some(&token) = tokens.get(at) {
            at += 1;
            match token {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" => depth -= 1,
                "}" => {
                    depth -= 1;
                    if depth <= 0 {
                        break;
                    }
                }
                ";" if depth == 0 => break,
                _ => {}
            }
        }
    }
    kept
}

/// The names that a tree of a `use` declaration brings in.
fn expand(tree: &[&str], before: &[String], into: &mut Vec<Use>) {
    let mut path = before.to_vec();
    let mut alias = None;
    let mut at = 0;
    while let Some(&token) = tree.get(at) {
        match token {
            "{" => {
                let (mut depth, mut from) = (0, at + 1);
                for (end, &token) in tree.iter().enumerate().skip(at + 1) {
                    match token {
                        "{" => depth += 1,
                        "}" if depth > 0 => depth -= 1,
                        "}" | "," if depth == 0 => {
                            expand(&tree[from..end], &path, into);
                            from = end + 1;
                        }
                        _ => {}
                    }
                }
                return;
            }
            "as" => alias = tree.get(at + 1).map(|name| (*name).to_owned()),
            "::" => {}
            "self" if !path.is_empty() => {}
            name if alias.is_none() => path.push(name.to_owned()),
            _ => {}
        }
        at += 1;
    }
    // The end of a list after its last comma is empty.
    if path.len() > before.len() || tree.first() == Some(&"self") {
        let name = alias.or_else(|| path.last().cloned()).unwrap_or_default();
        into.push(Use { path, name });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_comments_refer_to_nothing() {
        let text = "// crate::a::B\n/* crate::a::B /* */ crate::a::B */ let _ = \"crate::a::B \\\" crate::a::B\"; let _ = \
                    r#\"crate::a::B\"#; let _ = ('\\'', '\"', b'\"'); fn f<'a>(_: &'a crate::c::D) {}";
        assert_eq!(Source::read(text).paths, [["crate", "c", "D"]]);
    }

    #[test]
    fn tests_do_not_count() {
        let text = "#[cfg(test)]\nmod tests { use super::a::B; fn f() { crate::c::d() } }\n#[cfg(test)]\nuse crate::e::F;\n\
                    #[cfg(test)]\nfn f(_: [u8; 4]) -> u8 { crate::g::h() }\nfn g() { crate::i::j() }";
        let source = Source::read(text);
        assert_eq!((source.uses.len(), &*source.paths), (0, &[["crate", "i", "j"].map(str::to_owned).to_vec()][..]));
    }

    #[test]
    fn trees_are_written_out() {
        let text = "pub use self::a::{self, B, c::{D as E, f::*,},};\nuse std::fmt;";
        let uses = Source::read(text).uses;
        let written: Vec<String> = uses.iter().map(|u| format!("{} = {}", u.name, u.path.join("::"))).collect();
        assert_eq!(
            written,
            ["a = self::a", "B = self::a::B", "E = self::a::c::D", "* = self::a::c::f::*", "fmt = std::fmt"]
        );
    }
}
