//! Loads the BPF programs of `../bpf`, attaches them, and hands out their maps.
//!
//! Rooms: `abi` the records that both sides know; `mapped` arrays shared with the programs; `enrol` chooses which tasks
//! to observe; `hardware` gives them hardware events to read; `marks` listens to the marks of the target.
//!
//! May import: `counters`, `error`, `machine`, `patience`, `sampling`, `recording`, `resolve`, aya, libc.

pub(crate) mod abi;
mod enrol;
pub(crate) mod hardware;
pub(crate) mod mapped;
mod marks;

pub(crate) use enrol::Enrolment;

use crate::error::Error;
use crate::machine::{possible_processors, usable_processors};
use crate::patience::patiently;
use crate::sampling::sample_hz;
use abi::*;
use aya::maps::{HashMap, Map, MapData, Queue, RingBuf};
use aya::programs::perf_event::{PerfEventConfig, PerfEventScope, SamplePolicy, SoftwareEvent};
use aya::programs::tp_btf::BtfTracePointLinkId;
use aya::programs::{BtfTracePoint, Iter, PerfEvent};
use aya::util::KernelVersion;
use aya::{Btf, Ebpf, EbpfLoader, include_bytes_aligned};
use hardware::Hardware;
use mapped::MappedArray;
use marks::Marks;
use std::io::Read;
use std::mem::offset_of;
use std::os::fd::AsFd;
use std::path::Path;

/// The programs for Linux 6.1 and newer, and those for older kernels, where tables take all of their memory at once.
#[cfg(target_arch = "x86_64")]
static OBJECTS: [&[u8]; 2] =
    [include_bytes_aligned!("../../bpf/knee.x86_64.o"), include_bytes_aligned!("../../bpf/knee-before-6.1.x86_64.o")];
#[cfg(target_arch = "aarch64")]
static OBJECTS: [&[u8]; 2] =
    [include_bytes_aligned!("../../bpf/knee.aarch64.o"), include_bytes_aligned!("../../bpf/knee-before-6.1.aarch64.o")];

/// The program on switches, and the one for kernels before 5.18, whose hook has no argument for the state.
const SWITCH: [&str; 2] = ["on_switch", "on_switch_without_state"];
const SWITCH_TRACEPOINT: &str = "sched_switch";

/// The other programs on scheduler and system-call tracepoints, each with its tracepoint.
const TRACEPOINTS: [(&str, &str); 5] = [
    ("on_waking", "sched_waking"),
    ("on_fork", "sched_process_fork"),
    ("on_exec", "sched_process_exec"),
    ("on_exit", "sched_process_exit"),
    ("on_syscall", "sys_enter"),
];

/// Since Linux 5.19. Without these two, only waits for kernel locks are missing.
const LOCK_TRACEPOINTS: [(&str, &str); 2] =
    [("on_contention", "contention_begin"), ("on_contention_end", "contention_end")];

/// When data goes through sockets, ports are opened and connections end: the first two since Linux 6.3. Without them, only requests and
/// replies are not counted.
const SOCKET_TRACEPOINTS: [(&str, &str); 3] =
    [("on_receive", "sock_recv_length"), ("on_send", "sock_send_length"), ("on_state", "inet_sock_set_state")];

/// Attached only while system calls are being timed.
const RETURN: (&str, &str) = ("on_return", "sys_exit");

/// Page faults that one sample stands for. A fault costs at least 0.5 µs and a sample about 2 µs, so sampling one in 61
/// costs less than a tenth. A prime, so that it does not beat with loops over round numbers of pages.
pub(crate) const FAULT_PERIOD: u64 = 61;

/// linux/membarrier.h: this system call returns when every running thread of the machine has been outside of RCU read
/// sections.
const MEMBARRIER_CMD_GLOBAL: libc::c_int = 1;

/// Bytes for events that wait to be read; the same as in maps.h.
const EVENT_BYTES: u32 = 16 << 20;

/// Loaded programs; dropping it detaches and removes everything.
pub(crate) struct Programs {
    ebpf: Ebpf,
    pub(crate) threads: MappedArray<ThreadRecord>,
    pub(crate) globals: MappedArray<Globals>,
    pub(crate) images: MappedArray<ImageSpans>,
    pub(crate) pythons: MappedArray<Python>,
    pub(crate) processors: MappedArray<ProcessorRecord>,
    pub(crate) places: HashMap<MapData, PlaceKey, PlaceValue>,
    pub(crate) edges: HashMap<MapData, EdgeKey, EdgeValue>,
    pub(crate) syscalls: HashMap<MapData, SyscallKey, u64>,
    pub(crate) calls: HashMap<MapData, CallKey, CallValue>,
    pub(crate) locks: HashMap<MapData, LockKey, LockValue>,
    pub(crate) peers: HashMap<MapData, PeerKey, PeerValue>,
    pub(crate) paths: HashMap<MapData, SocketPath, u32>,
    pub(crate) foreign: HashMap<MapData, u32, ForeignValue>,
    listeners: HashMap<MapData, u32, u32>,
    pub(crate) events: RingBuf<MapData>,
    pub(crate) samples: RingBuf<MapData>,
    free_slots: Queue<MapData, u32>,
    tasks: MapData,
    /// Opened when the programs are attached, unless a test gives others.
    hardware: Option<Hardware>,
    marks: Marks,
    counter_maps: [MapData; COUNTERS],
    timing: Option<BtfTracePointLinkId>,
    /// Which program of [`SWITCH`] this kernel takes.
    switch: &'static str,
    window: u32,
    /// CPU samples a second on each processor.
    pub(crate) sample_hz: u64,
    /// Why waits for kernel locks cannot be seen; absent when they can.
    no_locks: Option<String>,
    /// Whether requests and replies cannot be counted.
    no_sockets: bool,
}

impl Programs {
    /// Loads the programs; nothing runs yet.
    pub(crate) fn load() -> Result<Programs, Error> {
        Programs::load_with(None, EVENT_BYTES)
    }

    /// Like [`Programs::load`], with these hardware events and this much room, in bytes, for events that wait to be
    /// read.
    pub(crate) fn load_with(hardware: Option<Hardware>, event_bytes: u32) -> Result<Programs, Error> {
        let btf = Btf::from_sys_fs().map_err(Error::bpf("read the kernel's type information (BTF)"))?;
        let mut ebpf = EbpfLoader::new()
            .btf(Some(&btf))
            // The library has no type for task storage maps, but it creates them all the same.
            .allow_unsupported_maps()
            .map_max_entries("PROCESSORS", possible_processors())
            .map_max_entries("EVENTS", event_bytes)
            .map_max_entries("COUNTER0", possible_processors())
            .map_max_entries("COUNTER1", possible_processors())
            .map_max_entries("COUNTER2", possible_processors())
            .map_max_entries("COUNTER3", possible_processors())
            .load(object())
            .map_err(Error::bpf("load the BPF programs"))?;
        let switch = load_switch(&mut ebpf, &btf)?;
        for (name, tracepoint) in TRACEPOINTS.into_iter().chain([RETURN]) {
            let program: &mut BtfTracePoint = program(&mut ebpf, name)?;
            patiently(|| program.load(tracepoint, &btf))
                .map_err(Error::bpf(format!("load the BPF program on {tracepoint}")))?;
        }
        let mut no_locks = None;
        for (name, tracepoint) in LOCK_TRACEPOINTS {
            let program: &mut BtfTracePoint = program(&mut ebpf, name)?;
            if let Err(error) = patiently(|| program.load(tracepoint, &btf)) {
                no_locks = Some(format!("{tracepoint}: {error}"));
            }
        }
        let mut no_sockets = false;
        for (name, tracepoint) in SOCKET_TRACEPOINTS {
            let program: &mut BtfTracePoint = program(&mut ebpf, name)?;
            no_sockets |= patiently(|| program.load(tracepoint, &btf)).is_err();
        }
        for (name, what) in [("on_sample", "samples"), ("on_fault", "samples page faults")] {
            let sampler: &mut PerfEvent = program(&mut ebpf, name)?;
            patiently(|| sampler.load()).map_err(Error::bpf(format!("load the BPF program that {what}")))?;
        }

        Ok(Programs {
            threads: mapped(&mut ebpf, "THREADS", MAX_SLOTS)?,
            globals: mapped(&mut ebpf, "GLOBALS", 1)?,
            images: mapped(&mut ebpf, "IMAGES", MAX_IMAGES)?,
            pythons: mapped(&mut ebpf, "PYTHONS", MAX_IMAGES)?,
            processors: mapped(&mut ebpf, "PROCESSORS", possible_processors() as usize)?,
            places: typed(&mut ebpf, "PLACES")?,
            edges: typed(&mut ebpf, "EDGES")?,
            syscalls: typed(&mut ebpf, "SYSCALLS")?,
            calls: typed(&mut ebpf, "CALLS")?,
            locks: typed(&mut ebpf, "LOCKS")?,
            peers: typed(&mut ebpf, "PEERS")?,
            paths: typed(&mut ebpf, "PATHS")?,
            foreign: typed(&mut ebpf, "FOREIGN")?,
            listeners: typed(&mut ebpf, "LISTENERS")?,
            events: typed(&mut ebpf, "EVENTS")?,
            samples: typed(&mut ebpf, "SAMPLES")?,
            free_slots: typed(&mut ebpf, "FREE_SLOTS")?,
            tasks: match take(&mut ebpf, "TASKS")? {
                Map::Unsupported(data) => data,
                _ => return Err(missing("TASKS")),
            },
            hardware,
            marks: Marks::new(typed(&mut ebpf, "PROBES")?),
            counter_maps: [
                perf_array(&mut ebpf, "COUNTER0")?,
                perf_array(&mut ebpf, "COUNTER1")?,
                perf_array(&mut ebpf, "COUNTER2")?,
                perf_array(&mut ebpf, "COUNTER3")?,
            ],
            timing: None,
            switch,
            window: 0,
            sample_hz: sample_hz(usable_processors().len()),
            no_locks,
            no_sockets,
            ebpf,
        })
    }

    /// Attaches everything: from here on enrolled tasks are observed.
    pub(crate) fn attach(&mut self) -> Result<(), Error> {
        for (name, tracepoint) in [(self.switch, SWITCH_TRACEPOINT)].into_iter().chain(TRACEPOINTS) {
            let program: &mut BtfTracePoint = program(&mut self.ebpf, name)?;
            program.attach().map_err(Error::bpf(format!("attach to {tracepoint}")))?;
        }
        if self.no_locks.is_none() {
            for (name, tracepoint) in LOCK_TRACEPOINTS {
                let program: &mut BtfTracePoint = program(&mut self.ebpf, name)?;
                if let Err(error) = program.attach() {
                    self.no_locks = Some(format!("{tracepoint}: {error}"));
                }
            }
        }
        if !self.no_sockets {
            for (name, _) in SOCKET_TRACEPOINTS {
                let program: &mut BtfTracePoint = program(&mut self.ebpf, name)?;
                self.no_sockets |= program.attach().is_err();
            }
        }
        let processors = usable_processors();
        let rate = SamplePolicy::Frequency(self.sample_hz);
        for (name, event, policy) in [
            ("on_sample", SoftwareEvent::CpuClock, rate),
            ("on_fault", SoftwareEvent::PageFaults, SamplePolicy::Period(FAULT_PERIOD)),
        ] {
            let sampler: &mut PerfEvent = program(&mut self.ebpf, name)?;
            for cpu in &processors {
                let scope = PerfEventScope::AllProcessesOneCpu { cpu: *cpu as u32 };
                sampler
                    .attach(PerfEventConfig::Software(event), scope, policy, false)
                    .map_err(Error::bpf(format!("sample processor {cpu}")))?;
            }
        }
        // Only now: open events count, and hardware counts few of them at a time.
        let hardware = self.hardware.get_or_insert_with(|| Hardware::open(&processors));
        let counters = hardware.install(&self.counter_maps);
        self.globals.poke(0, offset_of!(Globals, counters), counters);
        self.globals.poke(0, offset_of!(Globals, pid_namespace), enrol::own_pid_namespace());
        Ok(())
    }

    /// Listens to the marks of a program or library. A file without marks is no error.
    pub(crate) fn listen_to_marks(&mut self, path: &Path) {
        self.marks.listen(&mut self.ebpf, path);
    }

    /// Marks that could not be listened to.
    pub(crate) fn failed_marks(&self) -> u64 {
        self.marks.failed()
    }

    /// Why waits for locks inside the kernel cannot be seen; absent when they can.
    pub(crate) fn no_locks(&self) -> Option<&str> {
        self.no_locks.as_deref()
    }

    /// The program listens at this TCP port already.
    pub(crate) fn listens_at(&mut self, port: u16) {
        // In a full table the port's connections count as made by the program.
        let _ = self.listeners.insert(u32::from(port), 1, 0);
    }

    /// What the counters of a thread count, in the order of the counters.
    pub(crate) fn counted(&self) -> &[hardware::HardwareEvent] {
        self.hardware.as_ref().map_or(&[], Hardware::events)
    }

    /// Begins or ends timing system calls. Each beginning is a new window.
    pub(crate) fn time_calls(&mut self, on: bool) -> Result<(), Error> {
        if on == self.timing.is_some() {
            return Ok(());
        }
        let program: &mut BtfTracePoint = program(&mut self.ebpf, RETURN.0)?;
        if on {
            self.timing = Some(program.attach().map_err(Error::bpf(format!("attach to {}", RETURN.1)))?);
            self.window += 1;
            self.globals.poke(0, offset_of!(Globals, window), self.window);
            // Set last, so that every timed call belongs to the new window.
            self.globals.poke(0, offset_of!(Globals, timing), 1);
        } else if let Some(link) = self.timing.take() {
            self.globals.poke(0, offset_of!(Globals, timing), 0);
            program.detach(link).map_err(Error::bpf(format!("detach from {}", RETURN.1)))?;
        }
        Ok(())
    }

    /// How many windows of time there were so far in which system calls were timed.
    pub(crate) fn windows(&self) -> u32 {
        self.window
    }

    /// Enrols the other threads of every enrolled process, as alive since `now_ns`.
    pub(crate) fn enrol_threads(&mut self, now_ns: u64) -> Result<(), Error> {
        let halves = [now_ns as u32, (now_ns >> 32) as u32];
        for (half, word) in halves.into_iter().enumerate() {
            self.globals.poke(0, offset_of!(Globals, attached_ns) + 4 * half, word);
        }
        let iterator: &mut Iter = program(&mut self.ebpf, "enrol_threads")?;
        let btf = Btf::from_sys_fs().map_err(Error::bpf("read the kernel's type information (BTF)"))?;
        let mut walk = || -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
            patiently(|| iterator.load("task", &btf))?;
            let link = iterator.attach()?;
            let mut file = iterator.take_link(link)?.into_file()?;
            // Reading makes the kernel run the iterator program once for each thread of the machine; its output is
            // empty.
            file.read_to_end(&mut Vec::new())?;
            Ok(())
        };
        walk().map_err(Error::bpf("walk over the threads of the process"))?;
        self.globals.poke(0, offset_of!(Globals, enrolled), 1);
        Ok(())
    }

    /// Stops observing. No hook runs any more, so the tables do not change while they are read and agree with each
    /// other.
    pub(crate) fn detach(&mut self) {
        let hooks = TRACEPOINTS.into_iter().chain(LOCK_TRACEPOINTS).chain(SOCKET_TRACEPOINTS);
        for name in hooks.map(|(name, _)| name).chain([self.switch]) {
            if let Ok(program) = program::<BtfTracePoint>(&mut self.ebpf, name) {
                // A program that was never attached fails to unload; that does no harm.
                let _ = program.unload();
            }
        }
        for name in ["on_sample", "on_fault"] {
            if let Ok(program) = program::<PerfEvent>(&mut self.ebpf, name) {
                let _ = program.unload();
            }
        }
        // Another processor may still be inside a hook. Hooks run in RCU read sections, and this system call waits for
        // all of these (synchronize_rcu in kernel/sched/membarrier.c, since Linux 4.3). Where it is refused, on kernels
        // with full dynamic ticks, the last period of a thread may be missing.
        // SAFETY: no pointers.
        unsafe { libc::syscall(libc::SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) };
    }

    /// A handle for enrolling tasks, usable while the maps are read elsewhere.
    pub(crate) fn enrolment(&self) -> Result<Enrolment, Error> {
        let tasks = self.tasks.fd().as_fd().try_clone_to_owned();
        Ok(Enrolment::new(tasks.map_err(Error::bpf("share the table of tasks"))?))
    }

    /// Gives back the slot of a thread that has ended and has been read.
    pub(crate) fn free_slot(&mut self, slot: u32) {
        // A full queue only means that this slot is not used again.
        let _ = self.free_slots.push(slot, 0);
    }
}

/// The programs for this kernel. One whose version cannot be read is taken for a new one.
fn object() -> &'static [u8] {
    let [new, old] = OBJECTS;
    match KernelVersion::current() {
        Ok(version) if version < KernelVersion::new(6, 1, 0) => old,
        Ok(_) | Err(_) => new,
    }
}

/// Loads the program on switches that this kernel takes, and returns its name.
fn load_switch(ebpf: &mut Ebpf, btf: &Btf) -> Result<&'static str, Error> {
    let mut refused = None;
    for name in SWITCH {
        let program: &mut BtfTracePoint = program(ebpf, name)?;
        match patiently(|| program.load(SWITCH_TRACEPOINT, btf)) {
            Ok(()) => return Ok(name),
            // The first error is told: the first program is the one for most kernels.
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    let loading = Error::bpf(format!("load the BPF program on {SWITCH_TRACEPOINT}"));
    Err(refused.map_or_else(|| missing(SWITCH_TRACEPOINT), loading))
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

fn perf_array(ebpf: &mut Ebpf, name: &str) -> Result<MapData, Error> {
    match take(ebpf, name)? {
        Map::PerfEventArray(data) => Ok(data),
        _ => Err(missing(name)),
    }
}
