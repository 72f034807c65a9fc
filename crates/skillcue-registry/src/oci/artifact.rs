//! The shape of an artifact: media types, and which parts of a manifest hold files of skills.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use skillcue_base::{Digest, Shown};

/// The type of an artifact that holds one skill.
pub(super) const SKILL_TYPE: &str = "application/vnd.agentskills.skill.v1";
/// The type of a skill's config.
pub(super) const CONFIG_TYPE: &str = "application/vnd.agentskills.skill.config.v1+json";
/// The type of the layer with a skill's files.
pub(super) const CONTENT_TYPE: &str = "application/vnd.agentskills.skill.content.v1.tar+gzip";
/// The type of a manifest.
pub(super) const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
/// The types of manifests that are read, as a registry is asked for them.
pub(super) const ACCEPTED: [&str; 4] = [
    MANIFEST_TYPE,
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
];
/// The annotation with the digest over all files, as a lock has it.
pub(super) const DIGEST_ANNOTATION: &str = "io.skillcue.content.digest";
/// The annotation with the name of a file, which ORAS and others set.
const TITLE: &str = "org.opencontainers.image.title";
/// The most layers of one artifact, and manifests of one index.
const MAX_PARTS: usize = 64;

/// A reference to a blob or a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Descriptor {
    pub(super) media_type: String,
    pub(super) digest: String,
    pub(super) size: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) annotations: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    artifact_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    platform: Option<Platform>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Platform {
    #[serde(default)]
    architecture: String,
    #[serde(default)]
    os: String,
}

impl Descriptor {
    pub(super) fn of(media_type: &str, bytes: &[u8]) -> Descriptor {
        Descriptor {
            media_type: media_type.to_owned(),
            digest: format!("sha256:{}", Digest::of(bytes)),
            size: bytes.len() as u64,
            annotations: BTreeMap::new(),
            artifact_type: None,
            platform: None,
        }
    }

    /// Returns its SHA-256; other digests cannot be checked.
    pub(super) fn sha256(&self) -> Result<Digest, String> {
        let digits = self.digest.strip_prefix("sha256:").and_then(|digits| digits.parse().ok());
        digits.ok_or_else(|| format!("its digest {} is no sha256", Shown(&self.digest)))
    }
}

/// A manifest, as it is written and read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ArtifactManifest {
    pub(super) schema_version: u8,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) media_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) artifact_type: Option<String>,
    pub(super) config: Descriptor,
    pub(super) layers: Vec<Descriptor>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) annotations: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactIndex {
    manifests: Vec<Descriptor>,
}

/// A manifest or an index of several.
#[derive(Debug)]
pub(super) enum ManifestKind {
    /// One artifact.
    One(Box<ArtifactManifest>),
    /// The manifests to read in its place.
    Several(Vec<Descriptor>),
}

impl ManifestKind {
    /// Reads a manifest or an index. Of an index of skills all are read; of one for several platforms, which have the same
    /// skill, one.
    pub(super) fn parse(bytes: &[u8]) -> Result<ManifestKind, String> {
        if let Ok(manifest) = serde_json::from_slice::<ArtifactManifest>(bytes) {
            if manifest.layers.len() > MAX_PARTS {
                return Err(format!("it has more than {MAX_PARTS} layers"));
            }
            return Ok(ManifestKind::One(Box::new(manifest)));
        }
        let index: ArtifactIndex =
            serde_json::from_slice(bytes).map_err(|error| format!("its manifest cannot be read: {error}"))?;
        if index.manifests.len() > MAX_PARTS {
            return Err(format!("it has more than {MAX_PARTS} manifests"));
        }
        let skills: Vec<Descriptor> =
            index.manifests.iter().filter(|it| it.artifact_type.as_deref() == Some(SKILL_TYPE)).cloned().collect();
        if !skills.is_empty() {
            return Ok(ManifestKind::Several(skills));
        }
        let is_image = |it: &&Descriptor| it.platform.as_ref().is_none_or(|platform| platform.os != "unknown");
        let architecture = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        };
        let is_ours = |it: &&Descriptor| {
            it.platform.as_ref().is_some_and(|platform| platform.os == "linux" && platform.architecture == architecture)
        };
        let images = || index.manifests.iter().filter(is_image);
        match images().find(is_ours).or_else(|| images().next()) {
            Some(one) => Ok(ManifestKind::Several(vec![one.clone()])),
            None => Err("its index names no artifact".to_owned()),
        }
    }
}

/// The meaning of a layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LayerKind {
    /// A tar, packed by gzip.
    TarGzip,
    /// A tar.
    Tar,
    /// One file of this name.
    File(String),
}

impl LayerKind {
    /// Returns the meaning of a layer; `None` for one that holds no files, such as a description of the artifact.
    pub(super) fn of(layer: &Descriptor) -> Result<Option<LayerKind>, String> {
        let media_type = layer.media_type.split(';').next().unwrap_or_default().trim();
        if ["+zstd", ".zstd"].iter().any(|ending| media_type.ends_with(ending)) {
            return Err("its layer is packed by zstd, which is not read; push it with gzip".to_owned());
        }
        if ["tar+gzip", "tar.gzip", "tar+gz", "+gzip", "x-gtar"].iter().any(|ending| media_type.ends_with(ending)) {
            return Ok(Some(LayerKind::TarGzip));
        }
        if [".tar", "+tar", "/x-tar"].iter().any(|ending| media_type.ends_with(ending)) {
            return Ok(Some(LayerKind::Tar));
        }
        Ok(layer.annotations.get(TITLE).map(|title| LayerKind::File(title.clone())))
    }
}

/// The config of a skill, as far as it is read.
#[derive(Debug, Deserialize)]
pub(super) struct SkillConfig {
    pub(super) name: Option<String>,
    pub(super) skillcue: Option<ContentPins>,
}

/// The part of a config that pins the content, as a lock does.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ContentPins {
    /// The digest over all files.
    pub(super) digest: skillcue_catalog::ContentId,
    /// Every file, as a lock has it.
    pub(super) files: skillcue_catalog::Leaves,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(media_type: &str, title: Option<&str>) -> Descriptor {
        let annotations = title.map(|title| (TITLE.to_owned(), title.to_owned())).into_iter().collect();
        Descriptor { annotations, ..Descriptor::of(media_type, b"x") }
    }

    #[test]
    fn layers_of_other_tools_are_understood() {
        let cases = [
            (CONTENT_TYPE, None, Some(LayerKind::TarGzip)),
            ("application/vnd.agent.skill.content.v1.tar+gzip", None, Some(LayerKind::TarGzip)),
            ("application/vnd.cncf.skill.bundle.v1.tar+gzip", None, Some(LayerKind::TarGzip)),
            ("application/vnd.oci.image.layer.v1.tar+gzip", Some("pdf"), Some(LayerKind::TarGzip)),
            ("application/vnd.docker.image.rootfs.diff.tar.gzip", None, Some(LayerKind::TarGzip)),
            ("application/vnd.agentskills.skill.layer.v1.tar", None, Some(LayerKind::Tar)),
            ("text/markdown", Some("SKILL.md"), Some(LayerKind::File("SKILL.md".to_owned()))),
            ("application/vnd.docsclaw.skill.card.v1+yaml", None, None),
        ];
        for (media_type, title, kind) in cases {
            assert_eq!(LayerKind::of(&layer(media_type, title)), Ok(kind), "{media_type}");
        }
        assert!(LayerKind::of(&layer("application/vnd.oci.image.layer.v1.tar+zstd", None)).is_err());
    }

    #[test]
    fn an_index_means_its_skills_or_one_platform() {
        let index = |manifests: &str| {
            let text = format!(r#"{{"schemaVersion": 2, "manifests": [{manifests}]}}"#);
            match ManifestKind::parse(text.as_bytes()) {
                Ok(ManifestKind::Several(all)) => all.into_iter().map(|it| it.digest).collect::<Vec<_>>().join(" "),
                other => format!("{other:?}"),
            }
        };
        let one = |digest: &str, more: &str| format!(r#"{{"mediaType": "m", "size": 1, "digest": "{digest}"{more}}}"#);
        let skill = format!(r#", "artifactType": "{SKILL_TYPE}""#);
        assert_eq!(index(&[one("a", &skill), one("b", ""), one("c", &skill)].join(",")), "a c");
        let platform = |os: &str, of: &str| format!(r#", "platform": {{"os": "{os}", "architecture": "{of}"}}"#);
        let all = [
            one("a", &platform("unknown", "unknown")),
            one("b", &platform("linux", "s390x")),
            one("c", &platform("linux", "amd64")),
            one("d", &platform("linux", "arm64")),
        ];
        let expected = if cfg!(target_arch = "x86_64") {
            "c"
        } else if cfg!(target_arch = "aarch64") {
            "d"
        } else {
            "b"
        };
        assert_eq!(index(&all.join(",")), expected);
        assert!(index("").contains("names no artifact"));
        let many: Vec<String> = (0..65).map(|number| one(&number.to_string(), "")).collect();
        assert!(index(&many.join(",")).contains("more than 64"));
    }
}
