//! From tokens to words: which tokens belong to a word, and a matrix of tokens as one of words.

use nalgebra::DMatrix;
use wordloom::text::Token;
use wordloom::trace::alignment::words;

/// For each token the index of its word, cut at white space. `None` for tokens without text, and for punctuation at a word's end.
pub fn words_of(tokens: &[&Token], text: &str) -> Vec<Option<usize>> {
    let words = words(text);
    let of = |token: &&Token| {
        let [first, end] = token.range?;
        let text_of = text.get(first..end)?;
        let is_sign = text_of.chars().all(|character| !character.is_alphanumeric());
        words.iter().position(|[start, stop]| (*start..*stop).contains(&first)).filter(|_| !is_sign)
    };
    tokens.iter().map(of).collect()
}

/// Sums the columns of a word's tokens, and takes the mean of the rows of a word's tokens: `[row words, column words]`.
pub fn by_words(
    matrix: &DMatrix<f64>,
    [rows, columns]: [&[Option<usize>]; 2],
    [row_words, column_words]: [usize; 2],
) -> DMatrix<f64> {
    let mut result = DMatrix::zeros(row_words, column_words);
    let mut counts = vec![0usize; row_words];
    for (row, word) in rows.iter().enumerate().take(matrix.nrows()) {
        let Some(word) = *word else { continue };
        counts[word] += 1;
        for (column, other) in columns.iter().enumerate().take(matrix.ncols()) {
            if let Some(other) = *other {
                result[(word, other)] += matrix[(row, column)];
            }
        }
    }
    for (word, count) in counts.into_iter().enumerate() {
        result.row_mut(word).unscale_mut(count.max(1) as f64);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_become_words() {
        let token = |range| Token { range, ..Token::default() };
        let tokens =
            [token(Some([0, 2])), token(Some([2, 4])), token(Some([5, 6])), token(Some([6, 7])), token(None)];
        let tokens: Vec<&Token> = tokens.iter().collect();
        let words = words_of(&tokens, "abcd e.");
        assert_eq!(words, [Some(0), Some(0), Some(1), None, None]);
        let matrix = DMatrix::from_fn(5, 5, |row, column| (row * 5 + column) as f64);
        let result = by_words(&matrix, [&words, &words], [2, 2]);
        // the mean of 0 + 1 and 5 + 6; of 2 and 7; then 10 + 11; and 12
        assert_eq!(result, DMatrix::from_row_slice(2, 2, &[6.0, 4.5, 21.0, 12.0]));
    }
}
