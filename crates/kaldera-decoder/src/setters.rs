//! Setters of options.

/// Consuming setters of a structure, a line for each: `FIELD, SETTER: TYPE, "documentation";`.
macro_rules! setters {
    ($options:ident: $($name:ident, $setter:ident: $type:ty, $text:literal;)*) => {
        impl $options {
            $(#[doc = $text]
            #[must_use]
            pub fn $setter(mut self, $name: $type) -> Self {
                self.$name = $name;
                self
            })*
        }
    };
}

pub(crate) use setters;
