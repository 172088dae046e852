//! `translate(text, from, to)` for DataFusion.
//!
//! A plain scalar function, not DataFusion's kind for `async` calls: that one fails inside GROUP BY, ORDER BY and other calls.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;

use crate::column::{has_strings, translated};
use crate::{FunctionError, Translations};

/// Name of the function in plans. DataFusion has a function `translate` of its own, as PostgreSQL does: under that name, an executor without
/// this function would exchange letters of the texts.
pub const NAME: &str = "wordloom_translate";

/// Name of the function in SQL.
pub const SQL_NAME: &str = "translate";

/// Names of the arguments, for messages.
const ARGUMENTS: [&str; 3] = ["text", "source language", "target language"];

/// The function, with its models.
#[derive(Debug)]
pub struct Translate {
    translations: Arc<Translations>,
    aliases: [String; 1],
    signature: Signature,
}

impl Translate {
    pub fn new(translations: Arc<Translations>) -> Self {
        // not immutable: another session can have other models
        let signature = Signature::user_defined(Volatility::Stable);
        Self { translations, aliases: [SQL_NAME.to_owned()], signature }
    }
}

/// Two functions are equal if they have the same models.
impl PartialEq for Translate {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.translations, &other.translations)
    }
}

impl Eq for Translate {}

impl Hash for Translate {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.translations).hash(state);
    }
}

impl ScalarUDFImpl for Translate {
    fn name(&self) -> &str {
        NAME
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Strings of any type stay as they are. NULL becomes a string as a text, and is refused as a language.
    fn coerce_types(&self, kinds: &[DataType]) -> Result<Vec<DataType>> {
        if kinds.len() != ARGUMENTS.len() {
            return Err(FunctionError::Arguments { count: kinds.len() }.into());
        }
        let coerced = ARGUMENTS.iter().zip(kinds).map(|(&argument, kind)| match kind {
            DataType::Null if argument == "text" => Ok(DataType::Utf8),
            // of a parameter such as $1, whose value is not known yet
            DataType::Null => Ok(DataType::Null),
            kind if has_strings(kind) => Ok(kind.clone()),
            kind => Err(FunctionError::NoString { argument, kind: kind.clone() }.into()),
        });
        coerced.collect()
    }

    fn return_type(&self, kinds: &[DataType]) -> Result<DataType> {
        kinds.first().cloned().ok_or_else(|| FunctionError::Arguments { count: 0 }.into())
    }

    /// The type of the text. Languages are checked here, before a query runs.
    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let kinds: Vec<DataType> =
            arguments.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        let mut languages = [None; 2];
        for (index, language) in languages.iter_mut().enumerate() {
            *language = match arguments.scalar_arguments.get(index + 1).copied().flatten() {
                Some(literal) => Some(language_of(literal, ARGUMENTS[index + 1])?),
                None if kinds.get(index + 1) == Some(&DataType::Null) => None,
                None => return Err(no_literal(index + 1).into()),
            };
        }
        if let [Some(from), Some(to)] = languages {
            self.translations.check(from, to)?;
        }
        let nullable = arguments.arg_fields.first().is_none_or(|field| field.is_nullable());
        Ok(Arc::new(Field::new(NAME, self.return_type(&kinds)?, nullable)))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [text, from, to] = &*arguments.args else {
            return Err(FunctionError::Arguments { count: arguments.args.len() }.into());
        };
        let language = |index: usize, value: &ColumnarValue| match value {
            ColumnarValue::Scalar(literal) => Ok(language_of(literal, ARGUMENTS[index])?.to_owned()),
            ColumnarValue::Array(_) => Err(no_literal(index)),
        };
        let (from, to) = (language(1, from)?, language(2, to)?);
        let translate = |texts: &[&str]| self.translations.translate([&from, &to], texts);
        Ok(match text {
            ColumnarValue::Array(column) => ColumnarValue::Array(translated(column, translate)?),
            ColumnarValue::Scalar(text) => {
                let found = translated(&text.to_array_of_size(1)?, translate)?;
                ColumnarValue::Scalar(ScalarValue::try_from_array(&found, 0)?)
            }
        })
    }
}

fn language_of<'a>(literal: &'a ScalarValue, argument: &'static str) -> Result<&'a str, FunctionError> {
    match literal.try_as_str() {
        Some(Some(language)) => Ok(language),
        Some(None) => Err(FunctionError::NoLiteral { argument, found: "NULL" }),
        None if literal.is_null() => Err(FunctionError::NoLiteral { argument, found: "NULL" }),
        None => Err(FunctionError::NoString { argument, kind: literal.data_type() }),
    }
}

fn no_literal(argument: usize) -> FunctionError {
    FunctionError::NoLiteral { argument: ARGUMENTS[argument], found: "a column or an expression" }
}
