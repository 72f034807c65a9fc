//! From an OCI registry to a directory of files, through the same door as archives.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use super::artifact::{CONFIG_TYPE, Descriptor, LayerKind, ManifestKind, SkillConfig};
use super::client::{RegistryClient, TokenScope};
use super::{OciAccess, OciReference};
use crate::fetch::archive::tar;
use crate::fetch::context::{FetchContext, carried};
use crate::fetch::tree::FetchTree;
use crate::fetch::{Exceeded, FetchError, Fetched};
use crate::{Disk, FetchLimits, FetchProgress, tree};

/// The largest config that is read.
const MAX_CONFIG: u64 = 4 << 20;
/// The name of the directory for blobs in the target: no entry of an archive can be called that.
const BLOBS: &str = ".git";

/// Fetches an artifact's files to `into`, an empty directory that exists, as [`fetch`](crate::fetch) does for other
/// origins. Every blob is verified before anything of it is unpacked. The commit of the result is the SHA-256 of the
/// manifest, which a lock pins.
pub fn fetch_oci(
    reference: &OciReference,
    into: &Path,
    disk: &Disk,
    limits: &FetchLimits,
    access: &OciAccess,
    progress: &dyn FetchProgress,
) -> Result<Fetched, FetchError> {
    let context = FetchContext::new(reference.to_string(), limits, progress);
    context.check()?;
    let client = RegistryClient::connect(reference, access, TokenScope::Pull, &context)?;
    let refuse = |reason: String| FetchError::Registry {
        from: context.from.clone(),
        reason,
        help: "only artifacts with the files of skills can be installed",
    };
    let (bytes, digest) = client.manifest(reference.digest())?;
    let manifests = match ManifestKind::parse(&bytes).map_err(refuse)? {
        ManifestKind::One(manifest) => vec![manifest],
        ManifestKind::Several(descriptors) => {
            let mut manifests = Vec::new();
            for descriptor in descriptors {
                let (bytes, _) = client.manifest(Some(descriptor.sha256().map_err(refuse)?))?;
                match ManifestKind::parse(&bytes).map_err(refuse)? {
                    ManifestKind::One(manifest) => manifests.push(manifest),
                    ManifestKind::Several(_) => return Err(refuse("its index names further indexes".to_owned())),
                }
            }
            manifests
        }
    };
    let mut layers = Vec::new();
    for layer in manifests.iter().flat_map(|manifest| &manifest.layers) {
        if let Some(kind) = LayerKind::of(layer).map_err(refuse)? {
            layers.push((layer, kind));
        }
    }
    if layers.is_empty() {
        let types: Vec<&str> =
            manifests.iter().flat_map(|manifest| &manifest.layers).map(|layer| layer.media_type.as_str()).collect();
        let types = if types.is_empty() { "none".to_owned() } else { types.join(", ") };
        return Err(refuse(format!("it has no layer with files; its layers are: {}", skillcue_base::Shown(&types))));
    }
    let packed = layers.iter().map(|(layer, _)| layer.size).fold(0_u64, u64::saturating_add);
    if packed > limits.bytes {
        return Err(context.exceeded(Exceeded::Bytes(limits.bytes)));
    }
    let blobs = into.join(BLOBS);
    let fail = |source| FetchError::Write { path: blobs.clone(), source };
    disk.create_dir(&blobs).map_err(fail)?;
    let store = BlobStore { client: &client, disk, context: &context, dir: &blobs };
    let mut files = FetchTree::new(into, disk, &context).packed(packed);
    for (layer, kind) in &layers {
        let file = store.get(layer)?;
        match kind {
            LayerKind::TarGzip => {
                let inflated = flate2::bufread::MultiGzDecoder::new(BufReader::new(file));
                tar::unpack_into(inflated, &mut files, &context)?;
            }
            LayerKind::Tar => tar::unpack_into(BufReader::new(file), &mut files, &context)?,
            LayerKind::File(name) => {
                let mut file = file;
                files.file(name.as_bytes(), 0o644, &mut file)?;
            }
        }
    }
    files.finish()?;
    let mut pins = Vec::new();
    for manifest in manifests.iter().filter(|manifest| manifest.config.media_type == CONFIG_TYPE) {
        if manifest.config.size > MAX_CONFIG {
            return Err(refuse(format!("its config has more than {MAX_CONFIG} bytes")));
        }
        pins.push(store.config(&manifest.config)?);
    }
    disk.remove_dir_all(&blobs).map_err(fail)?;
    for config in pins {
        check_pins(&config, into, &context)?;
    }
    Ok(Fetched { commit: Some(digest.to_string()) })
}

/// Blobs on the disk, while they are needed.
struct BlobStore<'s> {
    client: &'s RegistryClient<'s>,
    disk: &'s Disk,
    context: &'s FetchContext<'s>,
    dir: &'s Path,
}

impl BlobStore<'_> {
    /// Brings a blob to the disk, verified.
    fn get(&self, descriptor: &Descriptor) -> Result<File, FetchError> {
        self.context.check()?;
        let path = self.dir.join("blob");
        let mut blob = self.client.blob(descriptor)?;
        let written = self.disk.write_loosely(&path, &mut blob, 0o600);
        let fail = |source| FetchError::Write { path: path.clone(), source };
        written.map_err(|error| carried(error).unwrap_or_else(fail))?;
        let file = tree::open(&path).map_err(fail)?;
        // It is read by its handle; the next one has the same name.
        self.disk.remove_file(&path).map_err(fail)?;
        Ok(file)
    }

    fn config(&self, descriptor: &Descriptor) -> Result<SkillConfig, FetchError> {
        let file = self.get(descriptor)?;
        serde_json::from_reader(BufReader::new(file))
            .map_err(|error| self.context.damaged(format!("its config cannot be read: {error}")))
    }
}

/// Checks that the files are those that the config pins, as a lock would.
fn check_pins(config: &SkillConfig, into: &Path, context: &FetchContext<'_>) -> Result<(), FetchError> {
    let Some(pins) = &config.skillcue else { return Ok(()) };
    let is_plain = |name: &&String| !name.contains(['/', '\0']) && !matches!(name.as_str(), "" | "." | "..");
    let dir = config.name.as_ref().filter(is_plain).map(|name| into.join(name)).filter(|dir| dir.is_dir());
    let found = tree::scan(dir.as_deref().unwrap_or(into)).map_err(|error| context.damaged(error.to_string()))?.id();
    if found == pins.digest {
        return Ok(());
    }
    Err(context.damaged(format!("its files are not those that its config pins: their digest is {found}")))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A registry that takes connections and says nothing: the limit on time ends the fetch, not the registry.
    #[test]
    fn a_silent_registry_ends_with_the_time_of_the_fetch() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let reference = OciReference::parse(&format!("oci://{}/pdf:1", listener.local_addr().unwrap())).unwrap();
        let into = tempfile::tempdir().unwrap();
        let limits = FetchLimits { time: Duration::from_millis(300), ..FetchLimits::default() };
        let error =
            fetch_oci(&reference, into.path(), &Disk::default(), &limits, &OciAccess::default(), &()).unwrap_err();
        assert!(matches!(error, FetchError::TooMuch { exceeded: Exceeded::Time(_), .. }), "{error}");
        assert_eq!(std::fs::read_dir(into.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_cancelled_fetch_ends() {
        struct Cancelled;
        impl FetchProgress for Cancelled {
            fn is_cancelled(&self) -> bool {
                true
            }
        }
        let reference = OciReference::parse("oci://127.0.0.1:1/pdf").unwrap();
        let into = tempfile::tempdir().unwrap();
        let (disk, limits) = (Disk::default(), FetchLimits::default());
        let error = fetch_oci(&reference, into.path(), &disk, &limits, &OciAccess::default(), &Cancelled).unwrap_err();
        assert!(matches!(error, FetchError::Cancelled), "{error}");
    }
}
