//! Loads the BPF programs of `../bpf`, attaches them, and hands out their maps.
//!
//! May import: aya, libc, `abi`, `mapped`.

pub(crate) mod abi;
pub(crate) mod mapped;

use crate::error::Error;
use crate::machine::{possible_processors, usable_processors};
use abi::*;
use aya::maps::{HashMap, Map, MapData, Queue, RingBuf};
use aya::programs::perf_event::{PerfEventConfig, PerfEventScope, SamplePolicy, SoftwareEvent};
use aya::programs::{BtfTracePoint, PerfEvent};
use aya::{Btf, Ebpf, EbpfLoader, include_bytes_aligned};
use mapped::MappedArray;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

#[cfg(target_arch = "x86_64")]
static OBJECT: &[u8] = include_bytes_aligned!("../../bpf/knee.x86_64.o");
#[cfg(target_arch = "aarch64")]
static OBJECT: &[u8] = include_bytes_aligned!("../../bpf/knee.aarch64.o");

/// The programs on scheduler and system-call tracepoints, and what each hangs on.
const TRACEPOINTS: [(&str, &str); 6] = [
    ("on_switch", "sched_switch"),
    ("on_waking", "sched_waking"),
    ("on_fork", "sched_process_fork"),
    ("on_exec", "sched_process_exec"),
    ("on_exit", "sched_process_exit"),
    ("on_syscall", "sys_enter"),
];

/// CPU samples a second and processor. A prime number, so that it does not beat with timers of round periods.
pub(crate) const SAMPLE_HZ: u64 = 997;

/// Loaded programs; dropping it detaches and removes everything.
pub(crate) struct Programs {
    ebpf: Ebpf,
    pub(crate) threads: MappedArray<ThreadRecord>,
    pub(crate) globals: MappedArray<Globals>,
    pub(crate) images: MappedArray<ImageSpans>,
    pub(crate) processors: MappedArray<ProcessorRecord>,
    pub(crate) places: HashMap<MapData, PlaceKey, PlaceValue>,
    pub(crate) edges: HashMap<MapData, EdgeKey, EdgeValue>,
    pub(crate) syscalls: HashMap<MapData, SyscallKey, u64>,
    pub(crate) events: RingBuf<MapData>,
    pub(crate) samples: RingBuf<MapData>,
    free_slots: Queue<MapData, u32>,
    tasks: MapData,
}

impl Programs {
    /// Loads the programs; nothing runs yet.
    pub(crate) fn load() -> Result<Programs, Error> {
        let btf = Btf::from_sys_fs().map_err(Error::bpf("read the kernel's type information (BTF)"))?;
        let mut ebpf = EbpfLoader::new()
            .btf(Some(&btf))
            // The library has no type for task storage; it creates the map all the same.
            .allow_unsupported_maps()
            .map_max_entries("PROCESSORS", possible_processors())
            .load(OBJECT)
            .map_err(Error::bpf("load the BPF programs"))?;
        for (name, tracepoint) in TRACEPOINTS {
            let program: &mut BtfTracePoint = program(&mut ebpf, name)?;
            program.load(tracepoint, &btf).map_err(Error::bpf(format!("load the BPF program on {tracepoint}")))?;
        }
        let sampler: &mut PerfEvent = program(&mut ebpf, "on_sample")?;
        sampler.load().map_err(Error::bpf("load the BPF program that samples"))?;

        Ok(Programs {
            threads: mapped(&mut ebpf, "THREADS", MAX_SLOTS)?,
            globals: mapped(&mut ebpf, "GLOBALS", 1)?,
            images: mapped(&mut ebpf, "IMAGES", MAX_IMAGES)?,
            processors: mapped(&mut ebpf, "PROCESSORS", possible_processors() as usize)?,
            places: typed(&mut ebpf, "PLACES")?,
            edges: typed(&mut ebpf, "EDGES")?,
            syscalls: typed(&mut ebpf, "SYSCALLS")?,
            events: typed(&mut ebpf, "EVENTS")?,
            samples: typed(&mut ebpf, "SAMPLES")?,
            free_slots: typed(&mut ebpf, "FREE_SLOTS")?,
            tasks: match take(&mut ebpf, "TASKS")? {
                Map::Unsupported(data) => data,
                _ => return Err(missing("TASKS")),
            },
            ebpf,
        })
    }

    /// Attaches everything: from here on enrolled tasks are observed.
    pub(crate) fn attach(&mut self) -> Result<(), Error> {
        for (name, tracepoint) in TRACEPOINTS {
            let program: &mut BtfTracePoint = program(&mut self.ebpf, name)?;
            program.attach().map_err(Error::bpf(format!("attach to {tracepoint}")))?;
        }
        let sampler: &mut PerfEvent = program(&mut self.ebpf, "on_sample")?;
        for processor in usable_processors() {
            sampler
                .attach(
                    PerfEventConfig::Software(SoftwareEvent::CpuClock),
                    PerfEventScope::AllProcessesOneCpu { cpu: processor as u32 },
                    SamplePolicy::Frequency(SAMPLE_HZ),
                    false,
                )
                .map_err(Error::bpf(format!("sample processor {processor}")))?;
        }
        Ok(())
    }

    /// A handle for telling the programs which tasks to observe, usable while the maps are read elsewhere.
    pub(crate) fn enrolment(&self) -> Result<Enrolment, Error> {
        let tasks = self.tasks.fd().as_fd().try_clone_to_owned();
        Ok(Enrolment { tasks: tasks.map_err(Error::bpf("share the table of tasks"))? })
    }

    /// Gives back the slot of a thread that has ended and was read.
    pub(crate) fn free_slot(&mut self, slot: u32) {
        // A full queue only means that this slot is not used again.
        let _ = self.free_slots.push(slot, 0);
    }
}

/// See [`Programs::enrolment`].
pub(crate) struct Enrolment {
    tasks: OwnedFd,
}

impl Enrolment {
    /// Lets the programs know a task, given by its pidfd, before it does anything.
    pub(crate) fn enrol(&self, pidfd: BorrowedFd<'_>, slot: u32) -> io::Result<()> {
        /// `union bpf_attr` for BPF_MAP_UPDATE_ELEM, linux/bpf.h.
        #[repr(C)]
        struct Update {
            map: u32,
            padding: u32,
            key: u64,
            value: u64,
            flags: u64,
        }
        const BPF_MAP_UPDATE_ELEM: libc::c_long = 2;
        let key = pidfd.as_raw_fd();
        let attribute = Update {
            map: self.tasks.as_raw_fd() as u32,
            padding: 0,
            key: (&raw const key) as u64,
            value: (&raw const slot) as u64,
            flags: 0,
        };
        // SAFETY: key and value live until the call returns and have the sizes that the map was created with; the
        // attribute's size is passed.
        let result =
            unsafe { libc::syscall(libc::SYS_bpf, BPF_MAP_UPDATE_ELEM, &raw const attribute, size_of::<Update>()) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

fn missing(name: &str) -> Error {
    Error::Bpf { action: format!("find `{name}` among the BPF programs"), source: "it has another type".into() }
}

fn program<'a, P>(ebpf: &'a mut Ebpf, name: &str) -> Result<&'a mut P, Error>
where
    &'a mut P: TryFrom<&'a mut aya::programs::Program>,
{
    ebpf.program_mut(name).and_then(|program| program.try_into().ok()).ok_or_else(|| missing(name))
}

fn take(ebpf: &mut Ebpf, name: &str) -> Result<Map, Error> {
    ebpf.take_map(name).ok_or_else(|| missing(name))
}

fn typed<M: TryFrom<Map>>(ebpf: &mut Ebpf, name: &str) -> Result<M, Error> {
    M::try_from(take(ebpf, name)?).map_err(|_| missing(name))
}

fn mapped<T: Plain>(ebpf: &mut Ebpf, name: &str, length: usize) -> Result<MappedArray<T>, Error> {
    match ebpf.map(name) {
        Some(Map::Array(data)) => {
            MappedArray::map(data.fd().as_fd(), length).map_err(Error::bpf(format!("map the BPF array {name}")))
        }
        _ => Err(missing(name)),
    }
}
