//! Claims that extend to a cluster, found again from each of its scripts.

use std::collections::BTreeSet;

use cairn_events::Document;
use cairn_model::ScriptId;
use cairn_reader::View;
use cairn_tables::labels::ScriptHash;

use crate::{
    claims,
    labels_by_hand::{Script, hash, is_heritable},
};

/// Scripts whose claims extend to their cluster are found from every other script of it, at any height.
pub(crate) fn assert_inherited(view: &View<'_>, documents: &[Document], scripts: &[Script], what: &str) {
    let tip = view.tip().height;
    let found: Vec<(ScriptId, &Script)> =
        scripts.iter().filter_map(|script| Some((view.scripts().find(script).unwrap()?.id, script))).collect();
    let mut walk = view.clusters().claim_walk().unwrap();
    for height in [tip, tip.saturating_sub(3), tip / 2] {
        let at = view.as_of(height).unwrap();
        let of: Vec<_> = found.iter().map(|(id, _)| view.clusters().of_script(*id, at).unwrap()).collect();
        for one in &of {
            let same = of.iter().zip(&found).filter(|(other, _)| one.root.is_some() && other.root == one.root);
            let heirs = same.filter(|(_, (_, script))| is_heritable(&claims::said(documents, script)));
            let by_hand: BTreeSet<ScriptHash> = heirs.map(|(_, (_, script))| hash(script)).collect();
            let read = view.clusters().claimed_scripts(one, at, 1_000).unwrap();
            assert!(!read.is_cut && !read.has_suspect, "{what}");
            let scripts: BTreeSet<ScriptHash> = read.scripts.iter().copied().collect();
            assert_eq!(scripts.len(), read.scripts.len(), "{what}: a script came twice");
            assert_eq!(scripts, by_hand, "{what}: as of {height}");
            let most = read.scripts.len().saturating_sub(1);
            let cut = view.clusters().claimed_scripts(one, at, most).unwrap();
            assert_eq!((&cut.scripts[..], cut.is_cut), (&read.scripts[..most], most < read.scripts.len()), "{what}");
            // One walk for all, in any order, finds the same.
            let Some((top, _)) = one.part() else { continue };
            for (limit, alone) in [(1_000, &read), (most, &cut)] {
                assert_eq!(walk.scripts_of(top, at, limit).unwrap(), *alone, "{what}: a walk as of {height}");
            }
        }
    }
}
