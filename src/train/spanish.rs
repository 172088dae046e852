//! Numbers in Spanish words: the task "spell numbers".

/// Largest number that [`words`] spells.
pub(super) const LARGEST: u32 = 9_999;

/// 0 to 29, each one word.
const UP_TO_29: [&str; 30] = [
    "cero",
    "uno",
    "dos",
    "tres",
    "cuatro",
    "cinco",
    "seis",
    "siete",
    "ocho",
    "nueve",
    "diez",
    "once",
    "doce",
    "trece",
    "catorce",
    "quince",
    "dieciséis",
    "diecisiete",
    "dieciocho",
    "diecinueve",
    "veinte",
    "veintiuno",
    "veintidós",
    "veintitrés",
    "veinticuatro",
    "veinticinco",
    "veintiséis",
    "veintisiete",
    "veintiocho",
    "veintinueve",
];

/// 30, 40, … 90.
const TENS: [&str; 7] = ["treinta", "cuarenta", "cincuenta", "sesenta", "setenta", "ochenta", "noventa"];

/// 100 (before another number), 200, … 900.
const HUNDREDS: [&str; 9] = [
    "ciento",
    "doscientos",
    "trescientos",
    "cuatrocientos",
    "quinientos",
    "seiscientos",
    "setecientos",
    "ochocientos",
    "novecientos",
];

/// All words that [`words`] uses.
pub(super) fn all_words() -> impl Iterator<Item = &'static str> {
    UP_TO_29.into_iter().chain(TENS).chain(HUNDREDS).chain(["y", "cien", "mil"])
}

/// The words of a number up to [`LARGEST`].
pub(super) fn words(number: u32) -> Vec<&'static str> {
    let mut words = Vec::new();
    let (thousands, rest) = (number / 1000, number % 1000);
    if thousands > 1 {
        words.push(UP_TO_29[thousands as usize]);
    }
    if thousands > 0 {
        words.push("mil");
    }
    let (hundreds, rest) = (rest / 100, rest % 100);
    match (hundreds, rest) {
        (0, _) => {}
        (1, 0) => words.push("cien"),
        _ => words.push(HUNDREDS[hundreds as usize - 1]),
    }
    match rest {
        0 if number > 0 => {}
        0..30 => words.push(UP_TO_29[rest as usize]),
        _ => {
            words.push(TENS[rest as usize / 10 - 3]);
            if rest % 10 > 0 {
                words.extend(["y", UP_TO_29[rest as usize % 10]]);
            }
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Examples of the Real Academia Española's rules: apocope of "cien", accents of 16, 22, 23 and 26, "y" only between
    /// tens and ones, no "un" before "mil".
    #[test]
    fn numbers_are_spelled_as_the_academy_does() {
        for (number, spelled) in [
            (0, "cero"),
            (1, "uno"),
            (16, "dieciséis"),
            (21, "veintiuno"),
            (22, "veintidós"),
            (26, "veintiséis"),
            (30, "treinta"),
            (31, "treinta y uno"),
            (99, "noventa y nueve"),
            (100, "cien"),
            (101, "ciento uno"),
            (130, "ciento treinta"),
            (200, "doscientos"),
            (500, "quinientos"),
            (700, "setecientos"),
            (909, "novecientos nueve"),
            (1000, "mil"),
            (1001, "mil uno"),
            (1100, "mil cien"),
            (2016, "dos mil dieciséis"),
            (3000, "tres mil"),
            (5555, "cinco mil quinientos cincuenta y cinco"),
            (9999, "nueve mil novecientos noventa y nueve"),
        ] {
            assert_eq!(words(number).join(" "), spelled, "{number}");
        }
    }

    #[test]
    fn no_two_numbers_are_spelled_alike() {
        let all: std::collections::BTreeSet<String> =
            (0..=LARGEST).map(|number| words(number).join(" ")).collect();
        assert_eq!(all.len(), LARGEST as usize + 1);
        let known: Vec<&str> = all_words().collect();
        assert!((0..=LARGEST).all(|number| words(number).iter().all(|word| known.contains(word))));
    }
}
