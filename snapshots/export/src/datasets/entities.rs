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
    about: "Entities that labels name, with what their scripts have as of the tip. Members are scripts that count as the entity's own by \
        claims about themselves; inherited ones count by claims about other scripts of their clusters.",
    sorted_by: &["entity"],
    columns: &[
        column("entity", Kind::Text, "Name of the entity."),
        column("name", Kind::Text, "The name that most scripts are said to have, as people write it."),
        nullable("category", Kind::Word, "The category that most of its scripts have; null if none has one."),
        column(
            "is_person",
            Kind::Flag,
            "True if it counts as a natural person. The API leaves these out of its lists.",
        ),
        column("members", Kind::Long, "Scripts that count as its own."),
        column("seen_members", Kind::Long, "Number of members that occur in a block."),
        column("named_scripts", Kind::Long, "Scripts whose label names it without making them members."),
        column("received", Kind::Sats, "Sum that members received."),
        column("sent", Kind::Sats, "Spent part of this sum."),
        column("received_coins", Kind::Long, "Coins that members received."),
        column("sent_coins", Kind::Long, "Their coins that were spent."),
        column("inherited_scripts", Kind::Long, "Scripts that count by their clusters."),
        column("inherited_balance", Kind::Sats, "Balance of these scripts."),
        column("clusters", Kind::Long, "Number of their clusters."),
        column("balance", Kind::Sats, "Balance of members and inherited scripts."),
        column("left_out_clusters", Kind::Long, "Clusters left out, since they have a suspect merge."),
        column(
            "left_out_balance",
            Kind::Sats,
            "Balance of these clusters, without scripts that a list attributes to an entity.",
        ),
    ],
    source: Source::Whole(entities),
};

pub(super) const ENTITY_FLOWS: Dataset = Dataset {
    name: "entity_flows",
    about: "Inflow to and outflow from exchanges, by day. `latest` has labels as they are now, `pit` as they were asserted at the \
        time of each block. As of the block that `as_of_height` in the manifest names: the \
        newest blocks may be missing.",
    sorted_by: &["mode", "entity", "day"],
    columns: &[
        column("mode", Kind::Word, "latest or pit (point in time)."),
        nullable("entity", Kind::Text, "Name of the exchange; null: all together, without what they sent each other."),
        column("day", Kind::Day, "Day, by monotone block time."),
        column("inflow", Kind::Sats, "Sum that came in."),
        column("outflow", Kind::Sats, "Sum that went out, without fees."),
        column("internal", Kind::Sats, "Sum that came back, change included."),
        column("fee", Kind::Sats, "Fees."),
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
            "Inflow and outflow that count because of documents which the index received on a later day.",
        ),
        column("transactions", Kind::Long, "Transactions."),
    ],
    source: Source::Whole(flows),
};

/// Names of an entity that are looked through.
const MAX_NAMES: usize = 1_000;
/// Entities that are read at a time.
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
        // They are computed apart from the chain: an index may not have them yet, and the manifest says so.
        Err(ReadError::Unfinished(EXCHANGE_FLOWS)) => {
            sink.note = Some("flows of exchanges are not made yet: `cairn run` and `cairn index` make them".to_owned());
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
        sink.settle()?;
        if sink.rows.len() == 0 {
            scope.check()?;
        }
    }
    Ok(())
}
