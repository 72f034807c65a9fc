//! Which user of this machine a connection comes from.
//!
//! The address with the token is on the command line of the program that opens the browser, where every user of the
//! machine can read it, and a cookie can be copied. So token and cookie count only in connections of the user that runs
//! this program.

use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::sync::OnceLock;

/// The tables of the system's connections. The second has those that programs opened as IPv6, to an address of IPv4.
const TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];
/// The state of a connection that both sides hold open. Of others, the table names no user.
const ESTABLISHED: &str = "01";
/// The number of root, which may do everything anyway, and passes connections on in WSL.
const ROOT: u32 = 0;

/// The far end of a connection.
#[derive(Debug)]
pub(crate) struct Peer {
    address: SocketAddr,
    /// Whether it is of the own user. Found out once: a connection does not change hands.
    is_own: OnceLock<bool>,
}

impl Peer {
    pub(crate) fn new(address: SocketAddr) -> Peer {
        Peer { address, is_own: OnceLock::new() }
    }

    /// Returns whether the connection to a port of this program comes from its own user.
    pub(crate) fn is_own_user(&self, port: u16) -> bool {
        *self.is_own.get_or_init(|| is_own_user(self.address, port))
    }

    /// Returns a peer of the own user, or of another.
    #[cfg(test)]
    pub(crate) fn of_user(is_own: bool) -> Peer {
        Peer { address: SocketAddr::from(([127, 0, 0, 1], 1)), is_own: OnceLock::from(is_own) }
    }
}

/// Returns whether a connection to a port of this program comes from its own user. Where the system has no table of
/// connections, every user counts as the own.
fn is_own_user(peer: SocketAddr, port: u16) -> bool {
    let tables: Vec<String> = TABLES.iter().filter_map(|table| std::fs::read_to_string(table).ok()).collect();
    let own = rustix::process::getuid().as_raw();
    tables.is_empty()
        || tables.iter().find_map(|table| user_of(table, peer, port)).is_some_and(|user| user == own || user == ROOT)
}

/// Returns the user of the far end of an established connection.
fn user_of(table: &str, peer: SocketAddr, port: u16) -> Option<u32> {
    let (far, own) = (written(peer), format!(":{port:04X}"));
    table.lines().find_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let (local, remote, state) = (fields.next()?, fields.next()?, fields.next()?);
        let is_it = local.ends_with(&far) && remote.ends_with(&own) && state == ESTABLISHED;
        is_it.then(|| fields.nth(3)?.parse().ok()).flatten()
    })
}

/// Returns an address as the table has it: the bytes of IPv4 as a number of this machine, and the port.
fn written(address: SocketAddr) -> String {
    let mut text = String::new();
    if let IpAddr::V4(ip) = address.ip() {
        let _ = write!(text, "{:08X}", u32::from_ne_bytes(ip.octets()));
    }
    let _ = write!(text, ":{:04X}", address.port());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_endian = "little")]
    fn the_user_of_a_connection_is_in_the_table() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            \x20  0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1\n\
            \x20  1: 0100007F:1F90 0100007F:C000 01 00000000:00000000 00:00000000 00000000  1000        0 2 1\n\
            \x20  2: 0100007F:C000 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 3 1\n\
            \x20  3: 0100007F:C001 0100007F:1F90 06 00000000:00000000 00:00000000 00000000     0        0 0 3\n";
        let peer = |port| SocketAddr::from(([127, 0, 0, 1], port));
        assert_eq!(user_of(table, peer(0xC000), 8080), Some(1001));
        assert_eq!(user_of(table, peer(0xC001), 8080), None, "it is closed");
        assert_eq!(user_of(table, peer(0xC002), 8080), None);
        let table =
            "   0: 0000000000000000FFFF00000100007F:C003 0000000000000000FFFF00000100007F:1F90 01 0:0 00:0 0 7 0 4\n";
        assert_eq!(user_of(table, peer(0xC003), 8080), Some(7));
    }
}
