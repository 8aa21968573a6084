//! `cairn cluster`: the scripts that transactions show to have the same owner as an address. Works while another
//! process writes the index.

use cairn_domain::{Subject, address_of, parse_address, script_sha256};
use cairn_model::{ScriptId, TxNum};
use cairn_reader::{
    AsOf, ClusterRoot, ClusterSize, Explanation, FoundScript, MAX_COUNTED_CHILDREN, MAX_STEPS, MemberPlace, ReadError,
    SUSPECT_TRANSACTIONS, Tie, View,
};
use serde::Serialize;

use super::db::open;
use crate::{
    cli::Cluster,
    exit::{Exit, Failure},
    out::{print, thousands},
};

/// Maximum number of members whose balances are added up for an earlier block.
const MAX_SUMMED: u64 = 10_000;

/// The answer, as `--json` prints it.
#[derive(Serialize)]
struct Answer {
    height: u32,
    block_hash: String,
    /// The txid that the cluster is named after; for a single script `scripthash:<hex>`.
    cluster: String,
    scripts: Option<u64>,
    transactions: Option<u64>,
    balance_sats: Option<u64>,
    /// Reason why a number above is null.
    unknown: Option<String>,
    /// Merges of two large clusters on the way from the address to its cluster: they may be mistakes.
    suspect_merges: Vec<Merge>,
    members: Vec<String>,
    next: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<ShownExplanation>,
}

#[derive(Serialize)]
struct Merge {
    txid: String,
    height: u32,
    /// Number of transactions of the smaller cluster.
    transactions: u64,
}

#[derive(Serialize)]
struct ShownExplanation {
    other: String,
    same_cluster: bool,
    /// `None` if the explanation would need too many steps.
    steps: Option<Vec<Link>>,
    unknown: Option<String>,
}

#[derive(Serialize)]
struct Link {
    from: String,
    txid: String,
    height: u32,
    to: String,
}

pub(crate) fn cluster(args: &Cluster) -> Result<Exit, Failure> {
    let reader = open(args.index.datadir()?)?;
    let view = reader.view()?;
    let height = args.at.unwrap_or(view.tip().height);
    let above = || Failure::usage(format!("--at {height} is above the tip, height {}", view.tip().height));
    let asked = ClustersAsOf { view: &view, at: view.as_of(height).ok_or_else(above)? };
    let place = args.from.as_deref().unwrap_or("0").parse().map_err(|e| Failure::usage(format!("--from: {e}")))?;
    let mut answer = asked.answer(&args.address, &place, args.limit)?;
    if let Some(other) = &args.explain {
        answer.explanation = Some(asked.why(&args.address, other)?);
    }
    print(&if args.json { json(&answer)? } else { text(&answer) })?;
    Ok(Exit::Done)
}

fn json(answer: &Answer) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(answer).map_err(|e| Failure::new(Exit::Other, e.to_string()))?;
    Ok(text + "\n")
}

struct ClustersAsOf<'v, 'r> {
    view: &'v View<'r>,
    at: AsOf,
}

/// A script from the arguments, and its data as of the block.
struct NamedScript {
    name: String,
    script: Option<FoundScript>,
}

impl ClustersAsOf<'_, '_> {
    fn find(&self, address: &str) -> Result<NamedScript, Failure> {
        let subject =
            parse_address(address, Some(self.view.network())).map_err(|e| Failure::usage(format!("{address}: {e}")))?;
        let (name, script) = match subject {
            Subject::Script(script) => (hash_name(&script_sha256(&script)), self.view.scripts().find(&script)?),
            Subject::ScriptHash(hash) => {
                (hash_name(&hash), self.view.scripts().find_hash(&hash)?.map(|(found, _)| found))
            }
        };
        Ok(NamedScript { name, script: script.filter(|found| found.totals.first.tx_num < self.at.tx_end) })
    }

    fn answer(&self, address: &str, place: &MemberPlace, limit: usize) -> Result<Answer, Failure> {
        let NamedScript { name, script } = self.find(address)?;
        let header = self.view.header(self.at.height)?;
        let mut answer = Answer {
            height: self.at.height,
            block_hash: header.map(|header| header.hash.to_string()).unwrap_or_default(),
            cluster: name,
            scripts: Some(0),
            transactions: Some(0),
            balance_sats: Some(0),
            unknown: None,
            suspect_merges: Vec::new(),
            members: Vec::new(),
            next: None,
            explanation: None,
        };
        let Some(found) = script else { return Ok(answer) };
        let membership = self.view.clusters().of_script(found.id, self.at)?;
        let Some(root) = membership.root else {
            if *place != MemberPlace::default() {
                return Err(no_place());
            }
            answer.scripts = Some(1);
            answer.balance_sats = Some(self.view.scripts().sums_before(&found, self.at.tx_end)?.balance());
            answer.members = vec![self.name(found.id)?];
            return Ok(answer);
        };
        answer.cluster = self.txid(root.0)?;
        let size = self.view.clusters().size(root, self.at)?;
        answer.scripts = size.map(|size| size.scripts);
        answer.transactions = size.map(|size| size.transactions);
        answer.balance_sats = match size {
            Some(ClusterSize { balance: Some(balance), .. }) => Some(balance),
            Some(size) if size.scripts <= MAX_SUMMED => Some(self.balance(root)?),
            _ => None,
        };
        answer.unknown = match (size, answer.balance_sats) {
            (None, _) => Some(format!(
                "at an earlier height, clusters that more than {MAX_COUNTED_CHILDREN} transactions joined are not \
                 counted: leave out --at"
            )),
            (_, None) => Some(format!(
                "at an earlier height, balances are added up for at most {MAX_SUMMED} scripts: leave out --at"
            )),
            _ => None,
        };
        answer.suspect_merges = membership
            .path
            .iter()
            .filter(|tie| tie.is_suspect())
            .map(|tie| self.merge(tie))
            .collect::<Result<_, _>>()?;
        let page = self.view.clusters().members(root, self.at, place, limit)?.ok_or_else(no_place)?;
        answer.members = page.scripts.iter().map(|script| self.name(*script)).collect::<Result<_, _>>()?;
        answer.next = page.next.map(|next| next.to_string());
        Ok(answer)
    }

    /// Adds up the balances of the cluster's scripts.
    fn balance(&self, root: ClusterRoot) -> Result<u64, Failure> {
        let (mut sum, mut next) = (0u64, Some(MemberPlace::default()));
        while let Some(place) = next {
            let page = self.view.clusters().members(root, self.at, &place, 1_000)?.ok_or_else(no_place)?;
            for script in page.scripts {
                let found = self.view.scripts().by_id(script)?.ok_or_else(missing)?;
                sum = sum.saturating_add(self.view.scripts().sums_before(&found, self.at.tx_end)?.balance());
            }
            next = page.next;
        }
        Ok(sum)
    }

    fn merge(&self, tie: &Tie) -> Result<Merge, Failure> {
        Ok(Merge {
            txid: self.txid(tie.by)?,
            height: self.view.clusters().height_of_tx(tie.by)?,
            transactions: tie.smaller.unwrap_or_default(),
        })
    }

    fn why(&self, address: &str, other: &str) -> Result<ShownExplanation, Failure> {
        let (a, b) = (self.find(address)?, self.find(other)?);
        let explained = match (a.script, b.script) {
            (Some(a), Some(b)) => self.view.clusters().explain(a.id, b.id, self.at)?,
            _ if a.name == b.name => Explanation::Steps(Vec::new()),
            _ => Explanation::Apart,
        };
        let same_cluster = explained != Explanation::Apart;
        let (steps, unknown) = match explained {
            Explanation::Apart => (Some(Vec::new()), None),
            Explanation::TooLong => (None, Some(format!("the explanation would have more than {MAX_STEPS} steps"))),
            Explanation::Steps(steps) => {
                let link = |step: &cairn_reader::Step| -> Result<Link, Failure> {
                    Ok(Link {
                        from: self.name(step.from)?,
                        txid: self.txid(step.by)?,
                        height: self.view.clusters().height_of_tx(step.by)?,
                        to: self.name(step.to)?,
                    })
                };
                (Some(steps.iter().map(link).collect::<Result<_, _>>()?), None)
            }
        };
        Ok(ShownExplanation { other: other.to_owned(), same_cluster, steps, unknown })
    }

    fn txid(&self, tx: TxNum) -> Result<String, Failure> {
        Ok(self.view.transactions().txid(tx)?.ok_or_else(missing)?.0.to_string())
    }

    /// Returns the address of a script; its hash if it has no address.
    fn name(&self, script: ScriptId) -> Result<String, Failure> {
        let script = self.view.scripts().bytes_of(script)?.ok_or_else(missing)?;
        Ok(address_of(&script, self.view.network()).unwrap_or_else(|| hash_name(&script_sha256(&script))))
    }
}

fn hash_name(hash: &[u8; 32]) -> String {
    format!("scripthash:{}", hex::encode(hash))
}

fn no_place() -> Failure {
    Failure::usage("--from: the cluster has no such place")
        .hint("use the value of `next` in the previous answer, with the same --at")
}

fn missing() -> Failure {
    ReadError::Broken("clusters name a missing script or transaction".to_owned()).into()
}

fn text(answer: &Answer) -> String {
    let number = |number: Option<u64>| number.map_or_else(|| "unknown".to_owned(), thousands);
    let mut text = format!(
        "cluster {}\nas of height {} {}\n{:>16} scripts\n{:>16} transactions\n{:>16} sats\n",
        answer.cluster,
        answer.height,
        answer.block_hash,
        number(answer.scripts),
        number(answer.transactions),
        number(answer.balance_sats),
    );
    answer.unknown.iter().for_each(|reason| text += &format!("unknown: {reason}\n"));
    for merge in &answer.suspect_merges {
        text += &format!(
            "suspect: {} at height {} merged two clusters of {} transactions and more (the limit is {})\n",
            merge.txid,
            merge.height,
            thousands(merge.transactions),
            thousands(SUSPECT_TRANSACTIONS),
        );
    }
    answer.members.iter().for_each(|member| text += &format!("{member}\n"));
    answer.next.iter().for_each(|next| text += &format!("more: --from {next}\n"));
    if let Some(why) = &answer.explanation {
        text += &match (&why.steps, why.same_cluster) {
            (_, false) => format!("{} is in another cluster\n", why.other),
            (Some(steps), true) => {
                let line = |step: &Link| {
                    format!("  {} and {}: inputs of {}, height {}\n", step.from, step.to, step.txid, step.height)
                };
                format!("{} is in the same cluster:\n", why.other) + &steps.iter().map(line).collect::<String>()
            }
            (None, true) => {
                format!("{} is in the same cluster; {}\n", why.other, why.unknown.as_deref().unwrap_or_default())
            }
        };
    }
    text
}
