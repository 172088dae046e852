// Columns of logits that are some tokens only: lists of a sentence's tokens in the binding `columns`, [sentences,
// vocabulary], ascending and padded with the largest number.
// uses: the binding `columns`, p.vocabulary
override HAS_COLUMNS: bool = false;  // else a column is a token

// The column of a token; p.vocabulary or more if it has none.
fn column_of(sentence: u32, token: u32, zero: u32) -> u32 {
    if (!HAS_COLUMNS) {
        return token;
    }
    let start = sentence * p.vocabulary;
    // the first column that is not before the token
    var low = zero;
    var high = p.vocabulary;
    while (low < high) {
        let middle = (low + high) / 2u;
        if (columns[start + middle] < token) {
            low = middle + 1u;
        } else {
            high = middle;
        }
    }
    if (low < p.vocabulary && columns[start + low] == token) {
        return low;
    }
    return p.vocabulary;
}
