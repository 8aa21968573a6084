//! `script_days`: how many scripts hold how much, and how many are in use, by day of monotone block time. It hears the
//! groups of the stage `scripts`.

use cairn_model::{Block, Sats, ScriptId, ScriptTemplate};
use cairn_tables::{
    history::HistoryEntry,
    periods::Period,
    script_days::{ACTIVE, BANDS, NO_ADDRESS, POSITIONS, RECEIVERS, SENDERS, ScriptDays, band},
    sums::Sums,
};

use crate::{
    deltas::{Lane, Spread, StageError},
    group::Group,
    hearing::{HearContext, Listener, ScriptActions},
    lanes::{Emitter, RowLane, Sink},
    scripts::{self, ScriptsStage},
    stage::{HeardLane, MapContext, Stage, identity},
};

pub(crate) struct ScriptDaysStage;

const LANES: [Lane; 1] = [Lane::add::<ScriptDays>(Spread::Few)];
const SCRIPT_DAYS: RowLane<ScriptDays> = RowLane::of(&LANES);

impl Stage for ScriptDaysStage {
    identity!(SCRIPT_DAYS, LANES);

    /// Maps nothing: this stage works on another stage's groups.
    fn map(&self, _: &Block, _: &MapContext<'_>, _: &mut Sink<'_>) {}

    fn hears(&self) -> Option<HeardLane> {
        Some(HeardLane { stage: &ScriptsStage, lane: 0 })
    }

    fn listener<'c>(&self, context: HearContext<'c>) -> Option<Box<dyn Listener + 'c>> {
        Some(Box::new(ScriptDayTally::new(context)))
    }
}

struct ScriptDay {
    id: ScriptId,
    has_address: bool,
    day: u32,
    /// Before the first entry, and after the last one.
    before: Sats,
    after: Sats,
    /// Its actions earlier that day, before the first entry.
    earlier: ScriptActions,
    actions: ScriptActions,
}

/// The change of one day, by position.
type Changes = [i128; POSITIONS as usize];

/// Adds up the entries of scripts, script by script.
pub struct ScriptDayTally<'c> {
    context: HearContext<'c>,
    today: Option<ScriptDay>,
    /// By day since 1970. Nearly every script has so few entries that looking up its days in a map would cost more than
    /// all else.
    days: Vec<Option<Box<Changes>>>,
}

impl<'c> ScriptDayTally<'c> {
    /// Nothing yet.
    #[must_use]
    pub fn new(context: HearContext<'c>) -> Self {
        ScriptDayTally { context, today: None, days: Vec::new() }
    }

    /// The next entry of a script's history: scripts one after the other, their entries in order.
    pub fn entry(&mut self, id: ScriptId, template: ScriptTemplate, entry: &HistoryEntry) -> Result<(), StageError> {
        let day = self.context.times.day_of(entry.tx_num);
        let begun = match &self.today {
            Some(today) if today.id == id && today.day == day => None,
            // Its actions on earlier days were heard before, or lie before all that is heard.
            Some(today) if today.id == id => Some((today.after, ScriptActions::default())),
            _ => {
                let since = self.context.times.first_of_day(day).unwrap_or(entry.tx_num);
                let before = self.context.past.script(id, since)?;
                Some((before.balance, before.since))
            }
        };
        if let Some((before, earlier)) = begun {
            self.close();
            let has_address = template.has_address();
            self.today = Some(ScriptDay {
                id,
                has_address,
                day,
                before,
                after: before,
                earlier,
                actions: ScriptActions::default(),
            });
        }
        if let Some(today) = &mut self.today {
            today.after = entry.after(today.after);
            today.actions.add(entry);
        }
        Ok(())
    }

    /// Adds the script's day up.
    fn close(&mut self) {
        let Some(today) = self.today.take() else { return };
        let day = today.day as usize;
        if self.days.len() <= day {
            self.days.resize_with(day + 1, || None);
        }
        let changes = self.days[day].get_or_insert_with(|| Box::new([0; POSITIONS as usize]));
        for (balance, sign) in [(today.before, -1), (today.after, 1)] {
            let Some(band) = band(balance) else { continue };
            let kinds = if today.has_address { &[0][..] } else { &[0, NO_ADDRESS] };
            for first in kinds {
                changes[(first + band) as usize] += sign;
                changes[(first + BANDS + band) as usize] += sign * i128::from(balance);
            }
        }
        let (actions, earlier) = (today.actions, today.earlier);
        changes[SENDERS as usize] += i128::from(actions.sent && !earlier.sent);
        changes[RECEIVERS as usize] += i128::from(actions.received && !earlier.received);
        changes[ACTIVE as usize] += i128::from(actions.any() && !earlier.any());
    }

    /// Emits the changes of days and longer periods, after every entry was given.
    pub fn finish(&mut self, sink: &mut Sink<'_>) -> Result<(), StageError> {
        self.close();
        let mut emit = Emitter::new(sink);
        for (day, changes) in (0u32..).zip(self.days.drain(..)) {
            let Some(changes) = changes else { continue };
            let sums = Sums::of((0u32..).zip(*changes))?;
            if sums.is_zero() {
                continue;
            }
            for period in Period::all_of(day) {
                emit.row(&SCRIPT_DAYS, &period, &sums);
            }
        }
        Ok(())
    }
}

impl Listener for ScriptDayTally<'_> {
    fn hear(&mut self, group: &Group<'_>, _: &mut Sink<'_>) -> Result<(), StageError> {
        let script = scripts::changes_of(group)?;
        script.changes.iter().try_for_each(|change| self.entry(script.id, change.template, &change.entry))
    }

    fn finish(&mut self, emit: &mut Sink<'_>) -> Result<(), StageError> {
        ScriptDayTally::finish(self, emit)
    }
}
