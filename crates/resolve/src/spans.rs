//! Executable memory as a few address ranges, for a filter that asks which words on a stack look like code and can test
//! only so many ranges.

use crate::maps::{MappedFile, Mapping};

/// The executable address ranges in ascending order, as `(start, end)` with `end` exclusive. Ranges that touch or
/// overlap are joined.
pub fn executable_spans(mappings: &[Mapping]) -> Vec<(u64, u64)> {
    let spans: Vec<(u64, u64)> =
        mappings.iter().filter(|mapping| mapping.executable).map(|mapping| (mapping.start, mapping.end)).collect();
    joined(spans)
}

/// Ranges in ascending order; those that touch or overlap are joined.
pub fn joined(mut spans: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
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

/// The executable address ranges, joined with the reserved addresses around memory of a just-in-time compiler: its next
/// code goes there, often before the map is read again.
pub fn code_spans(mappings: &[Mapping]) -> Vec<(u64, u64)> {
    let mut mappings: Vec<Mapping> = mappings.to_vec();
    mappings.sort_unstable_by_key(|mapping| mapping.start);
    let made = |mapping: &Mapping| mapping.executable && mapping.path == MappedFile::Anonymous;
    let free = |mapping: &Mapping| mapping.reserved && mapping.path == MappedFile::Anonymous;
    for at in 1..mappings.len() {
        if mappings[at - 1].end == mappings[at].start && made(&mappings[at - 1]) && free(&mappings[at]) {
            mappings[at].executable = true;
        }
    }
    for at in (1..mappings.len()).rev() {
        if mappings[at - 1].end == mappings[at].start && free(&mappings[at - 1]) && made(&mappings[at]) {
            mappings[at - 1].executable = true;
        }
    }
    executable_spans(&mappings)
}

/// Ranges in ascending order as at most `max` of them. Where there are more, the smallest gaps are closed first, so that
/// as little memory as possible counts as code without being code. None when `max` is 0.
pub fn merge_spans(spans: &[(u64, u64)], max: usize) -> Vec<(u64, u64)> {
    if spans.len() <= max {
        return spans.to_vec();
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
            reserved: false,
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
        let maps = [(0, 10), (12, 20), (100, 110), (140, 150)];
        assert_eq!(merge_spans(&maps, 9), maps);
        assert_eq!(merge_spans(&maps, 3), [(0, 20), (100, 110), (140, 150)]);
        assert_eq!(merge_spans(&maps, 2), [(0, 20), (100, 150)]);
        assert_eq!(merge_spans(&maps, 1), [(0, 150)]);
        assert_eq!(merge_spans(&maps, 0), []);
        assert_eq!(merge_spans(&[], 4), []);
    }

    #[test]
    fn addresses_reserved_around_run_time_code_count_as_code() {
        let reserved = |start, end| Mapping { reserved: true, ..mapping(start, end, false) };
        let file = |mapping: Mapping| Mapping { path: MappedFile::File("/lib/a.so".into()), ..mapping };
        let maps =
            [reserved(0, 10), mapping(10, 20, true), reserved(20, 30), mapping(30, 40, true), mapping(40, 50, false)];
        assert_eq!(code_spans(&maps), [(0, 40)]);
        // Reserved addresses elsewhere, and those beside a file's code, do not count.
        assert_eq!(code_spans(&[mapping(10, 20, true), reserved(21, 30)]), [(10, 20)]);
        assert_eq!(code_spans(&[file(mapping(10, 20, true)), reserved(20, 30)]), [(10, 20)]);
        assert_eq!(code_spans(&[mapping(10, 20, true), file(reserved(20, 30))]), [(10, 20)]);
    }
}
