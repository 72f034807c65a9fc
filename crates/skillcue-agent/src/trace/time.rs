//! Times in records.

use skillcue_base::{parse_rfc3339, rfc3339};

/// Serialises a time as RFC 3339 writes it.
pub(crate) mod written {
    use std::time::SystemTime;

    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&super::rfc3339(*time))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SystemTime, D::Error> {
        let text = String::deserialize(deserializer)?;
        super::parse_rfc3339(&text).ok_or_else(|| D::Error::custom("a time is not written as RFC 3339 has it"))
    }
}
