//! Value that labelled scripts spend: the value of the inputs of blocks, all together and of scripts that sources
//! label.

use std::collections::{BTreeMap, HashMap};

use cairn_events::Slug;
use cairn_model::{BlockHash, Height, Sats, ScriptId};

use crate::{ReadError, View, subjects::LabelView};

/// Blocks of a week, as the definition of the labelled share has it.
pub const WEEK_BLOCKS: u32 = 1_008;

/// Value that the inputs of a block spent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BlockVolume {
    /// Hash of the block.
    pub hash: BlockHash,
    /// Satoshis of all its inputs.
    pub spent: Sats,
    /// Value of labelled scripts.
    pub labelled: Sats,
    /// Value of the scripts that each source labels; several may label the same.
    pub by_source: Vec<(Slug, Sats)>,
}

/// Value that the inputs of some blocks spent.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Volume {
    /// Satoshis of all inputs.
    pub spent: Sats,
    /// Value of labelled scripts.
    pub labelled: Sats,
    /// Value of the scripts that each source labels.
    pub by_source: BTreeMap<Slug, Sats>,
}

impl Volume {
    /// Adds the volume of a block.
    pub fn add(&mut self, block: &BlockVolume) {
        // All coins of a week fit into 64 bits by far: it would take 21 million a block for months to exceed them.
        self.add_sums(block.spent, block.labelled, block.by_source.iter().map(|(source, sats)| (source, sats)));
    }

    /// Adds other blocks.
    pub fn add_all(&mut self, other: &Volume) {
        self.add_sums(other.spent, other.labelled, &other.by_source);
    }

    fn add_sums<'s>(&mut self, spent: Sats, labelled: Sats, sources: impl IntoIterator<Item = (&'s Slug, &'s Sats)>) {
        self.spent = self.spent.saturating_add(spent);
        self.labelled = self.labelled.saturating_add(labelled);
        for (source, sats) in sources {
            let of = self.by_source.entry(source.clone()).or_default();
            *of = of.saturating_add(*sats);
        }
    }

    /// Millionths of all that the inputs spent, rounded down; 0 if they spent nothing.
    #[must_use]
    pub fn millionths(&self, of: Sats) -> u64 {
        let part = (u128::from(of) * 1_000_000).checked_div(self.spent.into()).unwrap_or(0);
        u64::try_from(part).unwrap_or(u64::MAX)
    }
}

impl LabelView<'_> {
    /// Value that the inputs of a block spent, by the current labels. Reads the block in the journal, and looks up each
    /// script that it spends from: mostly the filter says that it has no label.
    pub fn volume(self, height: Height) -> Result<BlockVolume, ReadError> {
        let missing = || ReadError::Broken(format!("the journal has no block {height}"));
        let block = self.view.journal_block(height)?.ok_or_else(missing)?;
        let mut by_script: HashMap<ScriptId, Sats> = HashMap::new();
        let mut volume = BlockVolume { hash: block.hash, spent: 0, labelled: 0, by_source: Vec::new() };
        for input in &block.inputs {
            let of = by_script.entry(input.script).or_default();
            *of = of.saturating_add(input.value);
            volume.spent = volume.spent.saturating_add(input.value);
        }
        let mut scripts: Vec<(ScriptId, Sats)> = by_script.into_iter().collect();
        scripts.sort_unstable();
        let (mut labels, mut by_source) = (self.walk()?, BTreeMap::<Slug, Sats>::new());
        for (script, sats) in scripts {
            for (hash, label) in labels.of_prefix(&script.prefix)? {
                if label.id(&hash) != Some(script) || label.sources.is_empty() {
                    continue;
                }
                volume.labelled = volume.labelled.saturating_add(sats);
                for source in label.sources {
                    let of = by_source.entry(source).or_default();
                    *of = of.saturating_add(sats);
                }
            }
        }
        volume.by_source = by_source.into_iter().collect();
        Ok(volume)
    }
}

impl View<'_> {
    /// The first and the last height of the last week's blocks; of all blocks if the chain is shorter.
    #[must_use]
    pub fn week(&self) -> (Height, Height) {
        let last = self.tip().height;
        (last.saturating_sub(WEEK_BLOCKS - 1), last)
    }
}
