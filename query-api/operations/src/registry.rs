//! The operations, in the order in which they are listed everywhere. To add one: its file, and its line in the area's
//! `mod.rs`.

use std::sync::LazyLock;

use cairn_http::AgreedOperation;

use crate::{
    billing, blocks, chain, community, dormancy, entities, feed, fees, flows, labels, market, mempool, network,
    operation::Line, pools, qr, risk, sanctions, service, timestamps, transfers, tx, wallets,
};

/// The operations of the interface as it was agreed upon, with their tiers and prices: built or not.
pub(crate) static AGREED: LazyLock<Vec<AgreedOperation>> = LazyLock::new(|| {
    AgreedOperation::table(include_str!("../agreed.tsv")).unwrap_or_else(|bad| {
        // A test reads the table.
        tracing::error!(line = bad, "the table of agreed operations cannot be read");
        Vec::new()
    })
});

pub(crate) fn operations() -> Vec<Line> {
    let areas = [
        (service::OPERATIONS, service::BATCHES),
        (wallets::OPERATIONS, wallets::BATCHES),
        (risk::OPERATIONS, risk::BATCHES),
        (entities::OPERATIONS, entities::BATCHES),
        (labels::OPERATIONS, labels::BATCHES),
        (sanctions::OPERATIONS, sanctions::BATCHES),
        (tx::OPERATIONS, tx::BATCHES),
        (timestamps::OPERATIONS, timestamps::BATCHES),
        (community::OPERATIONS, community::BATCHES),
        (blocks::OPERATIONS, blocks::BATCHES),
        (chain::OPERATIONS, chain::BATCHES),
        (dormancy::OPERATIONS, dormancy::BATCHES),
        (transfers::OPERATIONS, transfers::BATCHES),
        (feed::OPERATIONS, feed::BATCHES),
        (mempool::OPERATIONS, mempool::BATCHES),
        (fees::OPERATIONS, fees::BATCHES),
        (network::OPERATIONS, network::BATCHES),
        (market::OPERATIONS, market::BATCHES),
        (pools::OPERATIONS, pools::BATCHES),
        (flows::OPERATIONS, flows::BATCHES),
        (qr::OPERATIONS, qr::BATCHES),
        (billing::OPERATIONS, billing::BATCHES),
    ];
    let operations = areas.iter().flat_map(|(operations, _)| *operations);
    let batches = areas.iter().flat_map(|(_, batches)| *batches);
    operations.chain(batches).map(|line| line(&AGREED)).collect()
}

/// The names of all operations, in listing order.
#[must_use]
pub fn names() -> Vec<&'static str> {
    operations().into_iter().map(|line| line.registered.info.name).collect()
}

#[cfg(test)]
pub(crate) fn registered() -> Vec<cairn_http::RegisteredOperation> {
    operations().into_iter().map(|line| line.registered).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use cairn_http::JSON;

    use super::*;

    /// Operations that were not agreed upon: our own additions.
    const ADDED: &[&str] = &["batch_overview", "dashboard", "events", "silent_payment_tweaks", "wallet_lookup"];

    #[test]
    fn the_table_of_agreed_operations_can_be_read() {
        let table = AgreedOperation::table(include_str!("../agreed.tsv")).unwrap();
        let routes: HashSet<_> = table.iter().map(|row| (row.method, row.path)).collect();
        assert!(routes.len() == table.len() && table.len() > 90, "{}", table.len());
    }

    #[test]
    fn every_operation_is_agreed_upon_or_added() {
        for op in registered() {
            let agreed = AGREED.iter().any(|row| row.is(op.info.method.name(), op.info.path));
            assert_ne!(agreed, ADDED.contains(&op.info.name), "{}", op.info.name);
        }
    }

    #[test]
    fn aliases_are_offered_like_their_operations() {
        for op in registered() {
            for alias in &op.agreed_aliases {
                let row = AGREED.iter().find(|row| row.is(op.info.method.name(), alias)).unwrap();
                assert_eq!(row.offer, op.offer, "{alias}");
            }
        }
    }

    #[test]
    fn planned_operations_are_not_described() {
        let document = crate::openapi_document(&crate::ApiConfig::default());
        let described = document["paths"].as_object().unwrap();
        let built = described.values().map(|methods| methods.as_object().unwrap().len()).sum::<usize>();
        let paths = registered().iter().map(|op| op.described_paths().count()).sum::<usize>();
        assert_eq!(built, paths);
    }

    #[test]
    fn operations_describe_themselves() {
        let operations: Vec<_> = operations().into_iter().map(|line| line.registered).collect();
        let mut names = HashSet::new();
        let mut routes = HashSet::new();
        for op in &operations {
            let info = &op.info;
            assert!(names.insert(info.name), "{} twice", info.name);
            assert!(routes.insert((info.method.name(), info.path)), "{} twice", info.path);
            assert!(info.summary.len() > 10 && !info.summary.ends_with('.'), "{}", info.name);
            assert!(info.description.len() > 40, "{}", info.name);
            assert!(!info.freshness.is_empty() || !op.media.contains(&JSON), "{}", info.name);
            for segment in info.path.split('/').filter(|s| s.starts_with('{')) {
                let name = segment.trim_matches(['{', '}']);
                assert!(op.input.fields.iter().any(|f| f.name == name && f.required), "{} {name}", info.name);
            }
            let takes_view = op.input.fields.iter().any(|f| f.name == "view");
            assert_eq!(takes_view, !info.compact.is_empty(), "{}", info.name);
        }
    }
}
