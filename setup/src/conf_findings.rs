//! Faults of a node's configuration file, for a node that does not answer.

use cairn_model::ChainParams;

use crate::{
    finding::{Finding, Severity},
    node_findings::{LOOPBACK, TOPICS, conf_name, pruned_node, rest_off, section_line, zmq_findings},
    node_folder::NodeFolder,
};

/// The findings of the file itself. With `answers`, the node was asked, and settings that it reports are left out.
pub(crate) fn conf_findings(folder: &NodeFolder, chain: ChainParams, answers: bool, has_index: bool) -> Vec<Finding> {
    let (network, conf) = (chain.network(), &folder.conf);
    let name = conf_name(Some(folder));
    let mut findings = Vec::new();
    for key in ["rpcport", "rpcbind"] {
        if let Some(place) = conf.ignored_place(network, key) {
            let text =
                format!("the node ignores {key} in {place}: outside of all sections it is for the main network only");
            let remedy = format!("move the line below a line with the name of the network in {name}:");
            let section = format!("[{}]", cairn_node::core_name(network));
            findings.push(Finding::new(Severity::Advice, "line_ignored", text, remedy).with_lines([section]));
        }
    }
    if conf.flag(network, "txindex") == Some(true) {
        let place = conf.place(network, "txindex").unwrap_or_default();
        let text = format!("txindex=1 ({place}) is not needed by Cairn, and takes space");
        let remedy = "if nothing else uses it, change the line, restart the node, and delete indexes/txindex:";
        findings.push(Finding::new(Severity::Note, "txindex", text, remedy).with_lines(["txindex=0"]));
    }
    if answers {
        return findings;
    }
    if conf.value(network, "prune").and_then(|mib| mib.parse::<u64>().ok()).is_some_and(|mib| mib > 0) {
        findings.push(pruned_node(&conf.place(network, "prune").unwrap_or_default(), None, has_index));
    }
    if conf.flag(network, "rest") != Some(true) {
        findings.push(rest_off(&name, section_line(Some(folder), network)));
    }
    let given: Vec<(String, String)> =
        TOPICS.iter().filter_map(|topic| Some(((*topic).to_owned(), conf.value(network, topic)?.to_owned()))).collect();
    let section = section_line(Some(folder), network);
    findings.extend(zmq_findings(&given, &name, section, LOOPBACK));
    findings
}
