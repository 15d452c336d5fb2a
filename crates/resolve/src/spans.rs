//! Executable memory as a few address ranges, for a filter that can test only a handful of them: which words on a stack
//! look like code.

use crate::maps::Mapping;

/// The executable address ranges in ascending order, as `(start, end)` with `end` exclusive. Ranges that touch or
/// overlap are joined.
pub fn executable_spans(mappings: &[Mapping]) -> Vec<(u64, u64)> {
    let mut spans: Vec<(u64, u64)> =
        mappings.iter().filter(|mapping| mapping.executable).map(|mapping| (mapping.start, mapping.end)).collect();
    spans.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::with_capacity(spans.len());
    for (start, end) in spans {
        match joined.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => joined.push((start, end)),
        }
    }
    joined
}

/// The executable address ranges as at most `max` spans, in ascending order. Where there are more, the smallest gaps
/// are closed first, so that as little memory as possible counts as code without being code. None when `max` is 0.
pub fn merge_spans(mappings: &[Mapping], max: usize) -> Vec<(u64, u64)> {
    let spans = executable_spans(mappings);
    if spans.len() <= max {
        return spans;
    }
    if max == 0 {
        return Vec::new();
    }
    // The `max - 1` largest gaps are kept; gap `i` is after `spans[i]`.
    let mut gaps: Vec<usize> = (0..spans.len() - 1).collect();
    gaps.sort_by_key(|&i| std::cmp::Reverse(spans[i + 1].0 - spans[i].1));
    gaps.truncate(max - 1);
    gaps.sort_unstable();
    let mut merged = Vec::with_capacity(max);
    let mut first = 0;
    for gap in gaps.into_iter().chain([spans.len() - 1]) {
        merged.push((spans[first].0, spans[gap].1));
        first = gap + 1;
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maps::MappedFile;

    fn mapping(start: u64, end: u64, executable: bool) -> Mapping {
        Mapping {
            start,
            end,
            file_offset: 0,
            device: (0, 0),
            inode: 0,
            executable,
            deleted: false,
            path: MappedFile::Anonymous,
        }
    }

    #[test]
    fn touching_ranges_are_one_span_and_data_is_left_out() {
        let maps = [mapping(30, 40, true), mapping(10, 20, true), mapping(20, 25, true), mapping(25, 30, false)];
        assert_eq!(executable_spans(&maps), [(10, 25), (30, 40)]);
    }

    #[test]
    fn the_closest_ranges_are_merged_first() {
        let maps = [mapping(0, 10, true), mapping(12, 20, true), mapping(100, 110, true), mapping(140, 150, true)];
        assert_eq!(merge_spans(&maps, 9), [(0, 10), (12, 20), (100, 110), (140, 150)]);
        assert_eq!(merge_spans(&maps, 3), [(0, 20), (100, 110), (140, 150)]);
        assert_eq!(merge_spans(&maps, 2), [(0, 20), (100, 150)]);
        assert_eq!(merge_spans(&maps, 1), [(0, 150)]);
        assert_eq!(merge_spans(&maps, 0), []);
        assert_eq!(merge_spans(&[], 4), []);
    }
}
