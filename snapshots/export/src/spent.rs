//! Txid and address of the coins that inputs spend, which the journal lacks. Both are with the output, anywhere in the
//! chain before. So inputs ask, by groups of parts that made the coins; a walk over each group answers, by groups of
//! parts that spend them; and who writes inputs takes the answers in the order of the inputs. Nothing is looked up.

use std::path::Path;

use cairn_domain::address_of;
use cairn_model::{CancelToken, TxNum, Txid};
use cairn_reader::{Reader, View};
use cairn_store::{StoreError, on_threads};

use crate::{
    ExportError, Part,
    buckets::{Buckets, Filled, cut, cut_array},
    forms::Format,
};

pub(crate) struct Answers {
    files: Filled,
    format: Format,
}

/// Bytes of a question: transaction and output, part and number of the input in it.
const QUESTION: usize = 5 + 4 + 4 + 4;

/// Subjects of look-ups, and the threads for them.
pub(crate) struct Asking<'a> {
    pub(crate) reader: &'a Reader,
    pub(crate) groups: &'a [Vec<Part>],
    pub(crate) folder: &'a Path,
    pub(crate) format: Format,
    pub(crate) workers: usize,
    pub(crate) cancel: &'a CancelToken,
}

impl Asking<'_> {
    /// Answers for the inputs of all parts that `is_wanted` says.
    pub(crate) fn answers(&self, is_wanted: &(dyn Fn(&Part) -> bool + Sync)) -> Result<Answers, ExportError> {
        let count = self.groups.len();
        let questions = Buckets::create(self.folder, "spent-questions", count)?;
        let ends: Vec<TxNum> =
            self.groups.iter().map(|group| group.last().map_or(TxNum(0), |part| part.tx_end)).collect();
        self.each(|view, at| {
            for part in self.parts(at).iter().filter(|part| is_wanted(part)) {
                let mut number = 0u32;
                for block in view.journal(part.from, part.to)? {
                    self.check()?;
                    for coin in block?.inputs {
                        let mut record = Vec::with_capacity(QUESTION);
                        record.extend(coin.outpoint.tx_num.to_be5());
                        record.extend(coin.outpoint.vout.to_be_bytes());
                        record.extend(part.from.to_be_bytes());
                        record.extend(number.to_be_bytes());
                        questions.put(ends.partition_point(|end| *end <= coin.outpoint.tx_num), &record)?;
                        number += 1;
                    }
                }
            }
            Ok(())
        })?;
        let questions = questions.fill()?;
        let answers = Buckets::create(self.folder, "spent-answers", count)?;
        let starts: Vec<u32> = self.groups.iter().map(|group| group.first().map_or(0, |part| part.from)).collect();
        self.each(|view, at| {
            let mut asked: Vec<[u8; QUESTION]> = questions.take(at)?.as_chunks().0.to_vec();
            // Last first: the next one is at the end.
            asked.sort_unstable_by(|a, b| b.cmp(a));
            for part in self.parts(at) {
                if asked.is_empty() {
                    break;
                }
                self.answer_part(view, part, &mut asked, &answers, &starts)?;
            }
            match asked.is_empty() {
                true => Ok(()),
                false => Err(ExportError::Contradiction("an input spends an output that is not there".to_owned())),
            }
        })?;
        Ok(Answers { files: answers.fill()?, format: self.format })
    }

    fn answer_part(
        &self,
        view: &View<'_>,
        part: &Part,
        asked: &mut Vec<[u8; QUESTION]>,
        answers: &Buckets,
        starts: &[u32],
    ) -> Result<(), ExportError> {
        let mut record = Vec::new();
        for block in view.journal(part.from, part.to)? {
            self.check()?;
            let block = block?;
            for (position, tx) in block.txs.iter().enumerate() {
                let tx_num = block.tx_num(position).to_be5();
                while let Some(question) = asked.pop_if(|question| question[..5] <= tx_num[..]) {
                    let mut rest = &question[..];
                    let funding: [u8; 5] = cut_array(&mut rest)?;
                    let vout = u32::from_be_bytes(cut_array(&mut rest)?);
                    let output = block.outputs_of(tx).get(vout as usize).filter(|_| funding == tx_num);
                    let output = output.ok_or_else(|| {
                        ExportError::Contradiction("an input spends an output that is not there".to_owned())
                    })?;
                    let from = u32::from_be_bytes(*rest.first_chunk().unwrap_or(&[0; 4]));
                    record.clear();
                    record.extend(rest);
                    if self.format.txids {
                        record.extend(tx.txid.0);
                    }
                    if self.format.addresses {
                        let address = address_of(block.script(output), view.network()).unwrap_or_default();
                        record.push(u8::try_from(address.len()).map_err(|_| ExportError::Defect("a long address"))?);
                        record.extend(address.as_bytes());
                    }
                    answers.put(starts.partition_point(|start| *start <= from).saturating_sub(1), &record)?;
                }
            }
        }
        Ok(())
    }

    fn each(&self, job: impl Fn(&View<'_>, usize) -> Result<(), ExportError> + Sync) -> Result<(), ExportError> {
        let begin = || Ok(self.reader.view()?);
        on_threads(self.workers, self.groups.len(), self.cancel, begin, |view, at| job(view, at))
    }

    fn parts(&self, at: usize) -> &[Part] {
        self.groups.get(at).map_or(&[], Vec::as_slice)
    }

    fn check(&self) -> Result<(), ExportError> {
        if self.cancel.is_cancelled() { Err(StoreError::Stopped.into()) } else { Ok(()) }
    }
}

impl Answers {
    pub(crate) fn take(&self, group: usize) -> Result<Spent, ExportError> {
        let bytes = self.files.take(group)?;
        let (mut rest, mut places) = (&bytes[..], Vec::new());
        while !rest.is_empty() {
            let place: [u8; 8] = cut_array(&mut rest)?;
            places.push((place, (bytes.len() - rest.len()) as u64));
            if self.format.txids {
                cut(&mut rest, 32)?;
            }
            if self.format.addresses {
                let [length] = cut_array(&mut rest)?;
                cut(&mut rest, length.into())?;
            }
        }
        places.sort_unstable_by(|a, b| b.cmp(a));
        Ok(Spent { bytes, places, format: self.format, at: [0; 8] })
    }
}

/// Coins that the inputs of a group spend, in the order of the inputs.
#[derive(Default)]
pub(crate) struct Spent {
    bytes: Vec<u8>,
    /// Part and number of each input, with the place of its answer; descending, so that the next one is at the end.
    places: Vec<([u8; 8], u64)>,
    format: Format,
    /// Part and number of the next input.
    at: [u8; 8],
}

impl Spent {
    /// The inputs of a part come next.
    pub(crate) fn begin(&mut self, part: &Part) {
        self.at = [0; 8];
        self.at[..4].copy_from_slice(&part.from.to_be_bytes());
    }

    /// Coin that the next input spends: txid and address, as requested.
    pub(crate) fn next(&mut self) -> Result<(Option<Txid>, Option<String>), ExportError> {
        let missing = || ExportError::Contradiction("an input has no output that it spends".to_owned());
        let (_, place) = self.places.pop_if(|(at, _)| *at == self.at).ok_or_else(missing)?;
        self.at = (u64::from_be_bytes(self.at) + 1).to_be_bytes();
        let mut rest = usize::try_from(place).ok().and_then(|place| self.bytes.get(place..)).ok_or_else(missing)?;
        let txid = if self.format.txids { Some(Txid(cut_array(&mut rest)?)) } else { None };
        if !self.format.addresses {
            return Ok((txid, None));
        }
        let [length] = cut_array(&mut rest)?;
        let text = str::from_utf8(cut(&mut rest, length.into())?);
        let text = text.map_err(|_| ExportError::Defect("an address is not text"))?;
        Ok((txid, Some(text.to_owned()).filter(|text| !text.is_empty())))
    }
}
