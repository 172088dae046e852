//! The gradients of tables: embeddings, and tied rows.

use wordloom::kernels::embedding_gradient::{END_OF_SEGMENTS, EmbeddingGradientShape, TableLayout, dispatch};
use wordloom::kernels::tie_rows::{self, TiedRows};
use wordloom::kernels::{PANEL, stride};

use super::{TOLERANCE, assert_near, from_panels, run_twice, to_panels};
use crate::common::{device_test, gpu};
use crate::{UNTOUCHED, pad, random, unpad, upload, upload_u32};

/// Rows of dy sorted by their token, and the pairs of token and first index, with the end and old pairs after it.
fn sorted(tokens: &[u32], old: &[[u32; 2]]) -> (Vec<u32>, Vec<[u32; 2]>) {
    let mut order: Vec<u32> = (0..tokens.len() as u32).collect();
    order.sort_by_key(|&row| tokens[row as usize]);
    let token = |at: usize| tokens[order[at] as usize];
    let starts = (0..order.len()).filter(|&at| at == 0 || token(at) != token(at - 1));
    let mut segments: Vec<[u32; 2]> = starts.map(|at| [token(at), at as u32]).collect();
    segments.push([END_OF_SEGMENTS, tokens.len() as u32]);
    segments.extend(old);
    (order, segments)
}

#[device_test]
async fn embeddings_sum_the_rows_that_looked_them_up() {
    let gpu = gpu().await;
    for (rows, width, vocabulary) in [(1, 1, 1), (5, 6, 130), (70, 64, 200), (300, 33, 7), (200, 300, 64)] {
        let tokens: Vec<u32> = (0..rows).map(|r| (r * r * 67 % vocabulary) as u32).collect();
        let (order, segments) = sorted(&tokens, &[[0, 0], [3, 1], [0, 0]]);
        let (dy, before) = (random(1, rows * width), random(2, vocabulary * width));
        let mut want: Vec<f64> = before.iter().copied().map(f64::from).collect();
        for (row, &token) in tokens.iter().enumerate() {
            for column in 0..width {
                want[token as usize * width + column] += 1.5 * f64::from(dy[row * width + column]);
            }
        }
        let inputs = [
            upload(&gpu, &pad(&dy, width, 7.0)),
            upload_u32(&gpu, &order),
            upload_u32(&gpu, segments.as_flattened()),
        ];
        for layout in [TableLayout::Panels, TableLayout::Rows] {
            let what = format!("{rows} rows of {width} into {vocabulary} {layout:?}");
            let segments = segments.len();
            let shape = EmbeddingGradientShape { rows, width, segments, scale: 1.5, layout };
            let mut got = Vec::new();
            // parts of one panel, and the whole
            for part_rows in [PANEL, vocabulary.next_multiple_of(PANEL)] {
                got.clear();
                for first in (0..vocabulary).step_by(part_rows) {
                    let part = first..vocabulary.min(first + part_rows);
                    let content = &before[part.start * width..part.end * width];
                    let before = match layout {
                        TableLayout::Panels => to_panels(content, part.len(), width),
                        TableLayout::Rows => pad(content, width, 0.0),
                    };
                    let dispatch = dispatch(&shape, part.clone());
                    let after = run_twice(&gpu, &dispatch, &inputs.each_ref(), &[before]).await;
                    got.extend(match layout {
                        TableLayout::Panels => from_panels(&after[0], part.len(), width),
                        TableLayout::Rows => unpad(&what, &after[0], part.len(), width),
                    });
                }
                assert_near(&what, &got, &want, TOLERANCE);
            }
        }
    }
}

#[device_test]
async fn an_empty_list_of_segments_changes_nothing() {
    let gpu = gpu().await;
    let inputs = [upload(&gpu, &[1.0; 8]), upload_u32(&gpu, &[0, 1]), upload_u32(&gpu, &[u32::MAX, 2, 0, 0])];
    let shape =
        EmbeddingGradientShape { rows: 2, width: 4, segments: 2, scale: 1.0, layout: TableLayout::Rows };
    let got = run_twice(&gpu, &dispatch(&shape, 0..3), &inputs.each_ref(), &[vec![UNTOUCHED; 12]]).await;
    assert_eq!(got[0], [UNTOUCHED; 12]);
}

#[device_test]
async fn tied_rows_have_the_sum_of_their_bucket() {
    let gpu = gpu().await;
    for (rows, width) in [(1, 1), (3, 2), (65, 8), (257, 6)] {
        let x = random(1, rows * width);
        // rows of a bucket are named after the first of them
        let bucket = |row: u32| row * 7 / 3 % 32;
        let first_of = |row: u32| (0..=row).find(|&first| bucket(first) == bucket(row)).unwrap_or(row);
        let buckets: Vec<u32> = (0..rows as u32).map(first_of).collect();
        let bucket_sum = |row: usize, column: usize| -> f64 {
            let members = (0..rows).filter(|&other| buckets[other] == buckets[row]);
            members.map(|other| f64::from(x[other * width + column])).sum()
        };
        let inputs = [upload(&gpu, &pad(&x, width, 7.0)), upload_u32(&gpu, &buckets)];
        let outputs = [vec![UNTOUCHED; rows * stride(width)]];
        for gets in [TiedRows::First, TiedRows::All] {
            let want = |at: usize| match buckets[at / width] as usize == at / width || gets == TiedRows::All {
                true => bucket_sum(at / width, at % width),
                false => 0.0,
            };
            let want: Vec<f64> = (0..rows * width).map(want).collect();
            let got =
                run_twice(&gpu, &tie_rows::dispatch(rows, width, gets), &inputs.each_ref(), &outputs).await;
            let what = format!("[{rows}, {width}], {gets:?}");
            assert_near(&what, &unpad(&what, &got[0], rows, width), &want, TOLERANCE);
        }
    }
}
