//! Plots of a feature matrix, with time to the right, dimension upwards and value as colour; and of
//! pitch over time, with voicing as colour.

use std::ops::Range;

use kaldera::feat::nccf_to_pov;
use kaldera::matrix::Matrix;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::native::word_band::WordBand;
use crate::native::words::Word;

/// Width and height of a picture in pixels.
pub(super) const SIZE: (u32, u32) = (1000, 480);

/// Part of the width for the colour bar with its numbers.
const BAR_WIDTH: u32 = 110;

/// Margin around a map, and space for labels at its left and below it.
const MARGIN: u32 = 12;
const LABELS: (u32, u32) = (56, 44);

/// Pixels of the horizontal axis of a map, and approximate pixels of the vertical axis.
const AXES: (u32, f64) = (SIZE.0 - BAR_WIDTH - 2 * MARGIN - LABELS.0, 380.0);

/// Maximum number of dimensions that are labelled with names; a larger map has numbers.
const MAX_NAMES: usize = 40;

/// Maximum number of cells in each direction; more are averaged, as the picture has no more pixels.
const MAX_COLUMNS: usize = 840;
const MAX_ROWS: usize = 400;

/// Number of colours. Adjacent cells of the same colour are drawn as one, which keeps SVG files
/// small.
const NUM_COLORS: u16 = 128;

const FONT: &str = "sans-serif";
/// Colour of values that are infinite or not a number.
const NOT_FINITE: RGBColor = RGBColor(160, 160, 160);

/// Contents of the picture.
pub(super) struct HeatMap<'a> {
    /// Title above the picture.
    pub(super) title: &'a str,
    /// Features with at least one row and column.
    pub(super) features: &'a Matrix<f32>,
    /// Frame shift in seconds; 0 counts frames instead.
    pub(super) frame_shift: f64,
    /// Unit of the vertical axis, and units per dimension.
    pub(super) upwards: (&'static str, f64),
    /// Names of the dimensions, if they have any.
    pub(super) names: &'a [String],
    /// End of the horizontal axis, if it is not the last frame.
    pub(super) end: Option<f64>,
    /// Words over the picture; they need an axis in seconds.
    pub(super) words: &'a [Word],
}

/// The default vertical axis.
pub(super) const DIMENSIONS: (&str, f64) = ("dimension", 1.0);

impl HeatMap<'_> {
    /// Draws on the whole of `area`.
    pub(super) fn draw<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        let scale = Scale::from_features(self.features);
        area.fill(&WHITE)?;
        let (map, bar) = area.split_horizontally(SIZE.0 - BAR_WIDTH);
        self.draw_map(&map, &scale)?;
        draw_bar(&bar, &scale)
    }

    fn draw_map<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
        scale: &Scale,
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        let (frames, dims) = (self.features.num_rows(), self.features.num_cols());
        let (unit, x_label) = time_axis(self.frame_shift);
        let (y_label, y_unit) = self.upwards;
        let end = self.end.unwrap_or(frames as f64 * unit);
        let named = !self.names.is_empty() && dims <= MAX_NAMES;
        // A name is at the centre of its row.
        let bottom = if named { -0.5 } else { 0.0 };
        let top = dims as f64 * y_unit + bottom;
        let band = WordBand::new(self.words, end, AXES.0);
        let over = top + (top - bottom) * band.height() / (AXES.1 - band.height());
        let name = |y: &f64| -> String {
            let at = y.round();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
            let name = self.names.get(at as usize).filter(|_| at >= 0.0 && (at - y).abs() < 1e-6);
            name.cloned().unwrap_or_default()
        };
        let mut chart = ChartBuilder::on(area)
            .caption(self.title, (FONT, 20))
            .margin(MARGIN)
            .x_label_area_size(LABELS.1)
            .y_label_area_size(LABELS.0)
            .build_cartesian_2d(0.0..end, bottom..over)?;
        chart
            .configure_mesh()
            .disable_mesh()
            .x_desc(x_label)
            .y_desc(y_label)
            .x_labels(10)
            .y_labels(if named { dims + 2 } else { 10 })
            .x_label_formatter(&|x| short(*x))
            .y_label_formatter(&|y| match named {
                true => name(y),
                false if *y > top => String::new(),
                false => short(*y),
            })
            .label_style((FONT, 15))
            .draw()?;

        let columns = groups(frames, MAX_COLUMNS);
        for rows in groups(dims, MAX_ROWS) {
            let colors: Vec<_> = columns.iter().map(|column| scale.color(self.mean(column, &rows))).collect();
            let [low, high] = [rows.start, rows.end].map(|row| row as f64 * y_unit + bottom);
            let mut begin = 0;
            for run in colors.chunk_by(|a, b| a == b) {
                let next = begin + run.len();
                let (left, right) = (columns[begin].start as f64 * unit, columns[next - 1].end as f64 * unit);
                let cells = Rectangle::new([(left, low), (right.min(end), high)], run[0].filled());
                chart.draw_series([cells])?;
                begin = next;
            }
        }
        band.draw(&mut chart, (bottom, top, over))
    }

    /// Returns the mean over some frames and dimensions.
    fn mean(&self, frames: &Range<usize>, dims: &Range<usize>) -> f64 {
        let rows = frames.clone().map(|frame| &self.features.row_data(frame)[dims.clone()]);
        rows.flatten().map(|&value| f64::from(value)).sum::<f64>() / (frames.len() * dims.len()) as f64
    }
}

/// Returns the number of words that have no room over a picture of `seconds`.
pub(super) fn words_left_out(words: &[Word], seconds: f64) -> usize {
    WordBand::new(words, seconds, AXES.0).left_out()
}

/// Returns the units per frame of the horizontal axis, and its label.
fn time_axis(frame_shift: f64) -> (f64, &'static str) {
    if frame_shift > 0.0 { (frame_shift, "time (s)") } else { (1.0, "frame") }
}

/// Pitch over time: a dot for each frame, with a colour for the probability that it is voiced.
pub(super) struct PitchTrack<'a> {
    /// Title above the picture.
    pub(super) title: &'a str,
    /// NCCF and pitch in Hz, at least one row.
    pub(super) pitch: &'a Matrix<f32>,
    /// Frame shift in seconds; 0 counts frames instead.
    pub(super) frame_shift: f64,
}

impl PitchTrack<'_> {
    /// Draws on the whole of `area`.
    pub(super) fn draw<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        let scale = Scale { low: 0.0, high: 1.0, downwards: true };
        let (unit, x_label) = time_axis(self.frame_shift);
        let highest =
            self.pitch.rows().map(|row| f64::from(row[1])).filter(|pitch| pitch.is_finite()).fold(1.0, f64::max);
        area.fill(&WHITE)?;
        let (track, bar) = area.split_horizontally(SIZE.0 - BAR_WIDTH);
        let mut chart = ChartBuilder::on(&track)
            .caption(self.title, (FONT, 20))
            .margin(MARGIN)
            .x_label_area_size(LABELS.1)
            .y_label_area_size(LABELS.0)
            .build_cartesian_2d(0.0..self.pitch.num_rows() as f64 * unit, 0.0..highest * 1.1)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .x_desc(x_label)
            .y_desc("pitch (Hz)")
            .x_labels(10)
            .y_labels(8)
            .x_label_formatter(&|x| short(*x))
            .y_label_formatter(&|y| short(*y))
            .label_style((FONT, 15))
            .draw()?;
        chart.draw_series((0..).zip(self.pitch.rows()).map(|(frame, row)| {
            let at = (f64::from(frame) * unit, f64::from(row[1]));
            Circle::new(at, 2, scale.color(f64::from(nccf_to_pov(row[0]))).filled())
        }))?;
        draw_bar(&bar, &scale)
    }
}

/// Mapping from values to colours.
struct Scale {
    low: f64,
    high: f64,
    /// `true` if small values are bright rather than dark.
    downwards: bool,
}

impl Scale {
    /// Creates a scale from the least to the greatest finite value. If they are equal, or no value
    /// is finite, the scale is widened on both sides.
    fn from_features(features: &Matrix<f32>) -> Self {
        let finite = || features.rows().flatten().filter(|value| value.is_finite()).map(|&value| f64::from(value));
        let (low, high) = (finite().reduce(f64::min).unwrap_or(0.0), finite().reduce(f64::max).unwrap_or(0.0));
        let spread = if low < high { 0.0 } else { 0.5 * low.abs().max(1.0) };
        Self { low: low - spread, high: high + spread, downwards: false }
    }

    fn color(&self, value: f64) -> RGBColor {
        if !value.is_finite() {
            return NOT_FINITE;
        }
        let steps = f64::from(NUM_COLORS - 1);
        let step = ((value - self.low) / (self.high - self.low) * steps).round();
        ViridisRGB.get_color_normalized(if self.downwards { steps - step } else { step }, 0.0, steps)
    }
}

/// Draws the colour bar with its values.
fn draw_bar<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    scale: &Scale,
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
    let mut chart = ChartBuilder::on(area)
        .margin_top(42)
        .margin_bottom(56)
        .margin_right(4)
        .right_y_label_area_size(86)
        .build_cartesian_2d(0.0..1.0, scale.low..scale.high)?;
    let step = (scale.high - scale.low) / f64::from(NUM_COLORS);
    for index in 0..NUM_COLORS {
        let bottom = scale.low + step * f64::from(index);
        let color = scale.color(bottom + step * f64::from(index) / f64::from(NUM_COLORS));
        chart.draw_series([Rectangle::new([(0.0, bottom), (1.0, bottom + step)], color.filled())])?;
    }
    let label = TextStyle::from((FONT, 15)).pos(Pos::new(HPos::Left, VPos::Center));
    chart
        .configure_mesh()
        .disable_mesh()
        .disable_x_axis()
        .y_labels(10)
        // The blank separates the numbers from the ticks.
        .y_label_formatter(&|value| format!(" {}", short(*value)))
        .y_label_style(label)
        .draw()
}

/// Splits `0..count` into at most `max` ranges of about the same length.
pub(super) fn groups(count: usize, max: usize) -> Vec<Range<usize>> {
    let parts = count.min(max);
    (0..parts).map(|part| part * count / parts..(part + 1) * count / parts).collect()
}

/// Formats a number for an axis with as few digits as needed, at most four after the point.
pub(super) fn short(value: f64) -> String {
    if value != 0.0 && !(1e-3..1e5).contains(&value.abs()) {
        return format!("{value:.2e}");
    }
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_cover_everything_once() {
        assert_eq!(groups(3, 10), [0..1, 1..2, 2..3]);
        assert_eq!(groups(5, 2), [0..2, 2..5]);
        assert!(groups(0, 5).is_empty());
    }

    #[test]
    fn the_scale_spans_the_finite_values() {
        let matrix = |values: Vec<f32>| Matrix::from_vec(1, values.len(), values).unwrap();
        let scale = Scale::from_features(&matrix(vec![f32::NAN, -1.0, 3.0, f32::INFINITY]));
        assert_eq!((scale.low, scale.high), (-1.0, 3.0));
        assert_eq!(scale.color(f64::NAN), NOT_FINITE);
        assert_ne!(scale.color(-1.0), scale.color(3.0));
        for values in [vec![2.0, 2.0], vec![f32::NAN], vec![f32::MAX, f32::MIN]] {
            let scale = Scale::from_features(&matrix(values));
            assert!(scale.low < scale.high && (scale.high - scale.low).is_finite());
        }
    }

    #[test]
    fn numbers_are_short() {
        let texts = [0.0, 0.5, 12.0, -3.25, 1e-7, 2e6].map(short);
        assert_eq!(texts, ["0", "0.5", "12", "-3.25", "1.00e-7", "2.00e6"]);
    }
}
