//! The entities that are exchanges: most of their labels today have that category.

use std::collections::HashMap;

use bitcoin::hashes::{Hash, HashEngine, sha256};
use cairn_domain::entities::shown_category;
use cairn_events::{Category, EntityName};
use cairn_model::Sats;
use cairn_reader::{ReadError, View};

/// Entities that are read at a time.
const PAGE: usize = 1_024;

/// An exchange, by its place among all, ascending by name.
pub(crate) type ExchangeId = u16;

#[derive(Debug)]
pub(crate) struct Exchanges {
    names: Vec<EntityName>,
    of: HashMap<EntityName, ExchangeId>,
    balances: Vec<Sats>,
    /// Differs if documents have made other scripts members of exchanges.
    pub(crate) mark: [u8; 8],
    /// About how many entries the histories of their scripts have.
    pub(crate) entries: u64,
}

impl Exchanges {
    /// Reads them: a row for each entity that labels name.
    pub(crate) fn read(view: &View<'_>) -> Result<Self, ReadError> {
        let (mut names, mut of, mut balances): (Vec<EntityName>, _, _) = (Vec::new(), HashMap::new(), Vec::new());
        let mut mark = sha256::Hash::engine();
        let (mut last, mut entries): (Option<EntityName>, u64) = (None, 0);
        loop {
            let page = view.entities().list(last.as_ref(), PAGE)?;
            let is_last = page.len() < PAGE;
            for row in page {
                if last.as_ref() == Some(&row.name) {
                    continue;
                }
                last = Some(row.name.clone());
                if shown_category(&row.categories) != Some(Category::Exchange) {
                    continue;
                }
                // More exchanges than there ever were on earth count for nothing rather than for another one.
                let Ok(exchange) = ExchangeId::try_from(names.len()) else { continue };
                mark.input(row.name.as_str().as_bytes());
                mark.input(&[0]);
                mark.input(&row.members.to_be_bytes());
                let coins = row.funded_count.saturating_add(row.spent_count);
                entries = entries.saturating_add(coins).saturating_add(row.inherited.scripts.saturating_mul(2));
                of.insert(row.name.clone(), exchange);
                balances.push(row.balance());
                names.push(row.name);
            }
            if is_last {
                break;
            }
        }
        let mark = sha256::Hash::from_engine(mark).to_byte_array();
        Ok(Exchanges { names, of, balances, mark: std::array::from_fn(|at| mark[at]), entries })
    }

    /// The place of an entity, if it is an exchange.
    pub(crate) fn find(&self, entity: &EntityName) -> Option<ExchangeId> {
        self.of.get(entity).copied()
    }

    pub(crate) fn name(&self, exchange: ExchangeId) -> Option<&EntityName> {
        self.names.get(usize::from(exchange))
    }

    /// Each with its balance, ascending by name.
    pub(crate) fn held(&self) -> impl Iterator<Item = (&EntityName, Sats)> {
        self.names.iter().zip(self.balances.iter().copied())
    }
}
