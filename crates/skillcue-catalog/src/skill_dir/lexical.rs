//! Checks of a path's text alone.
//!
//! These checks do not make a path safe, the handle in [`open`](super::open) does. They exist because they can say
//! *why*: the kernel would answer `C:\x` with "no such file", and the user deserves to hear that backslashes are
//! refused. They are also equal on every platform, so a skill that works here works elsewhere.

use super::error::SecurityReason;

/// Refuses a path that cannot mean a file below the skill's directory.
pub(super) fn check(path: &str) -> Result<(), SecurityReason> {
    if path.contains('\0') {
        return Err(SecurityReason::Nul);
    }
    if path.starts_with('/') {
        return Err(SecurityReason::Absolute);
    }
    // Before the backslash: of `C:\x` the drive is the more telling half.
    if has_drive_letter(path) {
        return Err(SecurityReason::DriveLetter);
    }
    if path.contains('\\') {
        return Err(SecurityReason::Backslash);
    }
    if has_uri_scheme(path) {
        return Err(SecurityReason::UriScheme);
    }
    if climbs_out(path) {
        return Err(SecurityReason::ClimbsOut);
    }
    if cfg!(windows) && is_special_on_windows(path) {
        return Err(SecurityReason::SpecialFile);
    }
    Ok(())
}

fn has_drive_letter(path: &str) -> bool {
    matches!(path.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}

/// Returns whether a path has a URI scheme: `file:` in any case, or any other scheme that is followed by a slash.
///
/// A bare `word:` is not enough: `notes: draft.md` is a file that people have.
fn has_uri_scheme(path: &str) -> bool {
    let Some((scheme, rest)) = path.split_once(':') else {
        return false;
    };
    let well_formed = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    well_formed && (rest.starts_with('/') || scheme.eq_ignore_ascii_case("file"))
}

/// Returns whether some prefix of the path has more `..` than names.
///
/// The kernel refuses most of these too, but not `missing/../../x`, where it finds that `missing` is missing before
/// it sees the attempt. A path that climbs out by its text and stays inside by way of a link is refused as well:
/// such paths are not written by accident.
fn climbs_out(path: &str) -> bool {
    let mut depth = 0_usize;
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => match depth.checked_sub(1) {
                Some(up) => depth = up,
                None => return true,
            },
            _ => depth += 1,
        }
    }
    false
}

/// Returns whether a path has a device name, an alternate data stream (`a.md:hidden`), or a name that Windows silently
/// shortens.
fn is_special_on_windows(path: &str) -> bool {
    path.split('/').filter(|segment| !matches!(*segment, "" | "." | "..")).any(|segment| {
        let stem = segment.split('.').next().unwrap_or(segment).trim_end();
        let numbered = |name: &str| {
            let digit = stem.len() == 4 && stem.as_bytes()[3].is_ascii_digit();
            digit && stem.get(..3).is_some_and(|s| s.eq_ignore_ascii_case(name))
        };
        segment.contains(':')
            || segment.ends_with(['.', ' '])
            || ["con", "prn", "aux", "nul"].iter().any(|name| stem.eq_ignore_ascii_case(name))
            || numbered("com")
            || numbered("lpt")
    })
}

#[cfg(test)]
mod tests {
    use super::{SecurityReason, check, is_special_on_windows};

    #[test]
    fn refuses_with_the_reason() {
        for (path, reason) in [
            ("ref\0erence.md", SecurityReason::Nul),
            ("/etc/passwd", SecurityReason::Absolute),
            ("//server/share", SecurityReason::Absolute),
            ("C:\\Windows\\win.ini", SecurityReason::DriveLetter),
            ("c:x", SecurityReason::DriveLetter),
            ("..\\..\\secret.txt", SecurityReason::Backslash),
            ("a\\b", SecurityReason::Backslash),
            ("file:///etc/passwd", SecurityReason::UriScheme),
            ("FILE:etc/passwd", SecurityReason::UriScheme),
            ("https://example.com/x", SecurityReason::UriScheme),
            ("skill:/x", SecurityReason::UriScheme),
            ("..", SecurityReason::ClimbsOut),
            ("missing/../../x", SecurityReason::ClimbsOut),
            ("a/./..//../x", SecurityReason::ClimbsOut),
        ] {
            assert_eq!(check(path), Err(reason), "{path:?}");
        }
    }

    #[test]
    fn leaves_ordinary_paths_alone() {
        for path in [
            "",
            ".",
            "a/..",
            "a/../b",
            "...",
            "..a",
            "a..",
            "~/x",
            "%2e%2e/x",
            "notes: draft.md",
            "a:b",
            "1:2/x",
            "größe.md",
            "name with space.md",
            "-rf",
            "a//b",
        ] {
            let expected = if path == "a:b" { Err(SecurityReason::DriveLetter) } else { Ok(()) };
            assert_eq!(check(path), expected, "{path:?}");
        }
    }

    #[test]
    fn knows_the_names_that_windows_reserves() {
        for path in ["NUL", "a/con.txt", "COM1", "lpt9.md", "a.md:stream", "a.md.", "a /b", "aux .txt"] {
            assert!(is_special_on_windows(path), "{path:?}");
        }
        for path in ["console.md", "com.txt", "com10", "nul-l", "./a/../b.md", "größe"] {
            assert!(!is_special_on_windows(path), "{path:?}");
        }
    }
}
