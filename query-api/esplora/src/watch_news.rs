//! News for one watcher: members about the scripts and the transaction that it tracks.

use std::{collections::HashMap, sync::Arc};

use cairn_domain::mempool::ScriptHash;
use cairn_model::{BlockHash, Txid};

use crate::{
    watch_changes::{ScriptTxs, Spend, Touched},
    watch_data,
    watchers::{Tracked, TxState},
};

/// News of tracked transactions.
#[derive(Debug, Default)]
pub(crate) struct TxNews {
    /// Their states; those that were not read are left out.
    pub(crate) states: HashMap<Txid, TxState>,
    /// Those that came to the mempool, as JSON.
    pub(crate) came: HashMap<Txid, Arc<str>>,
    /// New spends of their outputs.
    pub(crate) spends: HashMap<Txid, Vec<Spend>>,
    /// True if it is time to send positions that have changed.
    pub(crate) is_due: bool,
}

/// The members about tracked scripts.
pub(crate) fn of_scripts(tracked: &Tracked, touched: &Touched) -> Vec<String> {
    let mut members = Vec::new();
    if touched.is_empty() {
        return members;
    }
    if let Some(txs) = tracked.address.iter().find_map(|(_, hash)| touched.get(hash)) {
        let lists = [
            ("address-transactions", &txs.mempool),
            ("block-transactions", &txs.confirmed),
            ("address-removed-transactions", &txs.removed),
        ];
        let filled = lists.into_iter().filter(|(_, list)| !list.is_empty());
        members.extend(filled.map(|(name, list)| format!("\"{name}\":{}", array(list))));
    }
    members.extend(of_list("multi-address-transactions", &tracked.addresses, touched));
    members.extend(of_list("multi-scriptpubkey-transactions", &tracked.scripts, touched));
    members
}

/// The member about a list of scripts: an object by the name of each.
fn of_list(name: &str, list: &[(String, ScriptHash)], touched: &Touched) -> Option<String> {
    let entry = |(text, hash): &(String, ScriptHash)| {
        let ScriptTxs { mempool, confirmed, removed } = touched.get(hash)?;
        let [mempool, confirmed, removed] = [mempool, confirmed, removed].map(|list| array(list));
        // The client's own text, which was an address or hexadecimal digits.
        Some(format!(r#""{text}":{{"mempool":{mempool},"confirmed":{confirmed},"removed":{removed}}}"#))
    };
    let entries: Vec<String> = list.iter().filter_map(entry).collect();
    (!entries.is_empty()).then(|| format!("\"{name}\":{{{}}}", entries.join(",")))
}

fn array(texts: &[Arc<str>]) -> String {
    format!("[{}]", texts.join(","))
}

/// The members about the tracked transaction in a step: the one of its block, or the last one.
pub(crate) fn of_tx(tracked: &mut Tracked, news: &TxNews, block: Option<BlockHash>, is_last: bool) -> Vec<String> {
    let mut members = Vec::new();
    let Some((txid, known)) = &mut tracked.tx else { return members };
    if is_last && let Some(spends) = news.spends.get(txid) {
        let spend = |Spend { vout, vin, by }: &Spend| format!(r#""{vout}":{{"vin":{vin},"txid":"{by}"}}"#);
        let spends: Vec<String> = spends.iter().map(spend).collect();
        members.push(format!("\"utxoSpent\":{{{}}}", spends.join(",")));
    }
    let Some(now) = news.states.get(txid).copied() else { return members };
    let is_of_step = is_last || matches!(now, TxState::Confirmed(hash) if block == Some(hash));
    let has_only_moved = matches!((&known, now), (TxState::Waiting(_), TxState::Waiting(_)));
    // Before its first answer nothing is sent: that answer has the state.
    if !is_of_step || *known == now || *known == TxState::Unread || has_only_moved && !news.is_due {
        return members;
    }
    match now {
        TxState::Waiting(position) => {
            if !has_only_moved && let Some(text) = news.came.get(txid) {
                members.push(format!("\"tx\":{text}"));
            }
            members.push(watch_data::position(txid, position));
        }
        TxState::Confirmed(_) => members.push(format!("\"txConfirmed\":\"{txid}\"")),
        TxState::Replaced(by) => members.push(format!(r#""rbfTransaction":{{"txid":"{by}"}}"#)),
        TxState::Unknown | TxState::Unread => members.push(watch_data::position(txid, None)),
    }
    *known = now;
    members
}

/// The members that answer `track-tx`.
pub(crate) fn first(txid: &Txid, state: TxState) -> Option<String> {
    match state {
        TxState::Waiting(position) => Some(watch_data::position(txid, position)),
        TxState::Confirmed(_) => Some(format!("\"txConfirmed\":\"{txid}\"")),
        TxState::Replaced(by) => Some(format!(r#""txReplaced":{{"txid":"{by}"}}"#)),
        TxState::Unknown | TxState::Unread => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::watchers::Position;

    const TXID: Txid = Txid([0x11; 32]);
    const BY: Txid = Txid([0x22; 32]);

    fn parsed(members: &[String]) -> Value {
        serde_json::from_str(watch_data::message(members).as_str()).unwrap()
    }

    fn tracking(state: TxState) -> Tracked {
        Tracked { tx: Some((TXID, state)), ..Tracked::default() }
    }

    fn news(state: TxState) -> TxNews {
        TxNews { states: HashMap::from([(TXID, state)]), is_due: true, ..TxNews::default() }
    }

    #[test]
    fn a_transaction_is_followed() {
        let mut tracked = tracking(TxState::Unknown);
        let txid = TXID.to_string();
        let mut step = |state: TxState, came: bool| {
            let mut news = news(state);
            if came {
                news.came.insert(TXID, r#"{"fee":1}"#.into());
            }
            parsed(&of_tx(&mut tracked, &news, None, true))
        };
        let at = |block, vsize| json!({"txid": txid, "position": {"block": block, "vsize": vsize}});
        let waiting = |block, vsize| TxState::Waiting(Some(Position { block, vsize }));
        assert_eq!(step(waiting(1, 5), true), json!({"tx": {"fee": 1}, "txPosition": at(1, 5)}));
        assert_eq!(step(waiting(1, 5), false), json!({}));
        assert_eq!(step(waiting(0, 9), false), json!({"txPosition": at(0, 9)}));
        assert_eq!(step(TxState::Confirmed(BlockHash([1; 32])), false), json!({"txConfirmed": txid}));
        // In another block after a reorganization, then back in the mempool, then gone.
        assert_eq!(step(TxState::Confirmed(BlockHash([2; 32])), false), json!({"txConfirmed": txid}));
        assert_eq!(step(waiting(0, 1), true), json!({"tx": {"fee": 1}, "txPosition": at(0, 1)}));
        assert_eq!(step(TxState::Unknown, false), json!({"txPosition": {"txid": txid, "position": null}}));
        assert_eq!(step(TxState::Replaced(BY), false), json!({"rbfTransaction": {"txid": BY.to_string()}}));
    }

    #[test]
    fn a_confirmation_comes_with_its_block_and_the_first_answer_is_not_overtaken() {
        let hash = BlockHash([3; 32]);
        let mut tracked = tracking(TxState::Unknown);
        let news = news(TxState::Confirmed(hash));
        assert!(of_tx(&mut tracked, &news, Some(BlockHash([4; 32])), false).is_empty());
        assert_eq!(of_tx(&mut tracked, &news, Some(hash), false).len(), 1);
        assert!(of_tx(&mut tracked, &news, None, true).is_empty());
        assert!(of_tx(&mut tracking(TxState::Unread), &news, Some(hash), true).is_empty());
    }

    #[test]
    fn positions_wait_until_they_are_due() {
        let mut tracked = tracking(TxState::Waiting(None));
        let moved = TxState::Waiting(Some(Position { block: 0, vsize: 1 }));
        let early = TxNews { is_due: false, ..news(moved) };
        assert!(of_tx(&mut tracked, &early, None, true).is_empty());
        assert_eq!(of_tx(&mut tracked, &news(moved), None, true).len(), 1);
    }

    #[test]
    fn spends_are_named_by_output() {
        let mut news = TxNews::default();
        news.spends.insert(TXID, vec![Spend { vout: 1, vin: 0, by: BY }]);
        let members = of_tx(&mut tracking(TxState::Unknown), &news, None, true);
        assert_eq!(parsed(&members), json!({"utxoSpent": {"1": {"vin": 0, "txid": BY.to_string()}}}));
    }

    #[test]
    fn scripts_have_their_lists() {
        let named = |tag: u8| (format!("a{tag}"), [tag; 32]);
        let tracked = Tracked {
            address: vec![named(1)],
            addresses: vec![named(1), named(2), named(3)],
            scripts: vec![named(2)],
            tx: None,
        };
        let mut touched = Touched::new();
        touched.insert([1; 32], ScriptTxs { mempool: vec!["1".into(), "2".into()], ..ScriptTxs::default() });
        touched.insert([2; 32], ScriptTxs { removed: vec!["3".into()], ..ScriptTxs::default() });
        let lists = |mempool: Value, removed: Value| json!({"mempool": mempool, "confirmed": [], "removed": removed});
        let expected = json!({
            "address-transactions": [1, 2],
            "multi-address-transactions": {"a1": lists(json!([1, 2]), json!([])), "a2": lists(json!([]), json!([3]))},
            "multi-scriptpubkey-transactions": {"a2": lists(json!([]), json!([3]))},
        });
        assert_eq!(parsed(&of_scripts(&tracked, &touched)), expected);
        assert!(of_scripts(&tracked, &Touched::new()).is_empty());
        assert!(of_scripts(&Tracked::default(), &touched).is_empty());
        for (state, expected) in [
            (TxState::Replaced(BY), json!({"txReplaced": {"txid": BY.to_string()}})),
            (TxState::Confirmed(BlockHash([1; 32])), json!({"txConfirmed": TXID.to_string()})),
        ] {
            assert_eq!(parsed(&[first(&TXID, state).unwrap()]), expected);
        }
        assert_eq!(first(&TXID, TxState::Unknown), None);
    }
}
