//! Words over a picture, with lines at their starts and ends.

use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::native::word_lines::{Place, cells, places};
use crate::native::words::Word;

/// Pixels of the width of a character, of the gap between two words, and of the height of a line.
const CHARACTER: usize = 8;
const GAP: usize = 8;
const LINE: f64 = 20.0;
/// Maximum number of lines of words; there is no room for more.
const MAX_LINES: usize = 6;

/// Words and their places over a picture.
pub(super) struct WordBand<'w> {
    words: &'w [Word],
    places: Vec<Option<Place>>,
    /// Length of the axis in seconds.
    seconds: f64,
    /// Length of the axis in pixels.
    width: u32,
}

impl<'w> WordBand<'w> {
    /// Creates a band for words within `seconds`, which are `width` pixels.
    pub(super) fn new(words: &'w [Word], seconds: f64, width: u32) -> Self {
        let pixels = usize::try_from(width).unwrap_or(usize::MAX);
        let left = |word: &Word| {
            let own = cells(&word.text) * CHARACTER;
            let middle = (word.start + word.end) / 2.0 / seconds * f64::from(width);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "within the width, or saturates"
            )]
            let left = (middle - own as f64 / 2.0).max(0.0) as usize;
            (left, own)
        };
        Self { words, places: places(words.iter().map(left), GAP, pixels, MAX_LINES), seconds, width }
    }

    /// Returns the number of words that have no room.
    pub(super) fn left_out(&self) -> usize {
        self.places.iter().filter(|place| place.is_none()).count()
    }

    /// Returns the height in pixels.
    pub(super) fn height(&self) -> f64 {
        let lines = self.places.iter().flatten().map(|place| place.line + 1).max();
        lines.unwrap_or(0) as f64 * LINE
    }

    /// Draws the words between `bottom` and `top` of the vertical axis, and lines from `floor`
    /// upwards.
    pub(super) fn draw<B: DrawingBackend>(
        &self,
        chart: &mut ChartContext<'_, B, Cartesian2d<RangedCoordf64, RangedCoordf64>>,
        (floor, bottom, top): (f64, f64, f64),
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        for word in self.words {
            for time in [word.start, word.end] {
                chart.draw_series([PathElement::new([(time, floor), (time, bottom)], WHITE.mix(0.8))])?;
                chart.draw_series([PathElement::new([(time, bottom), (time, top)], BLACK.mix(0.3))])?;
            }
        }
        let style = TextStyle::from(("sans-serif", 15)).pos(Pos::new(HPos::Center, VPos::Center));
        let line = (top - bottom) * LINE / self.height();
        let second = self.seconds / f64::from(self.width);
        for (word, place) in self.words.iter().zip(&self.places) {
            let Some(place) = place else { continue };
            let middle = (place.left as f64 + (cells(&word.text) * CHARACTER) as f64 / 2.0) * second;
            let at = (middle, bottom + (place.line as f64 + 0.5) * line);
            chart.draw_series([Text::new(word.text.clone(), at, style.clone())])?;
        }
        Ok(())
    }
}
