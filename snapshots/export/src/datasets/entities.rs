//! `entities` and `entity_flows`.

use cairn_domain::entities::{is_person, shown_category, shown_name};
use cairn_reader::{EXCHANGE_FLOWS, ReadError, View};
use cairn_tables::{
    entities::FacetKind,
    exchange_flows::{ExchangeFlows, FlowMode, FlowSum},
};

use crate::{
    Dataset, ExportError,
    columns::{Kind, column, nullable},
    dataset::{Scope, Source},
    sink::Sink,
};

pub(super) const ENTITIES: Dataset = Dataset {
    name: "entities",
    about: "Entities that labels name, with the totals of their scripts as of the tip. Members are scripts attributed \
        to the entity by claims about themselves; inherited scripts are attributed to it by claims about other \
        scripts of their clusters.",
    sorted_by: &["entity"],
    columns: &[
        column("entity", Kind::Text, "Short name of the entity."),
        column("name", Kind::Text, "Name as people write it: the one claimed for most scripts."),
        nullable("category", Kind::Word, "Category claimed for most of the entity's scripts; null if none is claimed."),
        column(
            "is_person",
            Kind::Flag,
            "True if the entity counts as a natural person. The API omits natural persons from its lists.",
        ),
        column("members", Kind::Long, "Number of members."),
        column("seen_members", Kind::Long, "Number of members that occur in a block."),
        column(
            "named_scripts",
            Kind::Long,
            "Number of scripts that are not members although their label names the entity.",
        ),
        column("received", Kind::Sats, "Value of all coins that members received."),
        column("sent", Kind::Sats, "Value of those coins that were spent."),
        column("received_coins", Kind::Long, "Number of coins that members received."),
        column("sent_coins", Kind::Long, "Number of those coins that were spent."),
        column("inherited_scripts", Kind::Long, "Number of inherited scripts."),
        column("inherited_balance", Kind::Sats, "Total balance of the inherited scripts."),
        column("clusters", Kind::Long, "Number of clusters of the inherited scripts."),
        column("balance", Kind::Sats, "Total balance of members and inherited scripts."),
        column(
            "left_out_clusters",
            Kind::Long,
            "Number of clusters that are not counted because they have a suspect merge.",
        ),
        column(
            "left_out_balance",
            Kind::Sats,
            "Total balance of these clusters, excluding scripts that a list attributes to an entity.",
        ),
    ],
    source: Source::Whole(entities),
};

pub(super) const ENTITY_FLOWS: Dataset = Dataset {
    name: "entity_flows",
    about: "Inflow to and outflow from exchanges, by day. `latest` uses the labels as they are now; `pit` uses them as \
        they were asserted at the time of each block. As of the block that `as_of_height` in the manifest names: the \
        newest blocks may be missing.",
    sorted_by: &["mode", "entity", "day"],
    columns: &[
        column("mode", Kind::Word, "`latest` or `pit` (point in time)."),
        nullable(
            "entity",
            Kind::Text,
            "Short name of the exchange; null for all exchanges together, excluding flows between them.",
        ),
        column("day", Kind::Day, "Day, by monotone block time."),
        column("inflow", Kind::Sats, "Value received from others."),
        column("outflow", Kind::Sats, "Value sent to others, excluding fees."),
        column("internal", Kind::Sats, "Value that came back to the exchange, including change."),
        column("fee", Kind::Sats, "Fees of these transactions."),
        column("from_exchanges", Kind::Sats, "Part of the inflow that came from exchanges."),
        column("to_exchanges", Kind::Sats, "Part of the outflow that went to exchanges."),
        column(
            "reclassified",
            Kind::Sats,
            "Balance of scripts newly attributed to the exchange, minus that of scripts no longer attributed to it.",
        ),
        column(
            "backfilled",
            Kind::Sats,
            "Inflow and outflow that count because of documents that the index received on a later day.",
        ),
        column("transactions", Kind::Long, "Number of transactions."),
    ],
    source: Source::Whole(flows),
};

/// Maximum number of names of an entity that are compared.
const MAX_NAMES: usize = 1_000;
/// Number of entities that are read at a time.
const AT_A_TIME: usize = 1_000;

fn entities(scope: &Scope<'_>, view: &View<'_>, sink: &mut Sink) -> Result<(), ExportError> {
    let mut from = None;
    loop {
        scope.check()?;
        let mut found = view.entities().list(from.as_ref(), AT_A_TIME + 1)?;
        from = if found.len() > AT_A_TIME { found.pop().map(|next| next.name) } else { None };
        for entity in found {
            let (rows, inherited) = (&mut sink.rows, entity.inherited);
            let names = view.entities().facets(&entity.name, FacetKind::Name, MAX_NAMES)?;
            rows.text(entity.name.as_str());
            rows.text(shown_name(&entity.name, &names));
            rows.maybe(shown_category(&entity.categories), |rows, category| rows.text(category.as_str()));
            rows.flag(is_person(entity.persons, entity.members + entity.named));
            [entity.members, entity.seen, entity.named].into_iter().for_each(|number| rows.number(number));
            rows.sats(entity.funded);
            rows.sats(entity.spent);
            rows.number(entity.funded_count);
            rows.number(entity.spent_count);
            rows.number(inherited.scripts);
            rows.sats(inherited.balance);
            rows.number(inherited.clusters);
            rows.sats(entity.balance());
            rows.number(inherited.left_out);
            rows.sats(inherited.left_out_balance);
            sink.settle()?;
        }
        if from.is_none() {
            return Ok(());
        }
    }
}

fn flows(scope: &Scope<'_>, view: &View<'_>, sink: &mut Sink) -> Result<(), ExportError> {
    let head = match view.flows().head() {
        Ok(head) => head,
        // Flows are computed separately from the chain: an index may not have them yet, and the manifest then says so.
        Err(ReadError::Unfinished(EXCHANGE_FLOWS)) => {
            sink.note =
                Some("flows of exchanges are not computed yet: `cairn run` and `cairn index` compute them".to_owned());
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    sink.as_of = Some(head.height);
    for row in view.scan::<ExchangeFlows>(None)? {
        let (key, sums) = row?;
        if key.generation != head.generation {
            continue;
        }
        let rows = &mut sink.rows;
        rows.text(if key.mode == FlowMode::Latest { "latest" } else { "pit" });
        rows.maybe(key.exchange.as_ref(), |rows, name| rows.text(name.as_str()));
        rows.day(key.day);
        for sum in [
            FlowSum::Inflow,
            FlowSum::Outflow,
            FlowSum::Internal,
            FlowSum::Fees,
            FlowSum::FromExchanges,
            FlowSum::ToExchanges,
            FlowSum::Reclassified,
            FlowSum::Backfilled,
        ] {
            rows.signed(sums.get(sum.position()));
        }
        rows.signed(sums.get(FlowSum::Transactions.position()));
        scope.settle(sink)?;
    }
    Ok(())
}
