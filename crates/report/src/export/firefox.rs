//! A profile for the Firefox Profiler, in its processed format: CPU samples of each thread, and its states, waits and
//! tasks as markers.

use super::names::{CallSite, clean, kernel_of, path};
use crate::lanes::{Class, Timeline};
use crate::observed::Observed;
use fxprof_processed_profile as fx;
use recording::StackId;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::time::Duration;

/// A stretch of a lane, or a task.
struct LaneMarker {
    name: fx::StringHandle,
    what: fx::StringHandle,
}

impl fx::StaticSchemaMarker for LaneMarker {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "knee";
    const CHART_LABEL: Option<&'static str> = Some("{marker.data.what}");
    const TABLE_LABEL: Option<&'static str> = Some("{marker.name} - {marker.data.what}");
    const FIELDS: &'static [fx::StaticSchemaMarkerField] = &[fx::StaticSchemaMarkerField {
        key: "what",
        label: "What",
        format: fx::MarkerFieldFormat::String,
        flags: fx::MarkerFieldFlags::SEARCHABLE,
    }];

    fn name(&self, _profile: &mut fx::Profile) -> fx::StringHandle {
        self.name
    }

    fn category(&self, _profile: &mut fx::Profile) -> fx::CategoryHandle {
        fx::CategoryHandle::OTHER
    }

    fn string_field_value(&self, _field_index: u32) -> fx::StringHandle {
        self.what
    }

    fn number_field_value(&self, _field_index: u32) -> f64 {
        0.0
    }
}

/// Writes a run. `recorded`: when it was, since 1970.
///
/// # Errors
/// When `out` cannot be written.
pub fn render(observed: &Observed<'_, '_>, recorded: Duration, out: &mut dyn Write) -> io::Result<()> {
    let begin = observed.traced.trace.begin_ns;
    let at = |time: u64| fx::Timestamp::from_nanos_since_reference(time.saturating_sub(begin));
    let command = observed.traced.threads.values().next().map_or("program", |t| t.name.as_str());
    let period = observed.traced.trace.sample_period_ns.max(1);
    let mut profile = fx::Profile::new(
        &format!("knee: {}", clean(command)),
        fx::ReferenceTimestamp::from_duration_since_unix_epoch(recorded),
        fx::SamplingInterval::from_nanos(period),
    );
    let user = profile.add_category("User", fx::CategoryColor::Green);
    let kernel = profile.add_category("Kernel", fx::CategoryColor::Blue);
    let mut processes = BTreeMap::new();
    let mut handles = HashMap::new();
    let timeline = Timeline::new(observed, usize::MAX);
    for lane in &timeline.lanes {
        let Some(t) = observed.traced.threads.get(&lane.thread) else { continue };
        let process = *processes.entry(t.pid).or_insert_with(|| profile.add_process(&clean(&t.name), t.pid, at(begin)));
        let thread = profile.add_thread(process, t.tid, at(t.start_ns), t.tid == t.pid);
        profile.set_thread_name(thread, &clean(&t.name));
        profile.set_thread_end_time(thread, at(t.end_ns));
        handles.insert(lane.thread, thread);
        for span in &lane.spans {
            let kind = timeline.kinds.get(span.kind as usize);
            let class = kind.map_or(Class::Unknown, |k| k.class);
            let name = profile.intern_string(class.name());
            let what = profile.intern_string(&clean(kind.map_or("", |k| &k.label)));
            let timing = fx::MarkerTiming::Interval(at(span.start), at(span.end));
            profile.add_marker(thread, timing, LaneMarker { name, what });
        }
    }
    for task in crate::lanes::tasks::tasks(observed) {
        let Some(thread) = handles.get(&task.thread) else { continue };
        let name = profile.intern_string("task");
        let what = profile.intern_string(&clean(task.name));
        let timing = fx::MarkerTiming::Interval(at(task.start), at(task.end));
        profile.add_marker(*thread, timing, LaneMarker { name, what });
    }
    let mut known: HashMap<StackId, Vec<CallSite>> = HashMap::new();
    let mut samples = observed.traced.samples.clone();
    samples.sort_by_key(|s| s.time_ns);
    for sample in samples {
        let Some(thread) = handles.get(&sample.thread) else { continue };
        let places = match sample.user_stack {
            Some(stack) => known.entry(stack).or_insert_with(|| path(observed, stack)).as_slice(),
            None => &[],
        };
        let inner = kernel_of(observed, sample);
        let mut frames = Vec::with_capacity(places.len() + 1);
        for (place, category) in places.iter().rev().map(|p| (p, user)).chain(inner.iter().map(|p| (p, kernel))) {
            let label = if place.line > 0 {
                format!("{} ({}:{})", place.function, analyze::model::code::file_name(&place.file), place.line)
            } else {
                place.function.clone()
            };
            let frame = fx::Frame::Label(profile.intern_string(&label));
            frames.push(fx::FrameInfo { frame, category_pair: category.into(), flags: fx::FrameFlags::empty() });
        }
        let stack = profile.intern_stack_frames(*thread, frames.into_iter());
        profile.add_sample(*thread, at(sample.time_ns), stack, fx::CpuDelta::from_nanos(period), 1);
    }
    serde_json::to_writer(out, &profile).map_err(io::Error::from)
}
