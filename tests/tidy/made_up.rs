//! The checks can fail: each finds what is wrong in made-up files.

use super::*;

fn found(problems: Vec<String>, expected: &[&str]) {
    assert_eq!(problems.len(), expected.len(), "{problems:#?}");
    for (problem, expected) in problems.iter().zip(expected) {
        assert!(problem.contains(expected), "{problem:?} does not say {expected:?}");
    }
}

#[test]
fn leftovers() {
    for leftover in LEFTOVERS {
        let text = format!("fn a() {{}}\n// {leftover} later\n");
        found(problems_of_source("src/a.rs", &text), &[":2: leftover"]);
        found(problems_of_source("tests/a.rs", &text), &[":2: leftover"]);
    }
}

#[test]
fn lengths() {
    let long = "// a line\n".repeat(MAX_FILE_LINES + 1);
    found(problems_of_source("src/a.rs", &long), &["601 lines"]);
    found(problems_of_source("tests/a.rs", &long), &[]);
    found(problems_of_source("indexer/stages/tests/a.rs", &long), &[]);

    let code = "    1;\n\n    // why\n";
    let (most, more) = (code.repeat(MAX_CODE_LINES), code.repeat(MAX_CODE_LINES + 1));
    found(problems_of_source("tests/a.rs", &more), &["401 lines of code"]);
    for path in ["schema/a.rs", "tests/a.rs"] {
        let long = |text: &str| Vec::from_iter(long_code(path, text));
        found(long(&most), &[]);
        found(long(&more), &["401 lines of code"]);
        found(long(&format!("//! A codec.\n{REASON}it is read as one.\n{more}")), &[]);
        found(long(&format!("{REASON}\n{more}")), &["401 lines of code"]);
        // The tests within a file do not count.
        found(long(&format!("{most}#[cfg(test)]\n{more}")), &[]);
    }

    let text = "trait T {\n    fn no_body(\n        a: u8,\n    );\n}\n\nimpl S {\n    pub(crate) fn f() {\n        fn g() {\n            1;\n        }\n        2;\n    }\n}\n";
    found(long_functions("a.rs", text, 2), &[":9: fn g has 3 lines", ":8: fn f has 6 lines"]);
    found(long_functions("a.rs", text, 5), &[":8: "]);
    found(long_functions("a.rs", text, 6), &[]);
}

#[test]
fn impurity() {
    let text = "fn a() -> f64 {\n    SystemTime::now();\n}\n// an Instant::now in a comment\n#[cfg(test)]\nmod tests { f32 }\n";
    found(problems_of_source("indexer/stages/src/a.rs", text), &["a float in a ledger", "SystemTime"]);
    found(problems_of_source("schema/domain/src/a.rs", text), &["SystemTime"]);
    found(problems_of_source("query-api/http/src/a.rs", text), &[]);
}

#[test]
fn machines() {
    let here = ["/where/it/is/".to_owned()];
    let text = format!("fine\n{}ann/x\nsee /where/it/is/now\n", concat!("/ho", "me/"));
    found(machine_paths("a.md", &text, &here), &["a.md:2", "a.md:3"]);
}

#[test]
fn manifests() {
    let good = "[package]\nversion.workspace = true\nedition.workspace = true\nrust-version.workspace = true\n\
                license.workspace = true\npublish.workspace = true\n[lints]\nworkspace = true\n";
    let parse = |text: &str| text.parse::<Table>().unwrap_or_else(|error| panic!("{error}"));
    found(problems_of_member("a", &parse(good)), &[]);
    found(problems_of_member("a", &parse(&good.replace("workspace = true\nedition", "x = 1\nedition"))), &["version"]);
    found(problems_of_member("a", &parse(&good.replace("[lints]\n", "[other]\n"))), &["[lints]"]);
    let own = format!("{good}[dev-dependencies]\na = \"1\"\nb.workspace = true\n[target.x.dependencies]\nc = \"2\"\n");
    found(problems_of_member("a", &parse(&own)), &["dependencies.c", "dev-dependencies.a"]);
}

#[test]
fn versions() {
    let text = "a = \"*\"\nb = { git = \"x\" }\nbitcoin = \"0.32\"\nc = { path = \"c\" }\nd = { version = \"1\" }\n";
    let mut table = text.parse::<Table>().unwrap_or_else(|error| panic!("{error}"));
    for name in &EXACT[1..] {
        table.insert((*name).to_owned(), Value::String("=1.2.3".to_owned()));
    }
    found(problems_of_versions(&table), &["a: no plain", "b: no plain", "b: from git", "bitcoin: its version"]);
    table.remove("bitcoin");
    found(problems_of_versions(&table), &["a: ", "b: ", "b: ", "bitcoin: named in this test"]);
}

#[test]
fn links() {
    let exists = |path: &Path| path == Path::new("docs/../src/a.rs");
    let text = "[a](../src/a.rs#here) [web](https://x.example/a.rs) [here](#a) [b](b.md)\n";
    found(broken_links("docs/x.md", text, &exists), &["docs/x.md: a link to b.md"]);
}

#[test]
fn decisions() {
    let text = "# A\nStatus: accepted\nDate: 2026-01-01\n## Context\n## Decision\n## Consequences\n";
    let of = |name: &str, text: &str| (format!("docs/adr/{name}.md"), text.to_owned());
    found(problems_of_decisions(&[of("0000-a", text), of("0001-b", text)]), &[]);
    found(problems_of_decisions(&[of("0000-a", text), of("0002-b", text)]), &["number 0001"]);
    found(problems_of_decisions(&[of("0000-a", &text.replace("Date", "On"))]), &["\"Date: \""]);
}
