//! `clean_up_tokenization_spaces`

use std::borrow::Cow;

/// `PreTrainedTokenizerBase.clean_up_tokenization`: no space in front of punctuation and English contractions.
pub(super) fn clean_up(text: &str) -> String {
    const RULES: [(&str, &str); 10] = [
        (" .", "."),
        (" ?", "?"),
        (" !", "!"),
        (" ,", ","),
        (" ' ", "'"),
        (" n't", "n't"),
        (" 'm", "'m"),
        (" 's", "'s"),
        (" 've", "'ve"),
        (" 're", "'re"),
    ];
    RULES.iter().fold(Cow::Borrowed(text), |text, (from, to)| text.replace(from, to).into()).into_owned()
}
