//! A checkpoint whose linear layers differ in some outputs: muted heads and switches. No kernel knows of them.

use std::collections::BTreeMap;
use std::ops::Range;

use super::blueprint::CheckpointSource;
use super::error::ModelError;
use crate::graph::{WeightKind, WeightSource, WeightTable};
use crate::ops::Linear;
use crate::sorting;

/// Outputs of weights that are not those of the file, by entry of the table.
#[derive(Clone, Debug, Default)]
pub(crate) struct WeightEdits(BTreeMap<usize, Vec<Edit>>);

/// Rows of a matrix, or elements of a vector.
#[derive(Clone, Debug)]
struct Edit {
    outputs: Range<usize>,
    /// Entry and first output to take instead; `None`: zeros, which win over what is taken.
    from: Option<(usize, usize)>,
}

impl WeightEdits {
    /// Zeros for some outputs of a linear layer.
    pub fn zero(&mut self, linear: Linear, outputs: Range<usize>) {
        linear.entries().for_each(|entry| self.zero_entry(entry, outputs.clone()));
    }

    /// Zeros for some outputs of one weight.
    pub fn zero_entry(&mut self, entry: usize, outputs: Range<usize>) {
        self.0.entry(entry).or_default().push(Edit { outputs, from: None });
    }

    /// Other outputs for some of a linear layer: those of `from`, beginning with `first`.
    pub fn copy(&mut self, linear: Linear, outputs: Range<usize>, (from, first): (Linear, usize)) {
        for (entry, from) in linear.entries().zip(from.entries()) {
            let edit = Edit { outputs: outputs.clone(), from: Some((from, first)) };
            self.0.entry(entry).or_default().push(edit);
        }
    }

    /// Edited entries of the table.
    pub fn entries(&self) -> impl Iterator<Item = usize> + use<'_> {
        self.0.keys().copied()
    }

    /// Adds other edits.
    pub fn extend(&mut self, other: Self) {
        for (entry, edits) in other.0 {
            self.0.entry(entry).or_default().extend(edits);
        }
    }

    /// The parts of an entry's edits within `outputs`. Zeros come last.
    fn of(&self, entry: usize, outputs: &Range<usize>) -> Vec<Edit> {
        let within = |edit: &Edit| {
            let start = edit.outputs.start.max(outputs.start);
            let end = edit.outputs.end.min(outputs.end);
            let from = edit.from.map(|(from, first)| (from, first + start - edit.outputs.start));
            (start < end).then_some(Edit { outputs: start..end, from })
        };
        let mut edits: Vec<Edit> = self.0.get(&entry).into_iter().flatten().filter_map(within).collect();
        sorting::sort_by_key(&mut edits, |edit| edit.from.is_none());
        edits
    }
}

/// A checkpoint with edits.
pub(crate) struct EditedSource<'a> {
    pub source: CheckpointSource<'a>,
    pub table: &'a WeightTable,
    pub edits: &'a WeightEdits,
}

impl WeightSource for EditedSource<'_> {
    type Error = ModelError;

    fn read_rows(&mut self, index: usize, rows: Range<usize>, out: &mut [f32]) -> Result<(), ModelError> {
        self.source.read_rows(index, rows.clone(), out)?;
        let entry = &self.table.entries()[index];
        // a vector is one row of many outputs
        let is_vector = entry.kind == WeightKind::Vector;
        let (first, width) = if is_vector { (0, 1) } else { (rows.start, entry.width) };
        let outputs = first..first + out.len() / width;
        for Edit { outputs: shared, from } in self.edits.of(index, &outputs) {
            let out = &mut out[(shared.start - first) * width..(shared.end - first) * width];
            match from {
                None => out.fill(0.0),
                Some((from, start)) if is_vector => {
                    let mut whole = vec![0.0; self.table.entries()[from].width];
                    self.source.read_rows(from, 0..1, &mut whole)?;
                    out.copy_from_slice(&whole[start..start + shared.len()]);
                }
                Some((from, start)) => self.source.read_rows(from, start..start + shared.len(), out)?,
            }
        }
        Ok(())
    }

    fn read_input_multipliers(&mut self, index: usize) -> Result<Vec<(usize, f32)>, ModelError> {
        let mut multipliers = self.source.read_input_multipliers(index)?;
        let mut start = 0;
        for (count, multiplier) in &mut multipliers {
            let outputs = start..start + *count;
            start = outputs.end;
            // copies are of whole projections, each with a multiplier of its own
            for Edit { from, .. } in self.edits.of(index, &outputs) {
                let Some((from, first)) = from else { continue };
                let mut before = 0;
                for (count, other) in self.source.read_input_multipliers(from)? {
                    if (before..before + count).contains(&first) {
                        *multiplier = other;
                    }
                    before += count;
                }
            }
        }
        Ok(multipliers)
    }

    fn read_scales(&mut self, index: usize, rows: Range<usize>) -> Result<Option<Vec<f32>>, ModelError> {
        let Some(mut scales) = self.source.read_scales(index, rows.clone())? else { return Ok(None) };
        for Edit { outputs: shared, from } in self.edits.of(index, &rows) {
            let Some((from, first)) = from else { continue };
            let Some(other) = self.source.read_scales(from, first..first + shared.len())? else { continue };
            scales[shared.start - rows.start..shared.end - rows.start].copy_from_slice(&other);
        }
        Ok(Some(scales))
    }
}
