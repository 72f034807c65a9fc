//! The filter of system calls.
//!
//! Programs get a list of denied calls, because the calls that all interpreters need cannot be listed; the engine,
//! which is our own, gets a list of allowed ones. Both refuse calls that are newer than this file, so that a kernel
//! update adds no way out.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

/// The first number of a system call that this file knows nothing about. Numbers have been the same on all
/// architectures since 424; on `x86_64` this also covers the x32 calls, which have a high bit set.
const FIRST_UNKNOWN_CALL: u32 = 468;

// Calls that the `libc` crate has no names for on every architecture.
const MEMFD_SECRET: i64 = 447;
const PROCESS_MRELEASE: i64 = 448;
const SET_MEMPOLICY_HOME_NODE: i64 = 450;
const MAP_SHADOW_STACK: i64 = 453;
const STATMOUNT: i64 = 457;
const LISTMOUNT: i64 = 458;
const FCHMODAT2: i64 = 452;
const LSM_SET_SELF_ATTR: i64 = 460;
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
const OPEN_TREE_ATTR: i64 = 467;

/// The flag of `close_range` that gives a thread descriptors of its own.
const CLOSE_RANGE_UNSHARE: u64 = 2;

/// Calls that are refused with EPERM, whatever the arguments.
const DENIED_CALLS: &[i64] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    PROCESS_MRELEASE,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    // File systems and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    libc::SYS_move_mount,
    libc::SYS_mount_setattr,
    STATMOUNT,
    LISTMOUNT,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_acct,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    // The kernel.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_syslog,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_vhangup,
    libc::SYS_mbind,
    libc::SYS_set_mempolicy,
    SET_MEMPOLICY_HOME_NODE,
    LSM_SET_SELF_ATTR,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ustat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_sysfs,
    // User, group and capabilities of the process.
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setreuid,
    libc::SYS_setregid,
    libc::SYS_setresuid,
    libc::SYS_setresgid,
    libc::SYS_setfsuid,
    libc::SYS_setfsgid,
    libc::SYS_setgroups,
    libc::SYS_capset,
    // Memory that belongs to no process, and so to no bound; and objects that outlive the job where it has no namespace
    // for them.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_shmdt,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_mq_timedsend,
    libc::SYS_mq_timedreceive,
    libc::SYS_mq_notify,
    libc::SYS_mq_getsetattr,
    // Owners and attributes of files: Landlock has no right for them.
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    SETXATTRAT,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    REMOVEXATTRAT,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
];

/// Calls that change a file's mode, with the number of the argument that is the mode.
const CHMOD_CALLS: &[(i64, u8)] = &[
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (FCHMODAT2, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
];

/// Calls that change a file's times.
const UTIME_CALLS: &[i64] = &[
    libc::SYS_utimensat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
];

/// Calls that open a file by flags, with the number of the argument that is the flags; the mode follows.
const OPEN_CALLS: &[(i64, u8)] = &[
    (libc::SYS_openat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1),
];

/// Requests to a device or file that are refused: typing into a terminal in the place of its user, and setting the
/// attributes of a file (its flags, its encryption, that it never changes again).
const DENIED_IOCTLS: &[u64] = &[
    0x5412,      // TIOCSTI
    0x541C,      // TIOCLINUX
    0x4008_6602, // FS_IOC_SETFLAGS
    0x4004_6602, // FS_IOC32_SETFLAGS
    0x4008_7602, // FS_IOC_SETVERSION
    0x4004_7602, // FS_IOC32_SETVERSION
    0x401c_5820, // FS_IOC_FSSETXATTR
    0x800c_6613, // FS_IOC_SET_ENCRYPTION_POLICY
    0x4080_6685, // FS_IOC_ENABLE_VERITY
];

/// Calls that are answered as if the kernel did not have them, because programs then do without.
const ABSENT_CALLS: &[i64] = &[
    // Its flags are in memory, where no filter sees them; the C library falls back to `clone`.
    libc::SYS_clone3,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_memfd_create,
    // They report names in directories that Landlock refuses to list.
    libc::SYS_inotify_init1,
    libc::SYS_inotify_add_watch,
    libc::SYS_inotify_rm_watch,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_inotify_init,
    // Its arguments are in memory, too: a mode with the bits that `open` is refused.
    libc::SYS_openat2,
    MEMFD_SECRET,
    MAP_SHADOW_STACK,
];

/// Calls that are refused with EINVAL, by which callers know to copy by reading and writing: they let a pipe or a
/// socket hold pages of files and mappings instead of copies. Such pages stay in memory when file and mapping are gone,
/// and one byte holds a huge page of 2 MiB.
const PAGE_SHARING_CALLS: &[i64] = &[libc::SYS_splice, libc::SYS_tee, libc::SYS_vmsplice, libc::SYS_sendfile];

/// Names of options that enlarge a socket's send buffer.
const SEND_BUFFER_OPTIONS: [i32; 2] = [libc::SO_SNDBUF, libc::SO_SNDBUFFORCE];

/// Commands of `fcntl` that are refused: pipes of more than 16 pages, news of what happens in a directory, and locks
/// that belong to no process, which could not be counted.
const DENIED_FCNTLS: [i32; 4] = [libc::F_SETPIPE_SZ, libc::F_NOTIFY, libc::F_OFD_SETLK, libc::F_OFD_SETLKW];

/// Namespaces that `clone` could make.
const NEW_NAMESPACES: u64 = (libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP) as u64;

/// Calls that the engine may make: memory, its pipes, clocks, locks, and ending. No file, no process, no socket.
const ENGINE_CALLS: &[i64] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_lseek,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_eventfd2,
    libc::SYS_pipe2,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_futex_waitv,
    libc::SYS_set_robust_list,
    libc::SYS_get_robust_list,
    libc::SYS_set_tid_address,
    libc::SYS_rseq,
    libc::SYS_membarrier,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_getcpu,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_timer_create,
    libc::SYS_timer_settime,
    libc::SYS_timer_delete,
    libc::SYS_getrandom,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_getppid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getrusage,
    libc::SYS_sysinfo,
    libc::SYS_uname,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_select,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_epoll_wait,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_time,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_arch_prctl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_pipe,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_dup2,
];

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

/// Set-user-id and set-group-id.
const SET_ID_BITS: [u64; 2] = [libc::S_ISUID as u64, libc::S_ISGID as u64];

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

    #[test]
    fn no_call_is_both_denied_and_absent() {
        assert!(DENIED_CALLS.iter().all(|call| !ABSENT_CALLS.contains(call)));
        assert!(DENIED_CALLS.iter().chain(ABSENT_CALLS).all(|call| *call < i64::from(FIRST_UNKNOWN_CALL)));
    }
}
