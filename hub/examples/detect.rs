//! Measures the detector on files of one sentence per line: `detect CODE=FILE …`. For whole lines and for their first 1,
//! 2 and 3 words: the share of right answers, of certain ones, and of right ones among these.

use wordloom_hub::{Certainty, detect, offered_sources};

fn main() {
    let candidates = offered_sources();
    println!("{} candidates", candidates.len());
    for argument in std::env::args().skip(1) {
        let (code, file) = argument.split_once('=').expect("CODE=FILE");
        let text = std::fs::read_to_string(file).expect("a text file");
        for words in [1, 2, 3, usize::MAX] {
            let (mut all, mut right, mut certain, mut certainly_right) = (0, 0, 0, 0);
            for line in text.lines() {
                let line: Vec<&str> = line.split_whitespace().take(words).collect();
                let found = detect(&line.join(" "), &candidates);
                let (is_right, is_certain) = found.map_or((false, false), |found| {
                    (found.language.base() == code, found.certainty == Certainty::Certain)
                });
                all += 1;
                right += usize::from(is_right);
                certain += usize::from(is_certain);
                certainly_right += usize::from(is_right && is_certain);
            }
            let share = |part: usize, of: usize| 100.0 * part as f64 / of.max(1) as f64;
            let length = if words == usize::MAX { "whole".to_owned() } else { words.to_string() };
            println!(
                "{code} {length:>5}: {:5.1} % right, {:5.1} % certain, {:5.1} % of these right",
                share(right, all),
                share(certain, all),
                share(certainly_right, certain)
            );
        }
    }
}
