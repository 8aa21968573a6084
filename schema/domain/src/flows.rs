//! The parties between which a transaction moves money, by labels.

use cairn_events::Category;

/// Owner of a side of a transaction: the name for paths, and the category of the entity.
pub type Owner<'n> = (&'n str, Option<Category>);

cairn_model::words! {
    /// The direction of a flow.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    pub enum FlowDirection {
        /// Both sides are one entity's.
        Internal = "internal",
        /// From one exchange to another.
        CrossExchange = "cross_exchange",
        /// From an exchange.
        FromExchange = "from_exchange",
        /// To an exchange.
        ToExchange = "to_exchange",
        /// From a miner or a mining pool.
        MinerOut = "miner_out",
        /// None of these, by labels.
        Unknown = "unknown",
    }
    /// The word, as answers have it.
    pub fn as_str;
}

impl FlowDirection {
    /// The first that holds.
    #[must_use]
    pub fn between(from: Option<Owner<'_>>, to: Option<Owner<'_>>) -> Self {
        let is = |owner: Option<Owner<'_>>, categories: &[Category]| {
            owner.and_then(|(_, category)| category).is_some_and(|category| categories.contains(&category))
        };
        let [from_exchange, to_exchange] = [from, to].map(|owner| is(owner, &[Category::Exchange]));
        if from.zip(to).is_some_and(|(from, to)| from.0 == to.0) {
            FlowDirection::Internal
        } else if from_exchange && to_exchange {
            FlowDirection::CrossExchange
        } else if from_exchange {
            FlowDirection::FromExchange
        } else if to_exchange {
            FlowDirection::ToExchange
        } else if is(from, &[Category::MiningPool, Category::Miner]) {
            FlowDirection::MinerOut
        } else {
            FlowDirection::Unknown
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_holds() {
        let owner = |name: &'static str, category| Some((name, category));
        let a = owner("a", Some(Category::Exchange));
        let b = owner("b", Some(Category::Exchange));
        let pool = owner("pool", Some(Category::MiningPool));
        let shop = owner("shop", Some(Category::Shop));
        let nameless = owner("x", None);
        for (from, to, expected) in [
            (a, a, "internal"),
            (shop, shop, "internal"),
            (a, b, "cross_exchange"),
            (a, None, "from_exchange"),
            (a, pool, "from_exchange"),
            (pool, a, "to_exchange"),
            (None, a, "to_exchange"),
            (pool, shop, "miner_out"),
            (owner("m", Some(Category::Miner)), None, "miner_out"),
            (None, pool, "unknown"),
            (nameless, shop, "unknown"),
            (None, None, "unknown"),
        ] {
            assert_eq!(FlowDirection::between(from, to).as_str(), expected, "{from:?} {to:?}");
        }
    }
}
