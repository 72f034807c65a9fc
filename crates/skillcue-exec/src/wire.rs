//! The messages between host and helper: JSON with its length before it, over a socket.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::io::FdFlags;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::job::{Bounds, Job, JobProgram};
use crate::layer::{Layer, SandboxReport};
use crate::memory::MemoryUse;

/// Bytes of one message: the kernel bounds a job's arguments and environment far below.
const MAX_FRAME: usize = 16 * 1024 * 1024;

/// Text of the operating system, which need not be UTF-8.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OsText(pub(crate) OsString);

impl OsText {
    pub(crate) fn path(&self) -> &Path {
        Path::new(&self.0)
    }
}

impl From<&Path> for OsText {
    fn from(path: &Path) -> OsText {
        OsText(path.as_os_str().to_owned())
    }
}

impl Serialize for OsText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.to_str() {
            Some(text) => serializer.serialize_str(text),
            None => serializer.collect_seq(self.0.as_bytes()),
        }
    }
}

impl<'de> Deserialize<'de> for OsText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OsText, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Text(String),
            Bytes(Vec<u8>),
        }
        Ok(OsText(match Either::deserialize(deserializer)? {
            Either::Text(text) => text.into(),
            Either::Bytes(bytes) => OsString::from_vec(bytes),
        }))
    }
}

/// The program that the helper starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum JobStart {
    File(OsText),
    Engine,
    /// Nothing: the helper only finds out what the machine offers.
    Probe,
}

/// A job, as the helper gets it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct JobOrder {
    pub(crate) start: JobStart,
    pub(crate) args: Vec<OsText>,
    pub(crate) env: Vec<(OsText, OsText)>,
    pub(crate) cwd: Option<OsText>,
    pub(crate) read: Vec<OsText>,
    pub(crate) write: Vec<OsText>,
    pub(crate) names: Vec<OsText>,
    pub(crate) hidden: Vec<OsText>,
    pub(crate) execute: bool,
    pub(crate) network: bool,
    /// The directory in which the private one is made, if it gets one.
    pub(crate) tmp_base: Option<OsText>,
    pub(crate) bounds: Bounds,
    pub(crate) without: Vec<Layer>,
    pub(crate) allow_unsandboxed: bool,
}

impl JobOrder {
    pub(crate) fn of(job: &Job, tmp_base: &Path, without: &[Layer], allow_unsandboxed: bool) -> JobOrder {
        let paths = |paths: &[PathBuf]| paths.iter().map(|path| OsText::from(path.as_path())).collect();
        JobOrder {
            start: match &job.program {
                JobProgram::File(path) => JobStart::File(OsText::from(path.as_path())),
                JobProgram::Engine => JobStart::Engine,
            },
            args: job.args.iter().cloned().map(OsText).collect(),
            env: job.env.iter().map(|(name, value)| (OsText(name.clone()), OsText(value.clone()))).collect(),
            cwd: job.cwd.as_deref().map(OsText::from),
            read: paths(&job.policy.read),
            write: paths(&job.policy.write),
            names: paths(&job.policy.names),
            hidden: paths(&job.policy.hidden),
            execute: job.policy.execute,
            network: job.policy.network,
            tmp_base: job.policy.private_tmp.then(|| OsText::from(tmp_base)),
            bounds: job.bounds.clone(),
            without: without.to_vec(),
            allow_unsandboxed,
        }
    }
}

/// The part that all jobs of one helper have in common, so that it can be prepared before they come.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HelperSetup {
    pub(crate) network: bool,
    pub(crate) without: Vec<Layer>,
}

impl HelperSetup {
    /// Writes it as an argument of the helper.
    pub(crate) fn to_text(&self) -> String {
        // A flag and a list of words always have a JSON form.
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(crate) fn from_text(text: &str) -> HelperSetup {
        serde_json::from_str(text).unwrap_or_default()
    }
}

/// The reason why a job was ended from outside of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EndReason {
    /// The host asked for it.
    Killed,
    /// [`Bounds::memory_total`] was exceeded.
    Memory,
    /// [`Bounds::processes`] was exceeded.
    Processes,
    /// [`Bounds::wall`] was exceeded.
    Timeout,
    /// [`Bounds::tmp_size`] was exceeded, where the directory is no file system of its own.
    Disk,
}

/// The end of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobEnd {
    /// The exit code of the first process, if it exited.
    pub code: Option<i32>,
    /// The signal that ended the first process, if one did.
    pub signal: Option<i32>,
    /// The reason why it was ended, if it did not end by itself.
    pub reason: Option<EndReason>,
    /// The most memory that all of its processes had together when the supervisor looked, in bytes. Short jobs have 0.
    pub peak_memory: u64,
    /// The parts of that memory at the last look.
    pub memory: MemoryUse,
}

/// A message of the helper to the host.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum HelperMessage {
    /// The job runs; with the path of its private directory.
    Ready { report: SandboxReport, tmp: Option<OsText> },
    /// Too little sandbox: nothing runs.
    Refused { report: SandboxReport },
    /// The program could not be executed.
    NotExecuted { reason: String },
    /// The helper itself failed.
    Failed { reason: String },
    /// No process of the job is left.
    Ended(JobEnd),
}

/// Writes one message.
pub(crate) fn send<T: Serialize>(mut to: impl Write, message: &T) -> io::Result<()> {
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, message)?;
    let length = u32::try_from(frame.len() - 4).map_err(io::Error::other)?;
    frame[..4].copy_from_slice(&length.to_le_bytes());
    to.write_all(&frame)
}

/// Reads one message; nothing when the other side has closed.
pub(crate) fn receive<T: for<'de> Deserialize<'de>>(mut from: impl Read) -> io::Result<Option<T>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let length = usize::try_from(u32::from_le_bytes(length)).map_err(io::Error::other)?;
    if length > MAX_FRAME {
        return Err(io::Error::other("a message is too long"));
    }
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes)?;
    Ok(Some(serde_json::from_slice(&bytes)?))
}

/// Sends one byte, and descriptors with it.
pub(crate) fn hand_over(socket: BorrowedFd<'_>, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    // Systems of Apple have no such flag; there it is Rust that ignores the signal, unless the host has changed that.
    #[cfg(not(target_vendor = "apple"))]
    let flags = SendFlags::NOSIGNAL;
    #[cfg(target_vendor = "apple")]
    let flags = SendFlags::empty();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
    rustix::net::sendmsg(socket, &[IoSlice::new(&[0])], &mut ancillary, flags)?;
    Ok(())
}

/// Returns the descriptors that come along with a byte; nothing when the other side has closed.
pub(crate) fn receive_descriptors<const N: usize>(control: &File) -> io::Result<Option<[OwnedFd; N]>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let received =
        rustix::net::recvmsg(control, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, RecvFlags::empty())?;
    let mut fds = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            fds.extend(rights);
        }
    }
    if received.bytes == 0 {
        return Ok(None);
    }
    // Not every system can do this while receiving. The helper has one thread, so nothing comes between.
    for fd in &fds {
        rustix::io::fcntl_setfd(fd, FdFlags::CLOEXEC)?;
    }
    fds.try_into().map(Some).map_err(|_| io::Error::other("no descriptors were given"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_is_not_utf8_arrives_as_it_was() {
        let sent = vec![OsText("täxt".into()), OsText(OsString::from_vec(vec![b'a', 0xff, 1]))];
        let mut bytes = Vec::new();
        send(&mut bytes, &sent).unwrap();
        let got: Vec<OsText> = receive(&bytes[..]).unwrap().unwrap();
        assert_eq!(got, sent);
        assert!(receive::<Vec<OsText>>(&bytes[..0]).unwrap().is_none());
    }

    #[test]
    fn a_message_that_claims_too_much_is_refused() {
        assert!(receive::<Vec<OsText>>(&[0xff; 8][..]).is_err());
    }
}
