//! The rules of language that a machine can check: words and beginnings of sentences that CONTRIBUTING refuses, in
//! comments, in texts of the code outside the tests, and in documents.

use std::{collections::BTreeMap, env, fs};

use super::{is_test_code, none, root, sources};

/// Source files from before the rules, with the number of findings in each. They only get fewer.
const KNOWN: &str = "tests/tidy/language.tsv";

/// Documents that are generated, and so are checked where they come from.
const GENERATED: &[&str] =
    &["docs/tables.md", "docs/rows.md", "docs/configuration.md", "docs/analysts/data-dictionary.md"];

/// Decisions keep the words of their date.
const DECISIONS: &str = "docs/adr/";

/// Words after "is no" with which it is the plain English of a comparison.
const COMPARED: &[&str] = &[
    "better", "bigger", "earlier", "faster", "further", "greater", "higher", "larger", "later", "less", "longer",
    "lower", "more", "newer", "older", "shorter", "slower", "smaller", "wider", "worse",
];

/// Texts of code with fewer words are names and codes.
const LEAST_WORDS: usize = 3;

/// Lines that belong together, each with its number.
type Passage = Vec<(usize, String)>;

/// A comment or a text in Rust code.
#[derive(Debug, PartialEq, Eq)]
enum Piece<'s> {
    Comment(usize, &'s str),
    Text(usize, &'s str),
}

/// The comments and texts of Rust code, with the numbers of their lines.
fn pieces(code: &str) -> Vec<Piece<'_>> {
    let (mut found, mut at, mut line, mut counted) = (Vec::new(), 0, 1, 0);
    while let Some(rest) = code.get(at..).filter(|rest| !rest.is_empty()) {
        let (skipped, piece) = next_piece(rest, code[..at].chars().next_back());
        if let Some(piece) = piece {
            line += code[counted..at].matches('\n').count();
            counted = at;
            found.push(if rest.starts_with('/') { Piece::Comment(line, piece) } else { Piece::Text(line, piece) });
        }
        at += skipped;
    }
    found
}

/// Bytes of the token at the beginning of `rest`, and its content if it is a comment or a text.
fn next_piece(rest: &str, before: Option<char>) -> (usize, Option<&str>) {
    let to = |end: &str, from: usize| rest[from..].find(end).map_or(rest.len(), |at| from + at);
    let is_in_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_') && before != Some('b');
    let hashes = rest.bytes().skip(1).take_while(|byte| *byte == b'#').count();
    if rest.starts_with("//") {
        let end = to("\n", 0);
        (end, Some(&rest[..end]))
    } else if rest.starts_with("/*") {
        let end = to("*/", 2);
        ((end + 2).min(rest.len()), Some(&rest[..end]))
    } else if rest.starts_with('"') {
        let mut end = 1;
        while let Some(byte) = rest.as_bytes().get(end).filter(|byte| **byte != b'"') {
            end += if *byte == b'\\' { 2 } else { 1 };
        }
        ((end + 1).min(rest.len()), rest.get(1..end))
    } else if rest.starts_with('r') && !is_in_word && rest[1 + hashes..].starts_with('"') {
        let from = hashes + 2;
        let end = to(&format!("\"{}", "#".repeat(hashes)), from);
        ((end + 1 + hashes).min(rest.len()), Some(&rest[from..end]))
    } else if let Some(quoted) = rest.strip_prefix('\'') {
        // A character, or the beginning of a lifetime.
        let first = quoted.chars().next().map_or(0, char::len_utf8);
        let escaped = || quoted.get(2..)?.find('\'').map(|at| at + 2);
        let end = if quoted.starts_with('\\') { escaped() } else { Some(first) };
        let is_char = end.is_some_and(|end| quoted[end..].starts_with('\''));
        (if is_char { end.unwrap_or(0) + 2 } else { 1 }, None)
    } else {
        (rest.chars().next().map_or(1, char::len_utf8), None)
    }
}

/// The passages of Rust code: comments of neighbouring lines together, and each text outside the tests alone.
fn passages_of_code(path: &str, code: &str) -> Vec<Passage> {
    let tests_from = code.lines().position(|line| line.starts_with("#[cfg(test)]")).map_or(usize::MAX, |at| at + 1);
    let mut found: Vec<Passage> = Vec::new();
    let mut open: Option<(usize, &str)> = None;
    for piece in pieces(code) {
        match piece {
            Piece::Comment(line, comment) => {
                let text = comment.trim_start_matches(['/', '*', '!']);
                let mark = &comment[..comment.len() - text.len()];
                let text = text.trim();
                if text.is_empty() || text.starts_with("```") {
                    open = None;
                    continue;
                }
                let is_item = text.starts_with("* ") || text.starts_with("- ") || text.starts_with('#');
                match found.last_mut().filter(|_| open == Some((line.wrapping_sub(1), mark)) && !is_item) {
                    Some(passage) => passage.push((line, text.to_owned())),
                    None => found.push(vec![(line, text.to_owned())]),
                }
                open = Some((line, mark));
            }
            Piece::Text(line, text) => {
                open = None;
                if !is_test_code(path) && line < tests_from && text.split_whitespace().count() >= LEAST_WORDS {
                    let lines = text.split("\\\n").map(str::trim_start).collect::<String>();
                    found.push(vec![(line, lines)]);
                }
            }
        }
    }
    found
}

/// The passages of a document: paragraphs, items of lists, cells of tables; no code.
fn passages_of_document(text: &str) -> Vec<Passage> {
    let mut found: Vec<Passage> = Vec::new();
    let (mut is_code, mut is_open) = (false, false);
    for (number, line) in text.lines().enumerate().map(|(at, line)| (at + 1, line.trim())) {
        if line.starts_with("```") {
            is_code = !is_code;
        }
        if is_code || line.is_empty() || line.starts_with("```") {
            is_open = false;
        } else if let Some(row) = line.strip_prefix('|') {
            is_open = false;
            found.extend(row.split('|').map(|cell| vec![(number, cell.trim().to_owned())]));
        } else {
            let numbered = line.split_once(". ").filter(|(number, _)| number.parse::<u32>().is_ok());
            let item = ["- ", "* ", "> "].iter().find_map(|mark| line.strip_prefix(mark));
            let item = item.or(numbered.map(|(_, item)| item));
            let is_heading = line.starts_with('#');
            let words = item.unwrap_or(line).trim_start_matches('#').trim();
            match found.last_mut().filter(|_| is_open && item.is_none() && !is_heading) {
                Some(passage) => passage.push((number, words.to_owned())),
                None => found.push(vec![(number, words.to_owned())]),
            }
            is_open = !is_heading;
        }
    }
    found
}

/// The same text with everything in backquotes or quotes as underscores: names and quoted words are not prose.
fn without_quoted(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['`', '"']) {
        let quote = &rest[at..=at];
        let Some(end) = rest[at + 1..].find(quote) else { break };
        plain.push_str(&rest[..at]);
        plain.push_str(quote);
        plain.extend(rest[at + 1..at + 1 + end].bytes().map(|_| '_'));
        plain.push_str(quote);
        rest = &rest[at + end + 2..];
    }
    plain + rest
}

/// The words of a text, each with the byte at which it begins.
fn words(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut begin = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (c.is_alphanumeric() || c == '_' || c == '\'', begin) {
            (true, None) => begin = Some(at),
            (false, Some(from)) => {
                found.push((from, &text[from..at]));
                begin = None;
            }
            _ => {}
        }
    }
    found
}

/// True if a sentence begins at this byte.
fn begins_sentence(text: &str, at: usize) -> bool {
    let before = text[..at].trim_end_matches(['*', '(', '"', '_']);
    let trimmed = before.trim_end();
    trimmed.is_empty() || (trimmed.len() < before.len() && trimmed.ends_with(['.', '!', '?', ':', ';']))
}

/// The sentence from this byte on, with its sign; without one if the text ends before.
fn sentence(text: &str, from: usize) -> &str {
    let rest = &text[from..];
    let is_end = |(at, sign): &(usize, &str)| {
        let after = &rest[at + sign.len()..];
        after.trim_start_matches([')', '*', '"']).starts_with(char::is_whitespace) || after.len() <= 1
    };
    let end = rest.match_indices(['.', '!', '?', ';']).find(is_end);
    end.map_or(rest, |(at, sign)| &rest[..at + sign.len()])
}

/// Finds words in a passage that the rules refuse: the byte, and the rule.
fn refused(text: &str) -> Vec<(usize, &'static str)> {
    let words = words(text);
    let mut found = Vec::new();
    // The word after that of this index, if only a space is between them.
    let follows = |index: usize| {
        let ((at, word), (next, following)) = (words.get(index)?, words.get(index + 1)?);
        (text.get(at + word.len()..*next) == Some(" ")).then_some(*following)
    };
    for (index, (at, word)) in words.iter().enumerate() {
        let previous = index.checked_sub(1).and_then(|index| words.get(index)).map_or("", |(_, word)| word);
        let after = text[at + word.len()..].chars().next();
        let is_state = matches!(*word, "is" | "are" | "was" | "were") && !previous.eq_ignore_ascii_case("there");
        match *word {
            "tell" | "tells" | "told" | "telling" | "Tells" | "Told" => found.push((*at, "\"tell\"")),
            "anew" | "Anew" => found.push((*at, "\"anew\"")),
            "so" | "So" if follows(index) == Some("many") => found.push((*at, "\"so many\"")),
            "beside" if after.is_none_or(|sign| ".,;:)".contains(sign)) => found.push((*at, "\"beside\" at an end")),
            _ if is_state && follows(index) == Some("none") => found.push((*at, "\"is none\"")),
            _ if is_state && follows(index) == Some("no") => {
                let compared = follows(index + 1).is_none_or(|next| COMPARED.contains(&next));
                found.extend((!compared).then_some((*at, "\"is no X\"")));
            }
            "Whose" | "Whom" | "Whoever" if begins_sentence(text, *at) && !sentence(text, *at).ends_with('?') => {
                found.push((*at, "a sentence that begins with \"Whose\", \"Whom\" or \"Whoever\""));
            }
            "What" if begins_sentence(text, *at) && sentence(text, *at).ends_with(['.', ';', '!']) => {
                found.push((*at, "a statement that begins with \"What\""));
            }
            "Of" if begins_sentence(text, *at) && has_those(sentence(text, *at)) => {
                found.push((*at, "\"Of X, those that\""));
            }
            _ => {}
        }
    }
    found
}

fn has_those(sentence: &str) -> bool {
    [" those that ", " those which ", " those who ", " those whose "].iter().any(|words| sentence.contains(words))
}

/// Finds words in passages that the rules refuse, by line.
fn findings(passages: &[Passage]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for passage in passages {
        let (mut text, mut begins) = (String::new(), Vec::new());
        for (line, words) in passage {
            begins.push((text.len(), *line));
            text.push_str(words);
            text.push(' ');
        }
        let plain = without_quoted(text.trim_end());
        for (at, what) in refused(&plain) {
            let line = begins.iter().rev().find(|(begin, _)| *begin <= at).map_or(0, |(_, line)| *line);
            let from = plain[..at].char_indices().rev().nth(29).map_or(0, |(from, _)| from);
            let around: String = text[from..].chars().take(70).collect();
            found.push((line, format!("{what}: …{}…", around.trim())));
        }
    }
    found
}

/// Finds words that the rules refuse in all files.
fn all_findings() -> BTreeMap<String, Vec<(usize, String)>> {
    let documents = sources(".md").into_iter().filter(|(path, _)| {
        let is_left_out = GENERATED.contains(&path.as_str()) || path.starts_with(DECISIONS);
        !is_left_out
    });
    let code = sources(".rs").into_iter().map(|(path, text)| {
        let found = findings(&passages_of_code(&path, &text));
        (path, found)
    });
    code.chain(documents.map(|(path, text)| {
        let found = findings(&passages_of_document(&text));
        (path, found)
    }))
    .filter(|(_, found)| !found.is_empty())
    .collect()
}

fn known(list: &str) -> BTreeMap<String, usize> {
    let lines = list.lines().filter_map(|line| line.split_once('\t'));
    lines.map(|(path, count)| (path.to_owned(), count.parse().unwrap_or(0))).collect()
}

#[test]
fn language_is_plain() {
    let found = all_findings();
    let path = root().join(KNOWN);
    let before = known(&fs::read_to_string(&path).unwrap_or_else(|error| panic!("{KNOWN}: {error}")));
    let documents: Vec<&String> = before.keys().filter(|path| !path.ends_with(".rs")).collect();
    assert!(documents.is_empty(), "{KNOWN} lists documents: {documents:?}");
    if env::var_os("CAIRN_UPDATE_DOCS").is_some() {
        let left = || found.iter().filter(|(path, _)| path.ends_with(".rs"));
        let (sum, most): (usize, usize) = (left().map(|(_, found)| found.len()).sum(), before.values().sum());
        assert!(sum <= most, "{sum} findings; {KNOWN} has {most}, and they only get fewer");
        let lines: String = left().map(|(path, found)| format!("{path}\t{}\n", found.len())).collect();
        fs::write(&path, lines).unwrap_or_else(|error| panic!("{KNOWN}: {error}"));
    }
    let before = known(&fs::read_to_string(&path).unwrap_or_else(|error| panic!("{KNOWN}: {error}")));
    let more = found.iter().filter(|(path, found)| found.len() > before.get(*path).copied().unwrap_or(0));
    let mut problems: Vec<String> =
        more.flat_map(|(path, found)| found.iter().map(move |(line, what)| format!("{path}:{line}: {what}"))).collect();
    if !problems.is_empty() {
        problems.push("CONTRIBUTING.md, \"Language\", says what to write instead".to_owned());
    }
    none(problems);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<&'static str> {
        refused(&without_quoted(text)).into_iter().map(|(_, what)| what).collect()
    }

    #[test]
    fn each_rule_finds_its_words() {
        for text in ["Health tells it.", "It is told.", "to tell them apart", "They tell it"] {
            assert_eq!(of(text), ["\"tell\""], "{text}");
        }
        assert_eq!(of("It opens the file anew."), ["\"anew\""]);
        assert_eq!(of("At most so many rows."), ["\"so many\""]);
        assert_eq!(of("and a root takes beside."), ["\"beside\" at an end"]);
        assert_eq!(of("The rate is none, and labels are none."), ["\"is none\"", "\"is none\""]);
        assert_eq!(of("A flush is no sale."), ["\"is no X\""]);
        assert_eq!(of("Whose it is. Whoever asks gets it.").len(), 2);
        assert_eq!(of("What is left stays."), ["a statement that begins with \"What\""]);
        assert_eq!(of("It ends. **What is left**, stays; the rest goes.").len(), 1);
        assert_eq!(of("Of a transfer those that stayed."), ["\"Of X, those that\""]);
    }

    #[test]
    fn plain_english_passes() {
        for text in [
            "There is no node, there are none, and it is no longer needed; nothing is no more than that.",
            "It lies beside the index (beside one). Retell the intellect. So much, and so, many.",
            "The script whose owner asks whom it may concern.",
            "What is a script? The reader knows what it is.",
            "What the tests check",
            "Of these tables, three are the journal, as those of before.",
            "`is no X`, \"tells\" and `anew` are quoted.",
        ] {
            assert_eq!(of(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn passages_of_code_have_comments_and_texts() {
        let code = "//! It is\n//! none.\n\n/// A doc.\nfn f<'a>(c: char) -> &'a str {\n    let q = '\"'; // why\n    \
                    g(r#\"a \"raw\" text here\"#, \"two words\", \"one that \\\n        goes on // still\")\n}\n\
                    #[cfg(test)]\nmod tests { const T: &str = \"a text of tests\"; }\n";
        let lines = |path: &str| -> Vec<(usize, String)> {
            passages_of_code(path, code)
                .into_iter()
                .map(|of| (of[0].0, of.into_iter().map(|(_, t)| t + "|").collect()))
                .collect()
        };
        let comments = [(1, "It is|none.|"), (4, "A doc.|"), (6, "why|")].map(|(line, text)| (line, text.to_owned()));
        assert_eq!(lines("tests/a.rs"), comments);
        let texts = [(7, "a \"raw\" text here|"), (7, "one that goes on // still|")];
        let all: Vec<_> = comments.into_iter().chain(texts.map(|(line, text)| (line, text.to_owned()))).collect();
        assert_eq!(lines("src/a.rs"), all);
        assert_eq!(findings(&passages_of_code("src/a.rs", code)).len(), 1);
    }

    #[test]
    fn passages_of_documents_have_no_code() {
        let text = "# A\n\nOne\nparagraph.\n\n1. First\n   item\n2. Second\n\n```sh\nanew\n```\n| a | b |\n";
        let found: Vec<String> = passages_of_document(text)
            .into_iter()
            .map(|of| of.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("/"))
            .filter(|text| !text.is_empty())
            .collect();
        assert_eq!(found, ["A", "One/paragraph.", "First/item", "Second", "a", "b"]);
    }
}
