//! The destination of deltas that a listener or an ordered fold emits: tables at once, sums, or the deltas of later
//! lanes.

use std::path::Path;

use cairn_stages::{Group, Lane, Listener, Merge, Rows, Spread, Stage, StageError};
use cairn_tables::Family;

use super::{
    Plan,
    file_rows::FileRows,
    fold::spill_name,
    shuffle::Shuffle,
    spill::{Lengths, SpillWriter, write_partition},
    write_behind::WriteBehind,
};
use crate::{
    PipelineError,
    error::{as_stage_write, unwrap_stage},
    groups::Ear,
    records::put_record,
    sums::SumsByKey,
};

enum Output {
    Rows(FileRows),
    Sums(SumsByKey),
    Shuffle(Shuffle),
    Spill(SpillWriter),
    /// The stage emits nothing there at this point.
    Nothing,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Emitting {
    /// A listener, as it hears that partition.
    Listener { partition: usize },
    /// The ordered fold of that lane, over all partitions.
    Ordered { lane: usize },
}

pub(crate) struct Outputs<'m> {
    dir: &'m Path,
    plan: Plan,
    lanes: &'m [Lane],
    outputs: Vec<Output>,
    record: Vec<u8>,
}

impl<'m> Outputs<'m> {
    pub(crate) fn open(dir: &'m Path, plan: Plan, stage: &'m dyn Stage, by: Emitting) -> Result<Self, PipelineError> {
        let lanes = stage.lanes();
        let open = |(at, lane): (usize, &Lane)| {
            Ok(match (by, lane.merge, lane.spread) {
                // An ordered fold emits only into lanes behind its own.
                (Emitting::Ordered { lane }, ..) if at <= lane => Output::Nothing,
                (_, Merge::Add, _) => Output::Sums(SumsByKey::default()),
                (Emitting::Listener { partition }, _, Spread::Heard) => {
                    Output::Rows(FileRows::new(dir, lane.name, partition))
                }
                (Emitting::Listener { partition }, Merge::Ordered, _) => {
                    Output::Shuffle(Shuffle::begin(dir, &spill_name(lane), partition, &plan)?)
                }
                (Emitting::Listener { .. }, ..) | (_, Merge::Ordered, _) | (_, _, Spread::Heard) => Output::Nothing,
                (Emitting::Ordered { .. }, ..) => {
                    let (buffer, behind) = (plan.spill_buffer(), WriteBehind::default());
                    let (name, none) = (spill_name(lane), Lengths::new());
                    Output::Spill(SpillWriter::open(dir, &name, plan.partitions, buffer, &none, behind)?)
                }
            })
        };
        let outputs = lanes.iter().enumerate().map(open).collect::<Result<_, PipelineError>>()?;
        Ok(Outputs { dir, plan, lanes, outputs, record: Vec::new() })
    }

    pub(crate) fn put(&mut self, index: usize, key: &[u8], value: &[u8]) -> Result<(), StageError> {
        let lane = &self.lanes[index];
        match &mut self.outputs[index] {
            Output::Rows(rows) => rows.put(lane.families[0], key, value),
            Output::Sums(sums) => sums.add(lane.name, key, value),
            Output::Shuffle(shuffle) => {
                shuffle.put(self.plan.partition(lane.spread, key), key, value).map_err(as_stage_write)
            }
            Output::Spill(spill) => {
                self.record.clear();
                put_record(&mut self.record, key, value);
                spill.put(self.plan.partition(lane.spread, key), &self.record).map_err(|error| match error {
                    PipelineError::Write(error) => as_stage_write(error),
                    other => StageError::Write(Box::new(other)),
                })
            }
            Output::Nothing => {
                Err(StageError::Contradiction { stage: lane.name, what: "a lane that takes nothing at this point" })
            }
        }
    }

    /// Makes it durable; sums as those of `partition`. Gives the table files that were written.
    pub(crate) fn finish(self, partition: usize) -> Result<Vec<(Family, String)>, PipelineError> {
        let mut files = Vec::new();
        for (lane, output) in self.lanes.iter().zip(self.outputs) {
            match output {
                Output::Rows(rows) => files.append(&mut rows.finish()?),
                Output::Shuffle(shuffle) => shuffle.finish()?,
                Output::Spill(mut spill) => spill.save(&mut Lengths::new())?,
                Output::Nothing => {}
                Output::Sums(sums) => {
                    let mut bytes = Vec::new();
                    sums.rows().for_each(|(key, value)| put_record(&mut bytes, &key, &value));
                    write_partition(self.dir, &spill_name(lane), partition, &bytes)?;
                }
            }
        }
        Ok(files)
    }
}

/// A listener, and where goes what it emits.
pub(crate) struct Hearing<'m> {
    listener: Box<dyn Listener + 'm>,
    outputs: Outputs<'m>,
}

impl<'m> Hearing<'m> {
    pub(crate) fn new(listener: Box<dyn Listener + 'm>, outputs: Outputs<'m>) -> Self {
        Hearing { listener, outputs }
    }

    pub(crate) fn finish(mut self, partition: usize) -> Result<Vec<(Family, String)>, PipelineError> {
        emitting(&mut self.outputs, |emit| self.listener.finish(emit)).map_err(unwrap_stage)?;
        self.outputs.finish(partition)
    }
}

impl Ear for Hearing<'_> {
    fn hear(&mut self, group: &Group<'_>) -> Result<(), StageError> {
        emitting(&mut self.outputs, |emit| self.listener.hear(group, emit))
    }
}

/// Runs an emitter into outputs; an error of the outputs comes before one of the emitter.
fn emitting(
    outputs: &mut Outputs<'_>,
    run: impl FnOnce(&mut cairn_stages::Sink<'_>) -> Result<(), StageError>,
) -> Result<(), StageError> {
    let mut put = Ok(());
    let ran = run(&mut |lane, key, value| {
        if put.is_ok() {
            put = outputs.put(lane, key, value);
        }
    });
    put.and(ran)
}
