//! Judges which pool blocks are from. A script is judged once, however many blocks pay it.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use cairn_domain::{
    claims::{At, Stated},
    pools::{AttributedBy, attribute, pool_of_script},
};
use cairn_events::EntityName;
use cairn_model::{day_of, last_second};
use cairn_reader::ClaimDocument;
use cairn_tables::{
    claims::ListVersion,
    events::Documents,
    payouts::{Payout, Payouts, PayoutsRow},
};

use super::known::KnownTags;
use crate::operation::prelude::*;

/// A script that claims name as a pool's.
#[derive(Clone, Debug)]
pub(crate) struct PaidFor {
    pub(crate) pool: EntityName,
    /// The pool's name as the claim has it; may be empty.
    pub(crate) name: Arc<str>,
    pub(crate) script: Arc<[u8]>,
    /// Id of the claim: document and row.
    pub(crate) claim_id: String,
    pub(crate) source: String,
    pub(crate) licence: String,
    /// Level of the claim, 0 to 100.
    pub(crate) level: u8,
    /// When it was asserted, else when its document was retrieved, in seconds since 1970.
    pub(crate) asserted_at: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct PoolAttribution {
    pub(crate) pool: EntityName,
    pub(crate) by: AttributedBy,
    /// The pool that the tag names, if it names another than the payout.
    pub(crate) other_pool: Option<EntityName>,
    /// The payout that identifies the pool.
    pub(crate) paid: Option<Payout>,
}

pub(crate) struct Judge<'c, 'a> {
    ctx: &'c Ctx<'a>,
    view: &'a View<'a>,
    at: At,
    pub(crate) tags: Arc<KnownTags>,
    documents: BTreeMap<ListVersion, ClaimDocument>,
    scripts: HashMap<[u8; 32], Option<Arc<PaidFor>>>,
}

impl<'c, 'a> Judge<'c, 'a> {
    /// Judges by what is known at the end of the present day (UTC), so that an answer does not change with every
    /// second.
    pub(crate) fn new(ctx: &'c Ctx<'a>) -> Result<Self, ApiError> {
        let view = ctx.view()?;
        let reader = ctx.prices.reader.ok_or_else(ApiError::internal)?;
        let now = last_second(day_of(ctx.now()));
        let (tags, at) = (ctx.pool_tags.get(reader, view)?, At::time(now));
        Ok(Judge { ctx, view, at, tags, documents: BTreeMap::new(), scripts: HashMap::new() })
    }

    /// True if there is anything to judge by.
    pub(crate) fn is_loaded(&self) -> Result<bool, ApiError> {
        Ok(!self.tags.matcher.tags().is_empty() || self.view.claims().has_any()?)
    }

    /// The pool of the block at this height, whose coinbase has this scriptSig. One row read, and two for each script
    /// that was not judged before.
    pub(crate) fn block(&mut self, height: u32, coinbase_script: &[u8]) -> Result<Option<PoolAttribution>, ApiError> {
        self.view.require(&cairn_tables::stages::PAYOUTS)?;
        let row = self.view.get::<Payouts>(&height)?.ok_or_else(|| lacks::<Payouts>(format!("block {height}")))?;
        self.judge(coinbase_script, &row)
    }

    /// The pool of a block that pays so.
    pub(crate) fn judge(
        &mut self,
        coinbase_script: &[u8],
        payouts: &PayoutsRow,
    ) -> Result<Option<PoolAttribution>, ApiError> {
        let mut paid = None;
        for payout in &payouts.largest {
            if let Some(of) = self.script(&payout.script)? {
                paid = Some((*payout, of));
                break;
            }
        }
        let tagged = self.tags.matcher.find(coinbase_script).map(|tag| &tag.pool);
        let found = attribute([paid.as_ref().map(|(_, of)| &of.pool)], tagged);
        Ok(found.map(|of| PoolAttribution {
            pool: of.pool.clone(),
            by: of.by,
            other_pool: of.other_pool.cloned(),
            paid: paid.as_ref().map(|(payout, _)| *payout),
        }))
    }

    /// The pool that a script is paid for, by the SHA-256 of the script.
    pub(crate) fn script(&mut self, script: &[u8; 32]) -> Result<Option<Arc<PaidFor>>, ApiError> {
        if let Some(known) = self.scripts.get(script) {
            return Ok(known.clone());
        }
        let found = self.look_up(script)?.map(Arc::new);
        self.scripts.insert(*script, found.clone());
        Ok(found)
    }

    fn look_up(&mut self, script: &[u8; 32]) -> Result<Option<PaidFor>, ApiError> {
        self.ctx.work.poll()?;
        let lists = self.view.claims().of_hash(script, None)?.lists;
        for of in &lists {
            if !self.documents.contains_key(&of.version) {
                let document = self.view.claims().document(&of.version)?;
                let document = document.ok_or_else(|| lacks::<Documents>("the document of a claim".to_owned()))?;
                self.documents.insert(of.version, document);
            }
        }
        let mut stated: Vec<Stated<'_>> = Vec::new();
        for of in &lists {
            let Some(document) = self.documents.get(&of.version) else { continue };
            stated.extend(of.claims.iter().map(|claim| Stated {
                claim,
                source: &document.provenance.source,
                licence: &document.provenance.licence,
                document: &document.provenance.document,
                retrieved_at: document.provenance.retrieved_at,
                ended_at: of.ended_at,
                is_contested: of.is_contested(claim),
                inherited: false,
            }));
        }
        Ok(pool_of_script(&stated, self.at).map(|of| PaidFor {
            pool: of.pool.clone(),
            name: Arc::clone(&of.claim.claim.entity_name),
            script: Arc::clone(&of.claim.claim.script),
            claim_id: format!("{}:{}", of.claim.document, of.claim.claim.row),
            source: of.claim.source.to_string(),
            licence: of.claim.licence.to_string(),
            level: of.claim.level(),
            asserted_at: of.claim.then(),
        }))
    }

    /// The name of a pool as people write it: as its tags have it, else as a claim about one of the scripts that were
    /// judged, else its short name.
    pub(crate) fn name(&self, pool: &EntityName) -> String {
        if let Some(tag) = self.tags.tags_of(pool).next() {
            return tag.name.to_string();
        }
        let named = self.paid_for(pool).filter(|(_, of)| !of.name.is_empty());
        named.map(|(_, of)| of.name.to_string()).min().unwrap_or_else(|| pool.to_string())
    }

    pub(crate) fn network(&self) -> cairn_model::Network {
        self.view.network()
    }

    /// The scripts of a pool among those that were judged, by their SHA-256, in no order.
    pub(crate) fn paid_for(&self, pool: &EntityName) -> impl Iterator<Item = (&[u8; 32], &PaidFor)> {
        let found = self.scripts.iter().filter_map(|(hash, of)| Some((hash, &**of.as_ref()?)));
        found.filter(move |(_, of)| of.pool == *pool)
    }

    /// The pool's page, as its tags name it.
    pub(crate) fn link(&self, pool: &EntityName) -> Option<String> {
        self.tags.tags_of(pool).map(|tag| &tag.link).find(|link| !link.is_empty()).map(ToString::to_string)
    }
}
