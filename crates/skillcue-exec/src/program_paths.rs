//! The paths that programs need in order to start.

use std::path::{Path, PathBuf};

/// Directories of the system with programs and libraries.
const SYSTEM: &[&str] = &["/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32", "/nix/store"];

/// Settings of the system that programs read when they start. No secret is in any: `/etc/ssl/private` and
/// `/etc/shadow` are not among them.
const SETTINGS: &[&str] = &[
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/localtime",
    "/etc/timezone",
    "/etc/alternatives",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/ssl/cert.pem",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/openssl.cnf",
    "/etc/pki/ca-trust/extracted",
    "/etc/ca-certificates/extracted",
    "/etc/passwd",
    "/etc/group",
    "/etc/nsswitch.conf",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/protocols",
    "/etc/services",
    "/etc/mime.types",
    "/etc/magic",
    "/etc/perl",
    "/etc/ruby",
    "/etc/os-release",
    "/etc/debian_version",
    "/etc/inputrc",
    "/etc/fonts",
    "/etc/locale.alias",
];

/// Files that looking up names needs besides.
const NETWORK: &[&str] = &["/etc/resolv.conf", "/etc/gai.conf", "/run/systemd/resolve"];

/// Returns the paths that every ordinary program may read: programs and libraries of the system, and settings in which
/// nothing is secret; with `network`, also the files for looking up names.
pub fn system_paths(network: bool) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = SYSTEM.iter().chain(SETTINGS).map(PathBuf::from).collect();
    // `/etc/python3`, `/etc/python3.12`: there is one for each version.
    if let Ok(entries) = std::fs::read_dir("/etc") {
        let named = |name: &str| name.starts_with("python");
        paths.extend(entries.flatten().filter(|it| it.file_name().to_str().is_some_and(named)).map(|it| it.path()));
    }
    if network {
        paths.extend(network_paths());
    }
    paths
}

pub(crate) fn network_paths() -> Vec<PathBuf> {
    NETWORK.iter().map(PathBuf::from).collect()
}

/// Returns the paths that belong to an interpreter: its file, and for `P/bin/x` the libraries in `P/lib` and `P/lib64`;
/// for one of a Python virtual environment, also those of the interpreter that it was made from. Only for programs that
/// the user has chosen: the files beside it are believed.
pub fn interpreter_paths(program: &Path) -> Vec<PathBuf> {
    installation_paths(program, true)
}

/// Like [`interpreter_paths`], but believes the marker of a virtual environment only if `believed` says so.
pub(crate) fn installation_paths(program: &Path, believed: bool) -> Vec<PathBuf> {
    let mut paths = vec![program.to_path_buf()];
    add_installation(program, believed, &mut paths);
    if let Ok(real) = program.canonicalize()
        && real != program
    {
        paths.push(real.clone());
        add_installation(&real, believed, &mut paths);
    }
    paths
}

fn add_installation(program: &Path, believed: bool, paths: &mut Vec<PathBuf>) {
    let Some(bin) = program.parent() else { return };
    let Some(prefix) = bin.parent().filter(|_| bin.ends_with("bin")).and_then(|it| it.canonicalize().ok()) else {
        return;
    };
    // `/bin/x` and `/usr/bin/x` are in the system's paths already, and `/` is no installation.
    if prefix == Path::new("/") || prefix == Path::new("/usr") {
        return;
    }
    // A link that leads out of the installation would make readable what has nothing to do with it.
    let stays = |real: &PathBuf| real.starts_with(&prefix) || SYSTEM.iter().any(|system| real.starts_with(system));
    paths.extend(["lib", "lib64"].iter().filter_map(|name| prefix.join(name).canonicalize().ok()).filter(stays));
    let marker = prefix.join("pyvenv.cfg");
    let is_file = || marker.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
    if believed
        && is_file()
        && let Ok(text) = std::fs::read_to_string(&marker)
    {
        paths.push(marker);
        let home = text.lines().filter_map(|line| line.split_once('=')).find(|(key, _)| key.trim() == "home");
        if let Some((_, home)) = home
            && let Ok(home) = Path::new(home.trim()).canonicalize()
            && home.ends_with("bin")
        {
            // It was made from that one, which need not be one itself.
            add_installation(&home.join("python3"), false, paths);
            paths.push(home);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installation_is_its_libraries_and_never_the_whole_prefix() {
        let tmp = tempfile::tempdir().unwrap();
        let bin = tmp.path().join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::create_dir_all(tmp.path().join("lib")).unwrap();
        std::os::unix::fs::symlink("/var", tmp.path().join("lib64")).unwrap();
        std::fs::write(bin.join("x"), "").unwrap();
        let paths = interpreter_paths(&bin.join("x"));
        let root = tmp.path().canonicalize().unwrap();
        assert!(paths.contains(&root.join("lib")));
        assert!(!paths.contains(&root) && !paths.contains(&bin));
        assert!(!paths.contains(&PathBuf::from("/var")), "a link leads out");
    }

    #[test]
    fn a_virtual_environment_brings_the_interpreter_it_was_made_from() {
        let tmp = tempfile::tempdir().unwrap();
        let (venv, real) = (tmp.path().join("venv"), tmp.path().join("real/bin"));
        std::fs::create_dir_all(venv.join("bin")).unwrap();
        std::fs::create_dir_all(&real).unwrap();
        std::fs::create_dir_all(tmp.path().join("real/lib")).unwrap();
        std::fs::write(venv.join("pyvenv.cfg"), format!("home = {}\nversion = 3\n", real.display())).unwrap();
        let paths = interpreter_paths(&venv.join("bin/python"));
        let root = tmp.path().canonicalize().unwrap();
        assert!(paths.contains(&root.join("venv/pyvenv.cfg")));
        assert!(paths.contains(&root.join("real/lib")));
        let unbelieved = installation_paths(&venv.join("bin/python"), false);
        assert!(!unbelieved.contains(&root.join("real/lib")), "what a skill names is not believed");
    }

    #[test]
    fn nothing_of_the_root_is_an_installation() {
        assert_eq!(interpreter_paths(Path::new("/bin/does-not-exist")), [PathBuf::from("/bin/does-not-exist")]);
    }

    #[test]
    fn no_secret_is_among_the_settings() {
        let paths = system_paths(true);
        for secret in ["/etc", "/etc/shadow", "/etc/ssl", "/etc/ssl/private", "/root", "/home", "/", "/etc/ssh"] {
            assert!(!paths.contains(&PathBuf::from(secret)), "{secret}");
        }
    }
}
