//! Examples of the README: its programs and its answers.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use serde_json::Value;

/// The README's programs run as they stand.
pub(crate) fn runs_the_examples(readme: &str, address: &str) {
    for (language, program, flags, lines, words) in
        [("python", "python3", ["-"].as_slice(), 3, 2), ("js", "node", &["--input-type=module", "-"], 1, 2)]
    {
        let code = readme.split(&format!("```{language}\n")).nth(1).unwrap().split("```").next().unwrap();
        let code = code.replace("127.0.0.1:8080", address);
        let started = Command::new(program)
            .args(flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let Ok(mut running) = started else {
            cairn_testkit::note_skipped("cli::readme::runs_the_examples", &format!("{program} is not installed"));
            continue;
        };
        running.stdin.take().unwrap().write_all(code.as_bytes()).unwrap();
        let output = running.wait_with_output().unwrap();
        let (said, failed) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{program}: {failed}");
        assert_eq!(said.lines().count(), lines, "{said}");
        assert!(
            said.lines().all(|line| line.split(' ').filter(|word| *word != "undefined").count() == words),
            "{said}"
        );
    }
}

/// An answer as the README shows it: `…` stands where the answer has more members or items.
pub(crate) fn shortened(text: &str) -> Value {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines().map(|line| line.replace(", …", "")).filter(|line| line.trim() != "…") {
        let ends = line.trim_start().starts_with(['}', ']']);
        if let Some(before) = lines.last_mut().filter(|before| ends && before.ends_with(',')) {
            before.pop();
        }
        lines.push(line);
    }
    serde_json::from_str(&lines.join("\n")).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Every member of `part` is in `whole`, with the same value; items of a list are there in this order, and a text may
/// be cut by `…`.
pub(crate) fn is_part_of(part: &Value, whole: &Value, at: &str) {
    match part {
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| is_part_of(value, &whole[name], &format!("{at}.{name}")));
        }
        Value::Array(items) if items.iter().any(Value::is_object) => {
            let ids = |items: &[Value]| items.iter().map(|item| item["id"].clone()).collect::<Vec<_>>();
            let all = whole.as_array().unwrap_or_else(|| panic!("{at} is {whole}"));
            let mut found = all.iter();
            for item in items {
                let same = found.find(|of| of["id"] == item["id"]);
                let same = same.unwrap_or_else(|| panic!("{at}: {} is not in {:?}", item["id"], ids(all)));
                is_part_of(item, same, at);
            }
        }
        Value::String(text) if text.ends_with('…') => {
            let whole = whole.as_str().unwrap_or_else(|| panic!("{at} is {whole}"));
            assert!(whole.starts_with(text.trim_end_matches('…')) && whole.len() > text.len() / 2, "{at}: {whole}");
        }
        part => assert_eq!(part, whole, "{at}"),
    }
}
