// Rows that workgroups share out, see src/kernels/shares.rs; sum_shares.wgsl adds up their sums.
// uses: shared/reduce_rows.wgsl

// A workgroup's share of the rows, and its first quad. One beyond the last share has no rows, and stores nothing.
struct RowShare {
    index: u32,
    first_row: u32,
    end: u32,
    first_quad: u32,
}

fn row_share(group: u32, quads: u32) -> RowShare {
    let blocks = (quads + COLUMN_QUADS - 1u) / COLUMN_QUADS;
    let index = group / blocks;
    let first_row = index * p.share_rows;
    return RowShare(index, first_row, min(first_row + p.share_rows, p.rows), group % blocks * COLUMN_QUADS);
}
