//! The tables of system calls: those that programs are denied, those that the engine is allowed, and flags among their
//! arguments.

/// The first number of a system call that these tables know nothing about. Numbers have been the same on all
/// architectures since 424; on `x86_64` this also covers the x32 calls, which have a high bit set.
pub(super) const FIRST_UNKNOWN_CALL: u32 = 468;

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
pub(super) const CLOSE_RANGE_UNSHARE: u64 = 2;

/// Makes a list of calls: those that every architecture has, those that the `libc` crate does not name, and those that
/// only `x86_64` has.
macro_rules! calls {
    ($($call:ident),+; $(unnamed: $($unnamed:ident),+;)? x86_64: $($old:ident),+) => {
        &[
            $(libc::$call,)+
            $($($unnamed,)+)?
            $(#[cfg(target_arch = "x86_64")] libc::$old,)+
        ]
    };
}

/// Calls that are refused with EPERM, whatever the arguments.
pub(super) const DENIED_CALLS: &[i64] = calls! {
    // Other processes.
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_process_madvise, SYS_kcmp, SYS_pidfd_getfd,
    SYS_migrate_pages, SYS_move_pages,
    // File systems and namespaces.
    SYS_mount, SYS_umount2, SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick, SYS_open_tree, SYS_move_mount,
    SYS_mount_setattr, SYS_pivot_root, SYS_chroot, SYS_unshare, SYS_setns, SYS_open_by_handle_at,
    SYS_name_to_handle_at, SYS_fanotify_init, SYS_fanotify_mark, SYS_quotactl, SYS_quotactl_fd, SYS_acct, SYS_swapon,
    SYS_swapoff,
    // The kernel.
    SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_keyctl, SYS_add_key, SYS_request_key, SYS_init_module,
    SYS_finit_module, SYS_delete_module, SYS_kexec_load, SYS_kexec_file_load, SYS_reboot, SYS_syslog,
    SYS_lookup_dcookie, SYS_nfsservctl, SYS_sethostname, SYS_setdomainname, SYS_settimeofday, SYS_clock_settime,
    SYS_clock_adjtime, SYS_adjtimex, SYS_vhangup, SYS_mbind, SYS_set_mempolicy,
    // User, group and capabilities of the process.
    SYS_setuid, SYS_setgid, SYS_setreuid, SYS_setregid, SYS_setresuid, SYS_setresgid, SYS_setfsuid, SYS_setfsgid,
    SYS_setgroups, SYS_capset,
    // Memory that belongs to no process, and so to no bound; and objects that outlive the job where it has no namespace
    // for them.
    SYS_shmget, SYS_shmat, SYS_shmctl, SYS_shmdt, SYS_msgget, SYS_msgsnd, SYS_msgrcv, SYS_msgctl, SYS_semget,
    SYS_semop, SYS_semtimedop, SYS_semctl, SYS_mq_open, SYS_mq_unlink, SYS_mq_timedsend, SYS_mq_timedreceive,
    SYS_mq_notify, SYS_mq_getsetattr,
    // Owners and attributes of files: Landlock has no right for them.
    SYS_fchown, SYS_fchownat, SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr, SYS_removexattr, SYS_lremovexattr,
    SYS_fremovexattr;
    unnamed: PROCESS_MRELEASE, OPEN_TREE_ATTR, STATMOUNT, LISTMOUNT, SET_MEMPOLICY_HOME_NODE, LSM_SET_SELF_ATTR,
    SETXATTRAT, REMOVEXATTRAT;
    x86_64: SYS_iopl, SYS_ioperm, SYS_modify_ldt, SYS_uselib, SYS_ustat, SYS_sysfs, SYS_chown, SYS_lchown
};

/// Calls that change a file's mode, with the number of the argument that is the mode.
pub(super) const CHMOD_CALLS: &[(i64, u8)] = &[
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (FCHMODAT2, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
];

/// Calls that change a file's times.
pub(super) const UTIME_CALLS: &[i64] = &[
    libc::SYS_utimensat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
];

/// Calls that open a file by flags, with the number of the argument that is the flags; the mode follows.
pub(super) const OPEN_CALLS: &[(i64, u8)] = &[
    (libc::SYS_openat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1),
];

/// Requests to a device or file that are refused: typing into a terminal in the place of its user, and setting the
/// attributes of a file (its flags, its encryption, that it never changes again).
pub(super) const DENIED_IOCTLS: &[u64] = &[
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
pub(super) const ABSENT_CALLS: &[i64] = calls! {
    // Its flags are in memory, where no filter sees them; the C library falls back to `clone`.
    SYS_clone3, SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register, SYS_memfd_create,
    // They report names in directories that Landlock refuses to list.
    SYS_inotify_init1, SYS_inotify_add_watch, SYS_inotify_rm_watch,
    // Its arguments are in memory, too: a mode with the bits that `open` is refused.
    SYS_openat2;
    unnamed: MEMFD_SECRET, MAP_SHADOW_STACK;
    x86_64: SYS_inotify_init
};

/// Calls that are refused with EINVAL, by which callers know to copy by reading and writing: they let a pipe or a
/// socket hold pages of files and mappings instead of copies. Such pages stay in memory when file and mapping are gone,
/// and one byte holds a huge page of 2 MiB.
pub(super) const PAGE_SHARING_CALLS: &[i64] =
    &[libc::SYS_splice, libc::SYS_tee, libc::SYS_vmsplice, libc::SYS_sendfile];

/// Names of options that enlarge a socket's send buffer.
pub(super) const SEND_BUFFER_OPTIONS: [i32; 2] = [libc::SO_SNDBUF, libc::SO_SNDBUFFORCE];

/// Commands of `fcntl` that are refused: pipes of more than 16 pages, news of what happens in a directory, and locks
/// that belong to no process, which could not be counted.
pub(super) const DENIED_FCNTLS: [i32; 4] = [libc::F_SETPIPE_SZ, libc::F_NOTIFY, libc::F_OFD_SETLK, libc::F_OFD_SETLKW];

/// Namespaces that `clone` could make.
pub(super) const NEW_NAMESPACES: u64 = (libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP) as u64;

/// Calls that the engine may make: memory, its pipes, clocks, locks, and ending. No file, no process, no socket.
pub(super) const ENGINE_CALLS: &[i64] = calls! {
    SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_close, SYS_fstat, SYS_lseek, SYS_ppoll, SYS_pselect6,
    SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait, SYS_epoll_pwait2, SYS_eventfd2, SYS_pipe2, SYS_dup, SYS_dup3,
    SYS_mmap, SYS_munmap, SYS_mremap, SYS_madvise, SYS_brk, SYS_futex, SYS_futex_waitv, SYS_set_robust_list,
    SYS_get_robust_list, SYS_set_tid_address, SYS_rseq, SYS_membarrier, SYS_sched_yield, SYS_sched_getaffinity,
    SYS_getcpu, SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday,
    SYS_timer_create, SYS_timer_settime, SYS_timer_delete, SYS_getrandom, SYS_getpid, SYS_gettid, SYS_getppid,
    SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getrusage, SYS_sysinfo, SYS_uname, SYS_rt_sigaction,
    SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_rt_sigtimedwait, SYS_sigaltstack, SYS_restart_syscall, SYS_exit,
    SYS_exit_group;
    x86_64: SYS_poll, SYS_select, SYS_epoll_wait, SYS_time, SYS_arch_prctl, SYS_pipe, SYS_dup2
};

/// Set-user-id and set-group-id.
pub(super) const SET_ID_BITS: [u64; 2] = [libc::S_ISUID as u64, libc::S_ISGID as u64];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_call_is_both_denied_and_absent() {
        assert!(DENIED_CALLS.iter().all(|call| !ABSENT_CALLS.contains(call)));
        assert!(DENIED_CALLS.iter().chain(ABSENT_CALLS).all(|call| *call < i64::from(FIRST_UNKNOWN_CALL)));
    }
}
