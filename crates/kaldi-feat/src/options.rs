//! Names of the options of an option structure, so that one parser serves programs, configuration
//! files and libraries.
//!
//! Kaldi's classes have `Register(OptionsItf *)`; structures here have [`OptionSet::register`],
//! which hands each field to a [`Registry`] under Kaldi's name for it, with Kaldi's meaning. The
//! command's parser is such a registry.

use std::path::PathBuf;

use thiserror::Error;

/// A text that is not a value of an option.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("'{text}' is not {expected}")]
pub struct OptionError {
    /// The given text.
    pub text: String,
    /// The kind of text that is accepted, as in "a number".
    pub expected: String,
}

impl OptionError {
    /// Creates an error for a `text` that is not `expected` ("an integer", "one of ...").
    pub fn new(text: &str, expected: impl Into<String>) -> Self {
        Self { text: text.to_owned(), expected: expected.into() }
    }
}

/// A value that can be read from the text of an option.
pub trait OptionValue {
    /// Sets the value from `text`.
    ///
    /// # Errors
    /// If `text` is not a value of this type; the old value then stays.
    fn set(&mut self, text: &str) -> Result<(), OptionError>;

    /// Returns the value as `--help` and `--config` files show it.
    fn show(&self) -> String;

    /// Returns Kaldi's name of the type, for `--help`.
    fn type_name(&self) -> &'static str;

    /// Returns `true` for a bool, which a bare `--name` sets.
    fn is_bool(&self) -> bool {
        false
    }
}

impl OptionValue for bool {
    /// Accepts `true`, `t`, `1` or nothing; `false`, `f` or `0`; in any case of letters, as in
    /// Kaldi.
    fn set(&mut self, text: &str) -> Result<(), OptionError> {
        *self = match text.to_ascii_lowercase().as_str() {
            "true" | "t" | "1" | "" => true,
            "false" | "f" | "0" => false,
            _ => return Err(OptionError::new(text, "true or false")),
        };
        Ok(())
    }
    fn show(&self) -> String {
        self.to_string()
    }
    fn type_name(&self) -> &'static str {
        "bool"
    }
    fn is_bool(&self) -> bool {
        true
    }
}

/// Implements the option of an enum, whose variants `ALL` have a `name`.
macro_rules! option_of_names {
    ($t:ty) => {
        impl crate::options::OptionValue for $t {
            fn set(&mut self, text: &str) -> Result<(), crate::options::OptionError> {
                let found = Self::ALL.into_iter().find(|one| one.name() == text);
                let expected = || format!("one of {}", Self::ALL.map(Self::name).join(", "));
                *self = found.ok_or_else(|| crate::options::OptionError::new(text, expected()))?;
                Ok(())
            }
            fn show(&self) -> String {
                self.name().to_owned()
            }
            fn type_name(&self) -> &'static str {
                "string"
            }
        }
    };
}
pub(crate) use option_of_names;

macro_rules! impl_number {
    ($t:ty, $name:literal, $expected:literal) => {
        impl OptionValue for $t {
            fn set(&mut self, text: &str) -> Result<(), OptionError> {
                *self = text.trim().parse().map_err(|_| OptionError::new(text, $expected))?;
                Ok(())
            }
            fn show(&self) -> String {
                self.to_string()
            }
            fn type_name(&self) -> &'static str {
                $name
            }
        }
    };
}

impl_number!(i32, "int", "an integer");
impl_number!(u64, "int", "an integer, 0 or more");
impl_number!(usize, "int", "an integer, 0 or more");
impl_number!(f32, "float", "a number");
impl_number!(f64, "double", "a number");

impl OptionValue for String {
    fn set(&mut self, text: &str) -> Result<(), OptionError> {
        text.clone_into(self);
        Ok(())
    }
    fn show(&self) -> String {
        format!("\"{self}\"")
    }
    fn type_name(&self) -> &'static str {
        "string"
    }
}

impl OptionValue for PathBuf {
    fn set(&mut self, text: &str) -> Result<(), OptionError> {
        *self = text.into();
        Ok(())
    }
    fn show(&self) -> String {
        format!("\"{}\"", self.display())
    }
    fn type_name(&self) -> &'static str {
        "string"
    }
}

/// An option that may be absent, and has no default of its own.
impl<T: OptionValue + Default> OptionValue for Option<T> {
    fn set(&mut self, text: &str) -> Result<(), OptionError> {
        let mut value = T::default();
        value.set(text)?;
        *self = Some(value);
        Ok(())
    }
    fn show(&self) -> String {
        self.as_ref().map_or_else(|| String::new().show(), T::show)
    }
    fn type_name(&self) -> &'static str {
        T::default().type_name()
    }
}

/// Takes the options of one or more [`OptionSet`]s.
pub trait Registry<'a> {
    /// Adds an option: its name as typed after `--`, a reference to its value, and one sentence for
    /// `--help`.
    fn add(&mut self, name: &'static str, value: &'a mut dyn OptionValue, doc: &'static str);
}

/// A structure whose fields are options.
pub trait OptionSet {
    /// Adds every option of this structure to `registry`.
    #[doc(alias = "Register")]
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>);
}

/// The options of both, as in a file with the options of pitch and of its features.
impl<A: OptionSet, B: OptionSet> OptionSet for (A, B) {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        self.0.register(registry);
        self.1.register(registry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bool_is_read_as_kaldi_reads_it() {
        let mut value = false;
        for (text, expected) in [("true", true), ("F", false), ("T", true), ("0", false), ("", true)] {
            value.set(text).unwrap();
            assert_eq!(value, expected, "{text:?}");
        }
        assert!(value.set("yes").is_err());
    }

    #[test]
    fn a_number_that_does_not_parse_leaves_the_old_one() {
        let mut value = 23_i32;
        assert_eq!(value.set("2.5").unwrap_err().to_string(), "'2.5' is not an integer");
        assert_eq!(value, 23);
    }
}
