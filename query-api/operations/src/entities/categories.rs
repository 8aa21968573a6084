//! `GET /v1/entities/categories`.

use super::facts::{Basis, by_category, warn_if_cut};
use crate::{definitions::ENTITIES, operation::prelude::*};

pub(crate) struct Categories;

/// No parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct CategoriesInput {}

/// The categories of entities.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CategoriesOutput {
    /// Number of entities in all categories, without natural persons.
    entity_count: u64,
    /// Categories with at least one entity, the largest balance first.
    categories: Vec<CategoryRow>,
    basis: Basis,
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
}

/// A category.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "EntityCategoryRow")]
pub(crate) struct CategoryRow {
    /// Name of the category; `unlabeled` if no source gives one.
    category: &'static str,
    entity_count: u64,
    /// Number of members of the entities in this category.
    address_count: u64,
    /// Balance of the entities in this category, direct and inherited.
    balance_sats: u64,
    balance_btc: Btc,
    /// Name of the entity with the largest balance.
    largest: Option<String>,
}

impl Operation for Categories {
    const INFO: Info = Info {
        summary: "Categories of labelled entities, each with its entities, addresses and balance",
        description: "The categories of the entities that the loaded labels name: exchanges, mining pools, mixers and \
            so on, with the number of entities, the number of their addresses, and the sum of their balances. An \
            entity has the category that sources give to most of its addresses. The sums cover known addresses only \
            and do not estimate the total.",
        freshness: &[TIP, CLAIMS, LABELS],
        tool: Tool::reads(
            "asked which kinds of entities are known, or how many exchanges, pools or mixers have labels",
            "the entities themselves (entity_list), or one of them (entity_lookup)",
        ),
        ..index_get("entity_categories", "/v1/entities/categories", "entities")
    };
    type Input = CategoriesInput;
    type Output = CategoriesOutput;

    fn run(ctx: &Ctx<'_>, _: CategoriesInput) -> Result<CategoriesOutput, ApiError> {
        let view = ctx.view()?;
        let all = ctx.entities()?;
        warn_if_cut(ctx, &all);
        let rows = by_category(&all).into_iter().map(|(category, total, entries)| CategoryRow {
            category,
            entity_count: total.entities,
            address_count: total.members,
            balance_sats: total.balance,
            balance_btc: Btc::of(total.balance),
            largest: entries.first().map(|entry| entry.name.to_string()),
        });
        Ok(CategoriesOutput {
            entity_count: all.entries().len() as u64,
            categories: rows.collect(),
            basis: Basis::of(ctx, view)?,
            definition: ENTITIES,
        })
    }
}
