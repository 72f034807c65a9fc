//! Talking to other programs and machines.

use skillcue_base::ErrorInfo as _;

use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use crate::case::{Case, Mode, path, skipped};
use crate::hostile;

const CONNECT: &str = r#"
import socket
def connect(family, address):
    peer = socket.socket(family, socket.SOCK_STREAM)
    peer.settimeout(20)
    peer.connect(address)
    return "connected"
"#;

hostile! {
    connects_by_ipv4(case) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let text = format!("{CONNECT}\nattempt('tcp', lambda: connect(socket.AF_INET, ('127.0.0.1', {port})))");
        case.only_outside(&text, &[]);
    }

    connects_by_ipv6(case) {
        let Ok(listener) = TcpListener::bind("[::1]:0") else { return skipped("the machine has no IPv6") };
        let port = listener.local_addr().unwrap().port();
        let text = format!("{CONNECT}\nattempt('tcp6', lambda: connect(socket.AF_INET6, ('::1', {port})))");
        case.only_outside(&text, &[]);
    }

    sends_by_udp(case) {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        let text = format!(
            "import socket\nattempt('udp', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {port})))"
        );
        case.only_outside(&text, &[]);
    }

    listens(case) {
        let text = r#"
import socket
def listen():
    here = socket.socket()
    here.bind(("127.0.0.1", 0))
    here.listen()
    return here.getsockname()
attempt("listen", listen)
"#;
        case.only_outside(text, &[]);
    }

    connects_to_a_unix_socket_by_path(case) {
        let at = case.tmp.path().join("daemon.sock");
        let _listener = UnixListener::bind(&at).unwrap();
        let text = format!("{CONNECT}\nattempt('unix', lambda: connect(socket.AF_UNIX, sys.argv[1]))");
        case.only_outside(&text, &[path(&at)]);
    }

    // Also one that the skill itself brings: what listens there is no part of the skill.
    connects_to_a_unix_socket_in_its_skill(case) {
        let at = case.skill().join("s");
        let _listener = UnixListener::bind(&at).unwrap();
        let text = format!("{CONNECT}\nattempt('unix', lambda: connect(socket.AF_UNIX, sys.argv[1]))");
        case.only_outside(&text, &[path(&at)]);
    }

    connects_to_an_abstract_socket(case) {
        let _listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&case.name).unwrap()).unwrap();
        let text = format!("{CONNECT}\nattempt('abstract', lambda: connect(socket.AF_UNIX, chr(0) + sys.argv[1]))");
        case.only_outside(&text, &[&case.name]);
    }

    opens_strange_sockets(case) {
        let text = r#"
import socket
for name, family, kind, protocol in [
    ("netlink", 16, socket.SOCK_RAW, 0), ("packet", 17, socket.SOCK_RAW, 3), ("raw", 2, socket.SOCK_RAW, 1),
    ("vsock", 40, socket.SOCK_STREAM, 0), ("alg", 38, socket.SOCK_SEQPACKET, 0), ("bluetooth", 31, socket.SOCK_RAW, 1),
    ("unix", 1, socket.SOCK_DGRAM, 0), ("xdp", 44, socket.SOCK_RAW, 0), ("tipc", 30, socket.SOCK_STREAM, 0),
]:
    attempt(name, lambda: socket.socket(family, kind, protocol).fileno())
"#;
        case.contained(text, &[]);
        case.control(text, &[]);
    }

    opens_a_socket_by_another_door(case) {
        let text = r#"
attempt("io_uring", lambda: call(URING, 8, ctypes.create_string_buffer(256)))
attempt("socket with high bits", lambda: call(SOCKET, 2 | 1 << 32, 1, 0))
"#;
        let text = text
            .replace("URING", &libc::SYS_io_uring_setup.to_string())
            .replace("SOCKET", &libc::SYS_socket.to_string());
        let output = case.contained(&text, &[]);
        assert!(output.contains("io_uring 38\n") && output.contains("high bits 1\n"), "from the filter: {output}");
        assert!(case.control(&text, &[]).contains("HARM socket with high bits"));
    }

    sends_to_a_unix_socket_from_a_pair(case) {
        let at = case.tmp.path().join("daemon.sock");
        let listener = std::os::unix::net::UnixDatagram::bind(&at).unwrap();
        let text = r#"
import socket
for kind in [socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK]:
    attempt("datagram", lambda: socket.socketpair(socket.AF_UNIX, kind)[0].sendto(b"x", sys.argv[1]))
for kind in [socket.SOCK_STREAM, socket.SOCK_SEQPACKET]:
    a, b = socket.socketpair(socket.AF_UNIX, kind | socket.SOCK_CLOEXEC)
    try:
        a.sendto(b"x", sys.argv[1])
    except OSError:
        pass
"#;
        case.contained(text, &[path(&at)]);
        listener.set_nonblocking(true).unwrap();
        assert!(listener.recv(&mut [0; 8]).is_err(), "something has arrived");
        case.control(text, &[path(&at)]);
    }

    // Pipes between its own processes are its own affair.
    talks_to_itself(case) {
        case.script("probe.py", r#"
import socket
a, b = socket.socketpair()
a.send(b"hello")
print(b.recv(5).decode())
"#);
        assert_eq!(case.run("probe.py", &[]).unwrap().stdout_text(), "hello\n");
    }

    asks_for_the_network_and_gets_only_that(case) {
        std::fs::write(case.skill().join("SKILL.md"), case.front_matter("permissions:\n  network: true\n")).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let at = case.tmp.path().join("daemon.sock");
        let _unix = UnixListener::bind(&at).unwrap();
        let text = format!(
            r#"{CONNECT}
print("granted", connect(socket.AF_INET, ("127.0.0.1", {port})))
attempt("unix", lambda: connect(socket.AF_UNIX, sys.argv[1]))
attempt("packet", lambda: socket.socket(17, socket.SOCK_RAW, 3))
attempt("uevent", lambda: socket.socket(16, socket.SOCK_RAW, 15))
attempt("raw", lambda: socket.socket(2, socket.SOCK_RAW, 1))
attempt("secret", lambda: open(sys.argv[2]).read())
"#
        );
        case.script("probe.py", &text);
        let (dir, manifest) = (case.dir(), case.manifest());
        let runner = case.runner(case.limits.clone());
        let arguments = [path(&at).to_owned(), path(&case.secret()).to_owned()];
        let request = skillcue_exec::RunRequest { arguments: &arguments, ..skillcue_exec::RunRequest::new(&dir, &manifest, "probe.py") };
        let error = runner.run(&request).unwrap_err();
        assert_eq!(error.code(), "permission_required");
        assert!(error.to_string().contains("the network"), "{error}");
        assert!(error.hint().unwrap().contains("allow what it asks for"), "{}", error.hint().unwrap());
        let skillcue_exec::RunError::PermissionRequired { asked, .. } = error else { panic!() };
        runner.consent().remember(&asked, skillcue_catalog::consent::Scope::Session).unwrap();
        let result = runner.run(&request).unwrap();
        let output = result.stdout_text();
        assert!(output.contains("granted connected") && !output.contains("HARM"), "{output} {}", result.stderr_text());
        assert_eq!(output.matches("contained").count(), 5, "{output}");
    }
}
