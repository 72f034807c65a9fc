//! Landlock, capabilities and limits: the rights that a process gives up before it runs code that is not trusted.

use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::{CapabilitiesSecureBits, CapabilitySet, CapabilitySets};

use crate::job::Bounds;
use crate::sys;

/// The newest rules that are asked for; an older kernel enforces what it knows.
const NEWEST_ABI: ABI = ABI::V9;

/// The access that Landlock allows.
pub(super) struct LandlockRules {
    /// Readable paths, with all below.
    pub(super) read: Vec<PathBuf>,
    /// Readable and executable paths, with all below.
    pub(super) execute: Vec<PathBuf>,
    /// Readable and writable paths, executable too with `execute_written`.
    pub(super) write: Vec<PathBuf>,
    /// Whether writable paths may be executed.
    pub(super) execute_written: bool,
    /// Devices: read and written, not made or removed.
    pub(super) devices: Vec<PathBuf>,
    pub(super) network: bool,
}

/// Restricts this process by `rules`; returns the version of the rules in force.
pub(super) fn restrict_by_landlock(rules: &LandlockRules) -> Result<u32, String> {
    let text = |error: landlock::RulesetError| error.to_string();
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST_ABI))
        .and_then(|ruleset| ruleset.scope(Scope::from_all(NEWEST_ABI)))
        .map_err(text)?;
    if !rules.network {
        ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST_ABI)).map_err(text)?;
    }
    let mut created = ruleset.create().map_err(text)?;

    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let mut write = AccessFs::from_all(NEWEST_ABI) & !AccessFs::IoctlDev & !AccessFs::MakeChar & !AccessFs::MakeBlock;
    if !rules.execute_written {
        write &= !AccessFs::Execute;
    }
    let grants = [
        (&rules.read, read),
        (&rules.execute, read | AccessFs::Execute),
        (&rules.write, write),
        (&rules.devices, AccessFs::ReadFile | AccessFs::WriteFile),
    ];
    for (paths, access) in grants {
        for path in paths {
            created = allow_path(created, path, access)?;
        }
    }
    let status = created.restrict_self().map_err(text)?;
    match (status.ruleset, status.landlock) {
        (RulesetStatus::NotEnforced, LandlockStatus::NotEnabled) => {
            Err("the kernel has it, but not switched on".into())
        }
        (RulesetStatus::NotEnforced, _) => Err("the kernel does not have it".into()),
        (_, LandlockStatus::Available { effective_abi, .. }) => Ok(effective_abi as u32),
        _ => Err("the kernel does not have it".into()),
    }
}

/// Adds one path; one that does not exist needs no permission.
fn allow_path(created: RulesetCreated, path: &Path, access: BitFlags<AccessFs>) -> Result<RulesetCreated, String> {
    let Ok(fd) = PathFd::new(path) else { return Ok(created) };
    let is_dir = rustix::fs::fstat(&fd)
        .is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Directory);
    let access = if is_dir { access } else { access & AccessFs::from_file(NEWEST_ABI) };
    created.add_rule(PathBeneath::new(fd, access)).map_err(|error| format!("{}: {error}", path.display()))
}

/// Gives up every capability for good. Root without them is an ordinary user, and executing a program gives none back:
/// the bounding set is emptied, too.
pub(super) fn drop_capabilities() -> io::Result<()> {
    let current = rustix::thread::capabilities(None)?;
    if current.permitted.is_empty() && rustix::process::geteuid().as_raw() != 0 {
        return Ok(());
    }
    if current.effective.contains(CapabilitySet::SETPCAP) {
        rustix::thread::set_capabilities_secure_bits(
            CapabilitiesSecureBits::NO_ROOT
                | CapabilitiesSecureBits::NO_ROOT_LOCKED
                | CapabilitiesSecureBits::NO_SETUID_FIXUP
                | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
                | CapabilitiesSecureBits::KEEP_CAPS_LOCKED
                | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
                | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED,
        )?;
        sys::drop_bounding_set()?;
    }
    rustix::thread::clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    Ok(())
}

/// Sets the limits of one process.
pub(super) fn set_limits(bounds: &Bounds, processes: Option<u64>) -> io::Result<()> {
    let set = |resource, most: u64| {
        // Never above what the helper itself may: that would be refused, and it is the smaller that counts.
        let most = rustix::process::getrlimit(resource).maximum.map_or(most, |maximum| most.min(maximum));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
    };
    set(Resource::Core, 0)?;
    // The stack is no data, and would be a way around the bound.
    set(Resource::Stack, 64 * 1024 * 1024)?;
    let stack = rustix::process::getrlimit(Resource::Stack);
    setrlimit(Resource::Stack, Rlimit { current: stack.maximum.map(|most| most.min(8 * 1024 * 1024)), ..stack })?;
    // Not the address space: runtimes reserve terabytes of it and use none. Reservations do not count as data.
    set(Resource::Data, bounds.memory)?;
    set(Resource::Nofile, u64::from(bounds.open_files))?;
    set(Resource::Fsize, bounds.file_size)?;
    set(Resource::Memlock, 64 * 1024)?;
    set(Resource::Msgqueue, 0)?;
    set(Resource::Nice, 0)?;
    set(Resource::Rtprio, 0)?;
    if let Some(seconds) = bounds.cpu_seconds {
        set(Resource::Cpu, seconds)?;
    }
    if let Some(processes) = processes {
        set(Resource::Nproc, processes)?;
    }
    Ok(())
}
