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

/// Calls that are refused with EPERM, whatever the arguments.
pub(super) const DENIED_CALLS: &[i64] = &[
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
pub(super) const ABSENT_CALLS: &[i64] = &[
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
pub(super) const ENGINE_CALLS: &[i64] = &[
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
