//! The filter of system calls.
//!
//! Programs get a list of denied calls, because the calls that all interpreters need cannot be listed; the engine,
//! which is our own, gets a list of allowed ones. Both refuse calls that are newer than the tables in `calls`, so that
//! a kernel update adds no way out.

mod calls;

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

use calls::{
    ABSENT_CALLS, CHMOD_CALLS, CLOSE_RANGE_UNSHARE, DENIED_CALLS, DENIED_FCNTLS, DENIED_IOCTLS, ENGINE_CALLS,
    FIRST_UNKNOWN_CALL, NEW_NAMESPACES, OPEN_CALLS, PAGE_SHARING_CALLS, SEND_BUFFER_OPTIONS, SET_ID_BITS, UTIME_CALLS,
};

/// The processes that may be signalled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SignalScope {
    /// Any: another layer keeps signals inside.
    Any,
    /// The sender itself and its own group: no other layer keeps signals inside.
    OwnGroup,
}

/// The conditions that a program's filter depends on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct FilterOptions {
    pub(super) network: bool,
    pub(super) signals: SignalScope,
    /// Whether all files that it may not write are mounted read-only.
    pub(super) read_only: bool,
    /// Whether it has a namespace of processes, in which it dies with the first of them, whatever it does.
    pub(super) own_processes: bool,
    /// Whether Landlock knows about truncating.
    pub(super) truncation: bool,
}

/// Returns the filters for a program, in the order in which to apply them.
pub(super) fn for_program(options: FilterOptions) -> Result<Vec<BpfProgram>, String> {
    let FilterOptions { network, signals, .. } = options;
    let mut denied: BTreeMap<i64, Vec<SeccompRule>> = DENIED_CALLS.iter().map(|call| (*call, Vec::new())).collect();

    // A socket with a path is a way to the process that listens there (a container daemon, a key agent), which no other
    // layer closes: so the family is denied even with the network. `socketpair` stays.
    let mut socket = Vec::new();
    if network {
        let families = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
        socket.push(rule(families.into_iter().map(|family| dword(0, Op::Ne, number(family))).collect())?);
        // Of netlink, what lists addresses and routes; raw sockets of any family need a capability anyway.
        socket.push(rule(vec![
            dword(0, Op::Eq, number(libc::AF_NETLINK)),
            dword(2, Op::Ne, number(libc::NETLINK_ROUTE)),
        ])?);
    }
    denied.insert(libc::SYS_socket, socket);
    // Only connected pairs: one of datagrams can send to any socket that has a path.
    let mut pair = vec![rule(vec![dword(0, Op::Ne, number(libc::AF_UNIX))])?];
    let connected = [number(libc::SOCK_STREAM), number(libc::SOCK_SEQPACKET)];
    for kind in (0..16).filter(|kind| !connected.contains(kind)) {
        pair.push(rule(vec![dword(1, Op::MaskedEq(0xf), kind)])?);
    }
    denied.insert(libc::SYS_socketpair, pair);
    denied.extend(file_rules(options)?);
    denied.extend(scheduling_rules()?);

    let mut clone = Vec::new();
    for bit in (0..32).map(|bit| 1_u64 << bit).filter(|bit| NEW_NAMESPACES & bit != 0) {
        clone.push(rule(vec![SeccompCondition::new(0, Len::Qword, Op::MaskedEq(bit), bit)])?);
    }
    // The supervisor looks at the descriptors of a process, so all of its threads must share them.
    let (thread, files) = (number(libc::CLONE_THREAD), number(libc::CLONE_FILES));
    clone.push(rule(vec![SeccompCondition::new(0, Len::Qword, Op::MaskedEq(thread | files), thread)])?);
    // And no other process may share them: it could lock files and end, and its locks would stay without an owner to be
    // found.
    clone.push(rule(vec![SeccompCondition::new(0, Len::Qword, Op::MaskedEq(thread | files), files)])?);
    denied.insert(libc::SYS_clone, clone);
    denied.insert(
        libc::SYS_close_range,
        vec![rule(vec![dword(2, Op::MaskedEq(CLOSE_RANGE_UNSHARE), CLOSE_RANGE_UNSHARE)])?],
    );
    if !network {
        // A descriptor on its way through a local socket is in no process, and what it holds is not counted.
        denied.extend([(libc::SYS_sendmsg, Vec::new()), (libc::SYS_sendmmsg, Vec::new())]);
    }

    let fcntl = DENIED_FCNTLS.iter().map(|command| rule(vec![dword(1, Op::Eq, number(*command))]));
    denied.insert(libc::SYS_fcntl, fcntl.collect::<Result<_, _>>()?);

    let ioctl = DENIED_IOCTLS.iter().map(|request| rule(vec![dword(1, Op::Eq, *request)])).collect::<Result<_, _>>()?;
    denied.insert(libc::SYS_ioctl, ioctl);

    // `personality(0xffffffff)` asks, all else changes; 0x0008 (Linux on all) and 0 are what it is anyway.
    denied.insert(
        libc::SYS_personality,
        vec![rule(vec![dword(0, Op::Ne, 0xffff_ffff), dword(0, Op::Ne, 0), dword(0, Op::Ne, 8)])?],
    );

    let device = |argument: u8| -> Result<Vec<SeccompRule>, String> {
        let kind = u64::from(libc::S_IFMT);
        let devices = [libc::S_IFCHR, libc::S_IFBLK].into_iter().map(|mode| (kind, u64::from(mode)));
        devices
            .chain(SET_ID_BITS.map(|bit| (bit, bit)))
            .map(|(mask, mode)| rule(vec![dword(argument, Op::MaskedEq(mask), mode)]))
            .collect()
    };
    denied.insert(libc::SYS_mknodat, device(2)?);
    #[cfg(target_arch = "x86_64")]
    denied.insert(libc::SYS_mknod, device(1)?);

    // Only the process's own limits, and they can only go down.
    denied.insert(libc::SYS_prlimit64, vec![rule(vec![dword(0, Op::Ne, 0), dword(0, Op::Ne, own_pid())])?]);

    if !options.own_processes {
        // It shall die with its supervisor.
        denied.insert(libc::SYS_prctl, vec![rule(vec![dword(0, Op::Eq, number(libc::PR_SET_PDEATHSIG))])?]);
    }

    if signals == SignalScope::OwnGroup {
        denied.insert(libc::SYS_kill, vec![rule(vec![dword(0, Op::Ne, 0), dword(0, Op::Ne, own_pid())])?]);
        denied.insert(libc::SYS_tgkill, vec![rule(vec![dword(0, Op::Ne, own_pid())])?]);
        for call in
            [libc::SYS_tkill, libc::SYS_rt_sigqueueinfo, libc::SYS_rt_tgsigqueueinfo, libc::SYS_pidfd_send_signal]
        {
            denied.insert(call, Vec::new());
        }
    }

    // Memory that is shared and nameless stays when the processes that are counted map it no longer.
    let kind = number(libc::MAP_ANONYMOUS) | 0xf;
    let shared = [libc::MAP_SHARED, libc::MAP_SHARED_VALIDATE]
        .into_iter()
        .map(|shared| rule(vec![dword(3, Op::MaskedEq(kind), number(libc::MAP_ANONYMOUS | shared))]))
        .collect::<Result<_, _>>()?;
    let shared = BTreeMap::from([(libc::SYS_mmap, shared)]);

    // Send buffers stay as large as they are. Not refused: the kernel takes such a wish for a hint, too, and programs
    // do not expect an error.
    let enlarge = SEND_BUFFER_OPTIONS
        .into_iter()
        .map(|name| rule(vec![dword(1, Op::Eq, number(libc::SOL_SOCKET)), dword(2, Op::Eq, number(name))]))
        .collect::<Result<_, _>>()?;
    let enlarge = BTreeMap::from([(libc::SYS_setsockopt, enlarge)]);

    let absent = ABSENT_CALLS.iter().map(|call| (*call, Vec::new())).collect();
    let sharing = PAGE_SHARING_CALLS.iter().map(|call| (*call, Vec::new())).collect();
    Ok(vec![
        program(enlarge, &SeccompAction::Allow, &SeccompAction::Errno(0))?,
        program(sharing, &SeccompAction::Allow, &SeccompAction::Errno(errno(libc::EINVAL)))?,
        program(shared, &SeccompAction::Allow, &SeccompAction::Errno(errno(libc::ENOMEM)))?,
        program(absent, &SeccompAction::Allow, &SeccompAction::Errno(errno(libc::ENOSYS)))?,
        program(denied, &SeccompAction::Allow, &SeccompAction::Errno(errno(libc::EPERM)))?,
    ])
}

/// Returns the rules for changes that Landlock has no right for: modes and times of files, and in its first versions
/// their length.
fn file_rules(options: FilterOptions) -> Result<BTreeMap<i64, Vec<SeccompRule>>, String> {
    let mut denied = BTreeMap::new();
    for (call, mode) in CHMOD_CALLS {
        let bits = SET_ID_BITS.into_iter().map(|bit| rule(vec![dword(*mode, Op::MaskedEq(bit), bit)]));
        // Without rules, whatever the arguments.
        denied.insert(*call, if options.read_only { bits.collect::<Result<_, _>>()? } else { Vec::new() });
    }
    if !options.read_only {
        denied.extend(UTIME_CALLS.iter().map(|call| (*call, Vec::new())));
    }
    for (call, flags) in OPEN_CALLS {
        let mut rules = Vec::new();
        // The mode means something only for calls that make a file.
        for making in [number(libc::O_CREAT), number(libc::O_TMPFILE & !libc::O_DIRECTORY)] {
            for bit in SET_ID_BITS {
                let made = dword(*flags, Op::MaskedEq(making), making);
                rules.push(rule(vec![made, dword(*flags + 1, Op::MaskedEq(bit), bit)])?);
            }
        }
        if !options.truncation {
            // Truncating while opening for reading.
            let flag = number(libc::O_TRUNC);
            rules.push(rule(vec![dword(*flags, Op::MaskedEq(flag | number(libc::O_ACCMODE)), flag)])?);
        }
        denied.insert(*call, rules);
    }
    #[cfg(target_arch = "x86_64")]
    denied.insert(
        libc::SYS_creat,
        SET_ID_BITS.into_iter().map(|bit| rule(vec![dword(1, Op::MaskedEq(bit), bit)])).collect::<Result<_, _>>()?,
    );
    if !options.truncation {
        denied.insert(libc::SYS_truncate, Vec::new());
    }
    Ok(denied)
}

/// Returns the rules for scheduling other processes: all of the user's, where no namespace hides them.
fn scheduling_rules() -> Result<BTreeMap<i64, Vec<SeccompRule>>, String> {
    let mut denied = BTreeMap::new();
    // The first argument says whether the second is a process, a group or a user; only for a process does 0 mean the
    // caller alone.
    for (call, process) in [(libc::SYS_setpriority, 0), (libc::SYS_ioprio_set, 1)] {
        denied.insert(call, vec![rule(vec![dword(0, Op::Ne, process)])?, rule(vec![dword(1, Op::Ne, 0)])?]);
    }
    for call in
        [libc::SYS_sched_setaffinity, libc::SYS_sched_setscheduler, libc::SYS_sched_setparam, libc::SYS_sched_setattr]
    {
        denied.insert(call, vec![rule(vec![dword(0, Op::Ne, 0)])?]);
    }
    Ok(denied)
}

/// Returns the filters for the engine. Threads are allowed, processes are not.
pub(super) fn for_engine() -> Result<Vec<BpfProgram>, String> {
    let mut allowed: BTreeMap<i64, Vec<SeccompRule>> = ENGINE_CALLS.iter().map(|call| (*call, Vec::new())).collect();
    // Never both writable and executable later on: the engine interprets, it generates no code.
    allowed.insert(
        libc::SYS_mprotect,
        vec![rule(vec![SeccompCondition::new(2, Len::Dword, Op::MaskedEq(number(libc::PROT_EXEC)), 0)])?],
    );
    let thread = u64::try_from(libc::CLONE_VM | libc::CLONE_THREAD).unwrap_or(0);
    allowed.insert(
        libc::SYS_clone,
        vec![rule(vec![SeccompCondition::new(0, Len::Qword, Op::MaskedEq(thread | NEW_NAMESPACES), thread)])?],
    );
    // Ending itself, as `abort` does.
    allowed.insert(libc::SYS_tgkill, vec![rule(vec![dword(0, Op::Eq, own_pid())])?]);
    // Naming a thread and a mapping.
    allowed.insert(
        libc::SYS_prctl,
        vec![
            rule(vec![dword(0, Op::Eq, number(libc::PR_SET_NAME))])?,
            rule(vec![dword(0, Op::Eq, number(libc::PR_GET_NAME))])?,
            rule(vec![dword(0, Op::Eq, 0x5356_4d41)])?,
        ],
    );
    // Asking for its own limits only.
    allowed.insert(
        libc::SYS_prlimit64,
        vec![rule(vec![dword(0, Op::Eq, 0), SeccompCondition::new(2, Len::Qword, Op::Eq, 0)])?],
    );
    allowed.insert(
        libc::SYS_fcntl,
        [libc::F_GETFD, libc::F_SETFD, libc::F_GETFL, libc::F_SETFL, libc::F_DUPFD_CLOEXEC]
            .into_iter()
            .map(|command| rule(vec![dword(1, Op::Eq, number(command))]))
            .collect::<Result<_, _>>()?,
    );
    // The filter applied last decides between two refusals, so it must let this one pass for the other to answer.
    allowed.insert(libc::SYS_clone3, Vec::new());
    let absent = [libc::SYS_clone3].into_iter().map(|call| (call, Vec::new())).collect();
    Ok(vec![
        program(absent, &SeccompAction::Allow, &SeccompAction::Errno(errno(libc::ENOSYS)))?,
        program(allowed, &SeccompAction::Errno(errno(libc::EPERM)), &SeccompAction::Allow)?,
    ])
}

/// Compiles rules into a filter: `matching` is the answer to calls that a rule matches, `otherwise` to all others.
fn program(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    otherwise: &SeccompAction,
    matching: &SeccompAction,
) -> Result<BpfProgram, String> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| error.to_string())?;
    let filter =
        SeccompFilter::new(rules, otherwise.clone(), matching.clone(), arch).map_err(|error| error.to_string())?;
    let mut program = BpfProgram::try_from(filter).map_err(|error| error.to_string())?;
    program.splice(ARCH_CHECK..ARCH_CHECK, refuse_unknown());
    Ok(program)
}

/// The number of instructions of the check of the architecture, with which the compiler's programs begin.
const ARCH_CHECK: usize = 3;

/// Returns instructions that load the number of a call and, if it is unknown, answer that there is no such call. Jumps
/// are relative, so they can be in front of everything that follows.
fn refuse_unknown() -> [sock_filter; 3] {
    const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
    const AT_LEAST: u16 = 0x35; // BPF_JMP | BPF_JGE | BPF_K
    const RETURN: u16 = 0x06; // BPF_RET | BPF_K
    [
        sock_filter { code: LOAD, jt: 0, jf: 0, k: 0 },
        sock_filter { code: AT_LEAST, jt: 0, jf: 1, k: FIRST_UNKNOWN_CALL },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: libc::SECCOMP_RET_ERRNO | errno(libc::ENOSYS) },
    ]
}

fn dword(argument: u8, op: Op, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, Len::Dword, op, value)
}

/// Makes a rule: all conditions must hold, and a rule without conditions always matches.
fn rule(conditions: Vec<Result<SeccompCondition, seccompiler::BackendError>>) -> Result<SeccompRule, String> {
    let conditions = conditions.into_iter().collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
    SeccompRule::new(conditions).map_err(|error| error.to_string())
}

/// Returns a constant of the C library, none of which is negative.
fn number(constant: i32) -> u64 {
    u64::from(constant.unsigned_abs())
}

fn errno(constant: i32) -> u32 {
    constant.unsigned_abs()
}

fn own_pid() -> u64 {
    u64::from(std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_made_and_begin_with_the_check_of_the_architecture() {
        let lax = FilterOptions {
            network: true,
            signals: SignalScope::Any,
            read_only: true,
            own_processes: true,
            truncation: true,
        };
        let strict = FilterOptions {
            network: false,
            signals: SignalScope::OwnGroup,
            read_only: false,
            own_processes: false,
            truncation: false,
        };
        for programs in [for_program(lax), for_program(strict), for_engine()] {
            for program in programs.unwrap() {
                assert_eq!(program[1].code, 0x15, "a comparison with the architecture");
                assert_eq!((program[1].jt, program[1].jf), (1, 0));
                assert_eq!(program[ARCH_CHECK + 1].k, FIRST_UNKNOWN_CALL);
            }
        }
    }
}
