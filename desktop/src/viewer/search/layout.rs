//! Positions of the nodes of a search: a column for each step, the best node on top. So the height of a tree depends on the
//! beams, not on the sentence.

use std::ops::RangeInclusive;

use eframe::egui::{Key, Pos2, Rect, Vec2, pos2, vec2};
use wordloom::decode::SearchTree;

/// Distance between columns, in points.
const COLUMN: f32 = 132.0;
const ROW: f32 = 32.0;
const NODE: Vec2 = vec2(106.0, 25.0);
/// Width of the root.
const ROOT: f32 = 76.0;
const EDGE: f32 = 6.0;

pub struct Layout {
    /// Column and row of every node, from 0.
    places: Vec<[usize; 2]>,
    columns: Vec<Vec<usize>>,
    /// The largest number of nodes in a column.
    rows: usize,
}

impl Layout {
    /// The layout of a valid tree: its steps count from 1 without gaps.
    pub fn new(tree: &SearchTree) -> Self {
        let mut columns: Vec<Vec<usize>> = Vec::new();
        let mut places = Vec::with_capacity(tree.nodes.len());
        for (index, node) in tree.nodes.iter().enumerate() {
            let column = (node.step as usize).saturating_sub(1);
            if columns.len() <= column {
                columns.resize_with(column + 1, Vec::new);
            }
            places.push([column, columns[column].len()]);
            columns[column].push(index);
        }
        let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
        Self { places, columns, rows }
    }

    /// The size of the whole drawing, in points.
    pub fn size(&self) -> Vec2 {
        vec2(ROOT + self.columns.len() as f32 * COLUMN, self.rows.max(1) as f32 * ROW + 2.0 * EDGE)
    }

    /// The position of a node in the drawing.
    pub fn rect(&self, node: usize) -> Rect {
        let [column, row] = self.places[node];
        Rect::from_min_size(pos2(ROOT + column as f32 * COLUMN, top(row)), NODE)
    }

    /// The position of the root.
    pub fn root(&self) -> Rect {
        Rect::from_min_size(pos2(0.0, top(0)), vec2(ROOT - 12.0, NODE.y))
    }

    /// The node at a point of the drawing.
    pub fn at(&self, place: Pos2) -> Option<usize> {
        let column = ((place.x - ROOT) / COLUMN).max(0.0) as usize;
        let row = ((place.y - EDGE) / ROW).max(0.0) as usize;
        let node = *self.columns.get(column)?.get(row)?;
        self.rect(node).contains(place).then_some(node)
    }

    /// The nodes in a part of the drawing, including nodes of which only an edge is there.
    pub fn within(&self, part: Rect) -> impl Iterator<Item = usize> {
        let columns = self.columns_within(part.min.x..=part.max.x);
        self.columns[columns].iter().flatten().copied()
    }

    fn columns_within(&self, part: RangeInclusive<f32>) -> std::ops::Range<usize> {
        let first = ((part.start() - ROOT) / COLUMN).max(0.0) as usize;
        // edges of the next column begin here
        let last = ((part.end() - ROOT) / COLUMN).max(0.0) as usize + 2;
        first.min(self.columns.len())..last.min(self.columns.len())
    }

    /// The node that a key leads to.
    pub fn next(&self, tree: &SearchTree, from: usize, key: Key) -> Option<usize> {
        let [column, row] = *self.places.get(from)?;
        let beside = |row: usize| self.columns[column].get(row).copied();
        match key {
            Key::ArrowLeft => tree.nodes[from].parent.map(|parent| parent as usize),
            Key::ArrowRight => {
                let continues = |node: &&usize| tree.nodes[**node].parent == Some(from as u32);
                self.columns.get(column + 1)?.iter().find(continues).copied()
            }
            Key::ArrowUp => beside(row.checked_sub(1)?),
            Key::ArrowDown => beside(row + 1),
            Key::Home => self.columns.first()?.first().copied(),
            Key::End => self.columns.last()?.first().copied(),
            _ => None,
        }
    }
}

fn top(row: usize) -> f32 {
    EDGE + row as f32 * ROW + (ROW - NODE.y) / 2.0
}

#[cfg(test)]
mod tests {
    use wordloom::decode::{Fate, TreeNode};

    use super::*;

    /// Two nodes per step, both after the first of the previous step.
    fn tree(steps: u32) -> SearchTree {
        let node = |step: u32, second: u32| TreeNode {
            parent: step.checked_sub(2).map(|before| 2 * before),
            step,
            token: second,
            log_probability: -0.1,
            sum: -0.1 * step as f32,
            fate: if second == 0 { Fate::Kept } else { Fate::Rejected },
        };
        let nodes = (1..=steps).flat_map(|step| [node(step, 0), node(step, 1)]).collect();
        SearchTree { beams: 1, length_penalty: 1.0, nodes }
    }

    #[test]
    fn a_place_has_the_node_that_is_drawn_there() {
        let layout = Layout::new(&tree(3));
        for node in 0..6 {
            assert_eq!(layout.at(layout.rect(node).center()), Some(node));
        }
        assert_eq!(layout.at(layout.rect(0).center() - vec2(80.0, 0.0)), None);
        assert_eq!(layout.at(layout.rect(5).center() + vec2(COLUMN, 0.0)), None);
    }

    #[test]
    fn of_a_long_search_only_what_is_seen_is_drawn() {
        let layout = Layout::new(&tree(1_000));
        let seen = Rect::from_min_size(pos2(500.0 * COLUMN, 0.0), vec2(780.0, 400.0));
        let drawn: Vec<usize> = layout.within(seen).collect();
        assert!(drawn.len() <= 18, "{drawn:?}");
        let inside = (0..2_000).filter(|node| seen.intersects(layout.rect(*node)));
        assert!(inside.into_iter().all(|node| drawn.contains(&node)));
    }

    #[test]
    fn arrows_lead_along_the_tree() {
        let tree = tree(3);
        let layout = Layout::new(&tree);
        let walked = [Key::ArrowRight, Key::ArrowDown, Key::ArrowLeft, Key::End, Key::Home].iter().scan(
            0,
            |at, key| {
                *at = layout.next(&tree, *at, *key).expect("a way");
                Some(*at)
            },
        );
        assert_eq!(walked.collect::<Vec<_>>(), [2, 3, 0, 4, 0]);
        assert_eq!(layout.next(&tree, 3, Key::ArrowRight), None, "nothing came after it");
    }
}
