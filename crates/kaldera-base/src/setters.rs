//! Setters of options.

/// Consuming setters of a structure, a line for each: `FIELD, SETTER: TYPE, "documentation";`. With
/// `FIELD, SETTER: TYPE = VALUE, "documentation";` for every field, it implements [`Default`], too.
///
/// ```
/// pub struct Options {
///     beam: f32,
/// }
///
/// kaldera_base::setters! {
///     Options:
///     beam, with_beam: f32 = 16.0, "With a beam.";
/// }
///
/// assert_eq!(Options::default().beam, 16.0);
/// assert_eq!(Options::default().with_beam(8.0).beam, 8.0);
/// ```
#[macro_export]
macro_rules! setters {
    ($options:ident: $($name:ident, $setter:ident: $type:ty = $value:expr, $text:literal;)*) => {
        impl Default for $options {
            fn default() -> Self {
                Self { $($name: $value,)* }
            }
        }
        $crate::setters! { $options: $($name, $setter: $type, $text;)* }
    };
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
