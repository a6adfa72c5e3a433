//! Text in bitmaps without an installed font.
//!
//! plotters draws the text of a bitmap with a font library, which needs fonts of the system or a
//! font to ship. The glyphs of noto-sans-mono-bitmap are already pixels, so a wrapper around the
//! bitmap backend copies them to the position of the text.

use noto_sans_mono_bitmap::{FontWeight, RasterHeight, RasterizedChar, get_raster, get_raster_width};
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind};

/// Smallest font size with the larger glyphs.
const LARGE_FROM: f64 = 20.0;

/// A backend that draws text pixel by pixel, and everything else like `B`.
pub(super) struct Lettered<B>(pub(super) B);

impl<B: DrawingBackend> DrawingBackend for Lettered<B> {
    type ErrorType = B::ErrorType;

    fn get_size(&self) -> (u32, u32) {
        self.0.get_size()
    }

    fn ensure_prepared(&mut self) -> Result<(), DrawingErrorKind<B::ErrorType>> {
        self.0.ensure_prepared()
    }

    fn present(&mut self) -> Result<(), DrawingErrorKind<B::ErrorType>> {
        self.0.present()
    }

    fn draw_pixel(&mut self, point: BackendCoord, color: BackendColor) -> Result<(), DrawingErrorKind<B::ErrorType>> {
        self.0.draw_pixel(point, color)
    }

    fn draw_line<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
    ) -> Result<(), DrawingErrorKind<B::ErrorType>> {
        self.0.draw_line(from, to, style)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        upper_left: BackendCoord,
        bottom_right: BackendCoord,
        style: &S,
        fill: bool,
    ) -> Result<(), DrawingErrorKind<B::ErrorType>> {
        self.0.draw_rect(upper_left, bottom_right, style, fill)
    }

    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        (x, y): BackendCoord,
    ) -> Result<(), DrawingErrorKind<B::ErrorType>> {
        let height = raster_height(style.size());
        let (width, tall) = extent(text, height);
        let left = match style.anchor().h_pos {
            HPos::Left => 0,
            HPos::Center => -width / 2,
            HPos::Right => -width,
        };
        let top = match style.anchor().v_pos {
            VPos::Top => 0,
            VPos::Center => -tall / 2,
            VPos::Bottom => -tall,
        };
        let (turn, color) = (style.transform(), style.color());
        for (glyph, left) in text.chars().map(|c| glyph(c, height)).zip((left..).step_by(advance(height))) {
            for (row, top) in glyph.rows().zip(top..) {
                for (&ink, left) in row.iter().zip(left..).filter(|&(&ink, _)| ink > 0) {
                    let (dx, dy) = turn.transform(left, top);
                    let alpha = color.alpha * f64::from(ink) / 255.0;
                    self.draw_pixel((x + dx, y + dy), BackendColor { alpha, ..color })?;
                }
            }
        }
        Ok(())
    }

    fn estimate_text_size<S: BackendTextStyle>(
        &self,
        text: &str,
        style: &S,
    ) -> Result<(u32, u32), DrawingErrorKind<B::ErrorType>> {
        let (width, height) = extent(text, raster_height(style.size()));
        Ok((width.unsigned_abs(), height.unsigned_abs()))
    }
}

fn raster_height(size: f64) -> RasterHeight {
    if size < LARGE_FROM { RasterHeight::Size16 } else { RasterHeight::Size20 }
}

/// Returns the pixels of `c`, or of a question mark if `c` has no glyph.
fn glyph(c: char, height: RasterHeight) -> RasterizedChar {
    get_raster(c, FontWeight::Regular, height)
        .or_else(|| get_raster('?', FontWeight::Regular, height))
        .expect("the font has a question mark")
}

fn advance(height: RasterHeight) -> usize {
    get_raster_width(FontWeight::Regular, height)
}

/// Returns the width and height of a line of text in pixels.
fn extent(text: &str, height: RasterHeight) -> (i32, i32) {
    let width = text.chars().count().saturating_mul(advance(height));
    (i32::try_from(width).unwrap_or(i32::MAX), i32::try_from(height.val()).unwrap_or(i32::MAX))
}
