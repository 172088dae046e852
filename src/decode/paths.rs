//! Rows of a batch that ran the tokens of a hypothesis.

use std::ops::Range;

/// Tokens of each step of a batch, and their rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Paths {
    /// `[steps, rows]`
    tokens: Vec<u32>,
    /// `[steps, rows]`, row of the previous step
    parents: Vec<u32>,
    rows: usize,
}

impl Paths {
    pub fn add(&mut self, tokens: &[u32], parents: &[u32]) {
        self.rows = tokens.len();
        self.tokens.extend_from_slice(tokens);
        self.parents.extend_from_slice(parents);
    }

    /// Returns for each of `tokens`, in order from the first step, a row of the sentence's `rows` that ran it after its
    /// predecessors; any such row computed the same. `None` if there is none.
    pub fn of(&self, rows: Range<usize>, tokens: &[u32]) -> Option<Vec<usize>> {
        let last = tokens.len().checked_sub(1)?;
        if (last + 1) * self.rows > self.tokens.len() {
            return None;
        }
        let ran = |step: usize, row: usize| self.tokens[step * self.rows + row] == tokens[step];
        let mut path = vec![0; tokens.len()];
        for end in rows {
            let mut row = end;
            let whole = (0..=last).rev().all(|step| {
                path[step] = row;
                let agrees = ran(step, row);
                row = self.parents[step * self.rows + row] as usize;
                agrees
            });
            if whole {
                return Some(path);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_goes_back_through_parents() {
        let mut paths = Paths::default();
        paths.add(&[1, 1, 1, 1], &[0, 1, 2, 3]);
        paths.add(&[5, 6, 8, 9], &[1, 0, 2, 2]);
        paths.add(&[7, 7, 0, 0], &[1, 0, 2, 3]);
        assert_eq!(paths.of(0..2, &[1, 6, 7]), Some(vec![0, 1, 0]));
        assert_eq!(paths.of(0..2, &[1, 5, 7]), Some(vec![1, 0, 1]));
        assert_eq!(paths.of(0..2, &[1, 5]), Some(vec![1, 0]), "a shorter one");
        assert_eq!(paths.of(2..4, &[1, 9]), Some(vec![2, 3]));
        assert_eq!(paths.of(2..4, &[1, 5]), None, "that was another sentence");
        assert_eq!(paths.of(0..2, &[1, 6, 7, 7]), None, "nobody ran so many");
        assert_eq!(paths.of(0..2, &[]), None);
    }
}
