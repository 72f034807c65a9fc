//! Variables of the environment that say how a person reads and writes.

/// Names of the variables of the locale, which scripts and servers may see.
///
/// By name and not by `LC_*`: a variable that a program of the user calls `LC_TOKEN` is a secret like any other, and
/// ssh forwards such ones.
pub const LOCALE: [&str; 16] = [
    "LANG",
    "LANGUAGE",
    "TZ",
    "LC_ALL",
    "LC_ADDRESS",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_IDENTIFICATION",
    "LC_MEASUREMENT",
    "LC_MESSAGES",
    "LC_MONETARY",
    "LC_NAME",
    "LC_NUMERIC",
    "LC_PAPER",
    "LC_TELEPHONE",
    "LC_TIME",
];
