//! Colour maps. They are perceptually uniform: equal steps of weight look equally large.

use std::fmt;
use std::str::FromStr;

use colorous::Gradient;

/// A map from weights to colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ColourMap {
    /// Violet to yellow (van der Walt & Smith 2015).
    #[default]
    Viridis,
    /// Black through magenta to white (van der Walt & Smith 2015).
    Magma,
    /// Blue to yellow, equal for readers with and without colour blindness (Nuñez, Anderton & Renslow 2018), in d3's
    /// approximation by a polynomial.
    Cividis,
    /// White to black, for paper (Brewer).
    Greys,
}

impl ColourMap {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Viridis, Self::Magma, Self::Cividis, Self::Greys];

    fn gradient(self) -> Gradient {
        match self {
            Self::Viridis => colorous::VIRIDIS,
            Self::Magma => colorous::MAGMA,
            Self::Cividis => colorous::CIVIDIS,
            Self::Greys => colorous::GREYS,
        }
    }

    /// The colour of a value from 0 to 1: red, green, blue.
    pub fn colour(self, value: f32) -> [u8; 3] {
        let colorous::Color { r, g, b } = self.gradient().eval_continuous(f64::from(value.clamp(0.0, 1.0)));
        [r, g, b]
    }

    /// 256 colours, RGBA with red in the lowest byte.
    pub(super) fn table(self) -> [u32; 256] {
        std::array::from_fn(|index| {
            let [r, g, b] = self.colour(index as f32 / 255.0);
            u32::from_le_bytes([r, g, b, 255])
        })
    }
}

impl fmt::Display for ColourMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Viridis => "viridis",
            Self::Magma => "magma",
            Self::Cividis => "cividis",
            Self::Greys => "greys",
        })
    }
}

impl FromStr for ColourMap {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = Self::ALL.into_iter().find(|map| map.to_string() == text);
        named.ok_or("viridis, magma, cividis or greys is needed")
    }
}
