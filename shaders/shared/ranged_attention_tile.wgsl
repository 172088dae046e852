// The pairs of a tile of sixteen queries and sixteen keys.
// uses: shared/ranged_attention_gradient.wgsl

// dcontext·v of a query (row of the tile) and a key (column). All lanes must call it.
fn gradient_value_product(first_query: u32, first_key: u32, head: u32, row: u32, column: u32) -> f32 {
    var product = 0.0;
    for (var d = 0u; d < D_VALUE; d += 64u) {
        workgroupBarrier();  // the tiles have been read
        a_tile[row * TILE_STRIDE + column] = context_gradient4(first_query + row, head, d + 4u * column);
        b_tile[row * TILE_STRIDE + column] = value4(first_key + row, head, d + 4u * column);
        workgroupBarrier();
        product += product_of_tiles(row, column, min(D_VALUE - d, 64u));
    }
    return product;
}

// The pair of a query (row of the tile) and a key (column); zeros if the query does not see it. All lanes must call it.
fn pair_of_tile(first_query: u32, first_key: u32, head: u32, lane: u32, visible: bool) -> Pair {
    let row = lane / TILE;
    let column = lane % TILE;
    let product = query_key_product(first_query, first_key, head, row, column);
    let value_product = gradient_value_product(first_query, first_key, head, row, column);
    if (!visible) {
        return Pair(0.0, 0.0);
    }
    return pair_of(first_query + row, first_key + column, head, product, value_product);
}
