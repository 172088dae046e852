//! One text or many.

use super::translation::Translation;

/// Input of a translator: a string becomes a [`Translation`]; a slice, array or vector becomes a `Vec<Translation>`.
pub trait Texts: Sealed {
    /// [`Translation`] or `Vec<Translation>`.
    type Translations;
    #[doc(hidden)]
    fn texts(&self) -> Vec<&str>;
    #[doc(hidden)]
    fn gather(translations: Vec<Translation>) -> Self::Translations;
    #[doc(hidden)]
    const ONE: bool;
}

/// Seals [`Texts`].
pub trait Sealed {}

impl Sealed for str {}
impl Texts for str {
    type Translations = Translation;
    const ONE: bool = true;

    fn texts(&self) -> Vec<&str> {
        vec![self]
    }

    fn gather(mut translations: Vec<Translation>) -> Translation {
        translations.remove(0)
    }
}

impl<S: AsRef<str>> Sealed for [S] {}
impl<S: AsRef<str>> Texts for [S] {
    type Translations = Vec<Translation>;
    const ONE: bool = false;

    fn texts(&self) -> Vec<&str> {
        self.iter().map(AsRef::as_ref).collect()
    }

    fn gather(translations: Vec<Translation>) -> Vec<Translation> {
        translations
    }
}

/// Implements [`Texts`] for a type that borrows as another.
macro_rules! texts_as {
    ($([$($generics:tt)*] $owned:ty => $borrowed:ty;)*) => {$(
        impl<$($generics)*> Sealed for $owned {}
        impl<$($generics)*> Texts for $owned {
            type Translations = <$borrowed as Texts>::Translations;
            const ONE: bool = <$borrowed>::ONE;

            fn texts(&self) -> Vec<&str> {
                let borrowed: &$borrowed = self;
                borrowed.texts()
            }

            fn gather(translations: Vec<Translation>) -> Self::Translations {
                <$borrowed>::gather(translations)
            }
        }
    )*};
}

texts_as! {
    [] String => str;
    [T: Texts + ?Sized] &T => T;
    [S: AsRef<str>] Vec<S> => [S];
    [S: AsRef<str>, const N: usize] [S; N] => [S];
}
