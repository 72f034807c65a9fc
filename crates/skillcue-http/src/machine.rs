//! The addresses of this machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::Url;

/// Returns whether a URL leads to the machine that this runs on: no proxy can reach it, and unencrypted
/// requests do not leave the machine.
///
/// That is `localhost` and names below it, with or without the dot at the end, addresses of loopback however they are
/// written, and the unspecified addresses, by which operating systems reach themselves. Names that a hosts file or a
/// server for names may give to this machine are not: they may be given to others, too.
///
/// ```
/// use skillcue_http::{is_this_machine, reqwest::Url};
///
/// let is_ours = |url: &str| is_this_machine(&Url::parse(url).unwrap());
/// assert!(is_ours("http://localhost:1") && is_ours("http://127.1") && is_ours("http://[::1]:8080"));
/// assert!(!is_ours("http://localhost.example") && !is_ours("http://192.168.0.1"));
/// ```
pub fn is_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    match address.parse::<IpAddr>().map(|address| address.to_canonical()) {
        Ok(address) => address.is_loopback() || address.is_unspecified(),
        Err(_) => is_localhost(host) || below_localhost(host).is_some(),
    }
}

fn is_localhost(host: &str) -> bool {
    host.strip_suffix('.').unwrap_or(host) == "localhost"
}

/// Returns the host if it is a name below `localhost`.
fn below_localhost(host: &str) -> Option<&str> {
    let name = host.strip_suffix('.').unwrap_or(host).strip_suffix(".localhost")?;
    (!name.is_empty()).then_some(host)
}

/// Returns a name below `localhost`, and its addresses. A resolver should know them (RFC 6761, 6.3), but some ask the
/// network, which could answer with its own.
pub(crate) fn pinned_addresses(url: &Url) -> Option<(&str, [SocketAddr; 2])> {
    // Port 0: that of the URL counts.
    let at = |address: IpAddr| SocketAddr::new(address, 0);
    let addresses = [at(Ipv4Addr::LOCALHOST.into()), at(Ipv6Addr::LOCALHOST.into())];
    below_localhost(url.host_str()?).map(|name| (name, addresses))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_table_says_which_addresses_are_this_machines() {
        for (host, is_ours) in [
            ("localhost", true),
            ("LocalHost", true),
            ("localhost.", true),
            ("localhost..", false),
            ("app.localhost", true),
            ("a.b.LOCALHOST.", true),
            (".localhost", false),
            ("localhost.example", false),
            ("notlocalhost", false),
            ("localhost.localdomain", false),
            ("ip6-localhost", false),
            ("127.0.0.1", true),
            ("127.255.255.254", true),
            ("127.1", true),
            ("0x7f.1", true),
            ("2130706433", true),
            ("127.0.0.1.", true),
            ("127.0.0.1.example", false),
            ("128.0.0.1", false),
            ("0.0.0.0", true),
            ("0", true),
            ("[::1]", true),
            ("[0:0:0:0:0:0:0:1]", true),
            ("[::]", true),
            ("[::ffff:127.0.0.1]", true),
            ("[::ffff:0.0.0.0]", true),
            ("[::ffff:8.8.8.8]", false),
            ("[::2]", false),
            ("[fe80::1]", false),
            ("10.0.0.1", false),
            ("192.168.0.1", false),
            ("169.254.0.1", false),
            ("gpu.local", false),
            ("example.com", false),
        ] {
            let is = match Url::parse(&format!("http://{host}:8080/")) {
                Ok(url) => is_this_machine(&url),
                // No address: it leads nowhere.
                Err(_) => false,
            };
            assert_eq!(is, is_ours, "{host}");
        }
    }

    #[test]
    fn names_below_localhost_are_resolved_here() {
        let pins = |url: &str| pinned_addresses(&Url::parse(url).unwrap()).map(|(name, _)| name.to_owned());
        assert_eq!(pins("http://app.localhost:3000/"), Some("app.localhost".to_owned()));
        assert_eq!(pins("http://localhost:3000/"), None, "the system's own answer counts");
        assert_eq!(pins("http://app.localhost.example/"), None);
    }
}
