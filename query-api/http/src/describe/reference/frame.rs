//! Common parts of the pages of the reference: places and frame.

use std::fmt::Display;

use crate::pages::shell;

/// Where the reference begins.
pub(crate) const ROOT: &str = "/api/reference/";

/// Styles in addition to those of all pages.
const MORE_STYLE: &str = "
body { max-width: 72rem }
section.op { border: 1px solid var(--line); border-radius: .6rem; padding: .9rem 1.1rem; margin: .9rem 0 }
section.op:target { background: none; border-color: var(--link) } section.op > p { margin: .4rem 0 }
.method { font-weight: 700; font-family: ui-monospace, monospace }
details > summary { cursor: pointer; padding: .3rem 0; width: fit-content }
nav.toc h2 { font-size: 1rem; margin: 1.2rem 0 .2rem } nav.toc ul { columns: 2; padding-left: 1.1rem; margin: 0 }
nav.toc li { break-inside: avoid; padding: .1rem 0 }
form.try { border-top: 1px solid var(--line); margin-top: 1rem } form.try label { display: block; margin: .5rem 0 }
form.try label span { display: block; font-size: .9rem }
form.try input { font: .95rem ui-monospace, monospace; width: min(100%, 36rem); padding: .4rem .5rem; color: inherit;
  background: var(--ground); border: 1px solid var(--muted); border-radius: .3rem }
form.try button { font: inherit; padding: .4rem 1.2rem; margin: .4rem 0 }
form.try pre { white-space: pre-wrap; overflow-wrap: anywhere } form.try img { display: block; max-width: 100% }
[hidden] { display: none !important }
@media (max-width: 40rem) { nav.toc ul { columns: 1 } nav.toc li { padding: .25rem 0 } section.op { padding: .7rem .8rem } }
";

/// A page with this title and content.
pub(super) fn shell(title: &str, content: &impl Display) -> String {
    shell::page(title, MORE_STYLE, content)
}
