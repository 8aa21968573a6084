//! The operations, one file each. To add one: its file, its module, its line in [`operations`].

mod api;
mod blocks;
mod chain;
mod fees;
mod mempool;
mod network;
mod qr;
mod tx;
mod wallets;

use crate::operation::Registered;

/// All operations, in the order in which they are listed everywhere.
pub(crate) fn operations() -> Vec<Registered> {
    vec![
        Registered::of::<api::health::Health>(),
        Registered::of::<api::health_full::HealthFull>(),
        Registered::of::<api::capabilities::Capabilities>(),
        Registered::of::<api::beta_status::BetaStatus>(),
        Registered::of::<wallets::index::WalletIndex>(),
        Registered::of::<wallets::overview::Overview>(),
        Registered::of::<wallets::transactions::Transactions>(),
        Registered::of::<wallets::balance_history::BalanceHistory>(),
        Registered::of::<tx::lookup::TxLookup>(),
        Registered::of::<tx::status::TxStatus>(),
        Registered::of::<tx::op_return::OpReturnOutputs>(),
        Registered::of::<tx::verify::TxVerify>(),
        Registered::of::<tx::broadcast::TxBroadcast>(),
        Registered::of::<blocks::detail::BlockDetail>(),
        Registered::of::<chain::recent_blocks::RecentBlocks>(),
        Registered::of::<chain::projected_blocks::ProjectedBlocks>(),
        Registered::of::<mempool::stats::MempoolStats>(),
        Registered::of::<mempool::fee_distribution::FeeDistribution>(),
        Registered::of::<mempool::tx::MempoolTransaction>(),
        Registered::of::<fees::recommended::FeesRecommended>(),
        Registered::of::<network::summary::NetworkSummary>(),
        Registered::of::<network::stress::MempoolStress>(),
        Registered::of::<qr::Qr>(),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn operations_describe_themselves() {
        let operations = operations();
        let mut names = HashSet::new();
        let mut routes = HashSet::new();
        for op in &operations {
            let info = &op.info;
            assert!(names.insert(info.name), "{} twice", info.name);
            assert!(routes.insert((info.method.name(), info.path)), "{} twice", info.path);
            assert!(info.summary.len() > 10 && !info.summary.ends_with('.'), "{}", info.name);
            assert!(info.description.len() > 40, "{}", info.name);
            assert!(!info.freshness.is_empty() || op.file.is_some(), "{}", info.name);
            for segment in info.path.split('/').filter(|s| s.starts_with('{')) {
                let name = segment.trim_matches(['{', '}']);
                assert!(op.input.fields.iter().any(|f| f.name == name && f.required), "{} {name}", info.name);
            }
            let takes_view = op.input.fields.iter().any(|f| f.name == "view");
            assert_eq!(takes_view, !info.compact.is_empty(), "{}", info.name);
        }
    }
}
