//! Axes of drawings.

use crate::words;

/// Where values lie on a drawing.
#[derive(Debug, Clone, Copy)]
pub(in crate::html) struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    log: bool,
}

impl Axis {
    /// Maps the value `low` to the place `from`, and `high` to `to`.
    pub(in crate::html) fn new((low, high): (f64, f64), (from, to): (f64, f64), log: bool) -> Axis {
        let high = if high > low { high } else { low + 1.0 };
        Axis { low, high, from, to, log: log && low > 0.0 }
    }

    /// The place of a value.
    pub(in crate::html) fn at(&self, value: f64) -> f64 {
        let of = |v: f64| if self.log { v.max(self.low / 16.0).ln() } else { v };
        let share = (of(value) - of(self.low)) / (of(self.high) - of(self.low));
        let place = self.from + share * (self.to - self.from);
        // Hundredths of a pixel are enough, and a hostile number must not put "NaN" into the page.
        if place.is_finite() { (place * 100.0).round() / 100.0 } else { self.from }
    }
}

/// Round values from 0 up to `high`, about this many.
pub(in crate::html) fn ticks(high: f64, about: f64) -> Vec<f64> {
    if !(high.is_finite() && high > 0.0) {
        return vec![0.0];
    }
    let raw = high / about;
    let magnitude = 10_f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|m| m * magnitude).find(|s| *s >= raw).unwrap_or(raw);
    (0..100).map(|i| f64::from(i) * step).take_while(|t| *t <= high * 1.0001).collect()
}

/// Round values of a logarithmic axis: powers of ten; over few decades also 2 and 5 times these.
pub(in crate::html) fn decades(low: f64, high: f64) -> Vec<f64> {
    if !(low > 0.0 && high.is_finite() && high >= low) {
        return Vec::new();
    }
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let steps: &[f64] = if high / low <= 100.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let all = (first..=last).flat_map(|e| steps.iter().map(move |s| s * 10_f64.powi(e)));
    all.filter(|tick| (low..=high).contains(tick)).collect()
}

/// The points of a polyline through these places, cut off where it would leave the drawing at its top.
pub(in crate::html) fn below(top: f64, places: &[(f64, f64)]) -> String {
    let mut line: Vec<String> = Vec::new();
    let mut before: Option<(f64, f64)> = None;
    for (x, y) in places.iter().copied() {
        if y >= top {
            line.push(format!("{x},{y}"));
        } else if let Some((x0, y0)) = before.filter(|(_, y0)| *y0 > y && *y0 >= top) {
            let share = (y0 - top) / (y0 - y);
            line.push(format!("{},{top}", ((x0 + share * (x - x0)) * 100.0).round() / 100.0));
            break;
        } else {
            break;
        }
        before = Some((x, y));
    }
    line.join(" ")
}

/// A value beside an axis: few digits.
pub(in crate::html) fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        // Hundredths of a small number, no trailing zeros.
        size if size < 10.0 => {
            let text = words::number(value, (2 - size.log10().floor() as i32).clamp(0, 6));
            if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
        }
        size if size < 10_000.0 => words::number(value, i32::from(size < 100.0 && size.fract() != 0.0)),
        _ => words::count(value).replace(".00 ", " ").replace(".0 ", " "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(ticks(2.1, 4.0), [0.0, 1.0, 2.0]);
        assert_eq!(ticks(4.0, 4.0), [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(ticks(0.0, 4.0), [0.0]);
        assert_eq!(ticks(f64::NAN, 4.0), [0.0]);
    }

    #[test]
    fn a_line_ends_at_the_top() {
        assert_eq!(below(10.0, &[(0.0, 30.0), (10.0, 20.0), (20.0, 0.0), (30.0, 0.0)]), "0,30 10,20 15,10");
        assert_eq!(below(0.0, &[(0.0, 30.0), (10.0, 20.0)]), "0,30 10,20");
        assert_eq!(below(40.0, &[(0.0, 30.0)]), "");
    }

    #[test]
    fn decades_are_powers_of_ten() {
        assert_eq!(decades(1.0, 1000.0), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(decades(0.9, 30.0), [1.0, 2.0, 5.0, 10.0, 20.0]);
        assert!(decades(0.0, 1.0).is_empty() && decades(f64::NAN, 1.0).is_empty());
    }

    #[test]
    fn numbers_beside_an_axis_are_short() {
        for (value, text) in
            [(0.0, "0"), (1.0, "1"), (2.5, "2.5"), (0.25, "0.25"), (0.002, "0.002"), (64.0, "64"), (1000.0, "1000")]
        {
            assert_eq!(short(value), text);
        }
        assert_eq!(short(250_000.0), "250 k");
    }

    #[test]
    fn places_are_always_numbers() {
        let axis = Axis::new((1.0, 1.0), (0.0, 100.0), true);
        assert_eq!(axis.at(1.0), 0.0);
        assert!(Axis::new((f64::NAN, 2.0), (0.0, 1.0), false).at(f64::INFINITY).is_finite());
        assert_eq!(Axis::new((1.0, 16.0), (0.0, 4.0), true).at(4.0), 2.0);
    }
}
