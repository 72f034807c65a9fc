//! The keys of a manifest: which field each names, and where the field's value is in the tree.

use crate::node::Node;

/// The fields of a manifest.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ManifestField {
    Name,
    Description,
    License,
    Compatibility,
    AllowedTools,
    Prompt,
    // From here on, extensions, which are also read below `metadata`.
    Version,
    Model,
    DisableModelInvocation,
    UserInvocable,
    ArgumentHint,
    BriefDescription,
    Triggers,
    Types,
    Toolsets,
    Scripts,
    ScriptsIgnore,
    DefaultEnabled,
    Priority,
    Requires,
    Permissions,
    Lifecycle,
}

const FIELDS: usize = ManifestField::Lifecycle as usize + 1;

impl ManifestField {
    /// Returns the field that a key names, `-` and `_` in it being the same.
    fn of(key: &str) -> Option<ManifestField> {
        Some(match key {
            "name" => ManifestField::Name,
            "description" => ManifestField::Description,
            "license" => ManifestField::License,
            "compatibility" => ManifestField::Compatibility,
            "allowed-tools" | "allowed_tools" => ManifestField::AllowedTools,
            "prompt" => ManifestField::Prompt,
            "version" => ManifestField::Version,
            "model" => ManifestField::Model,
            "disable-model-invocation" | "disable_model_invocation" => ManifestField::DisableModelInvocation,
            "user-invocable" | "user_invocable" => ManifestField::UserInvocable,
            "argument-hint" | "argument_hint" => ManifestField::ArgumentHint,
            "brief_description" | "brief-description" => ManifestField::BriefDescription,
            "triggers" => ManifestField::Triggers,
            "types" => ManifestField::Types,
            "toolsets" => ManifestField::Toolsets,
            "scripts" => ManifestField::Scripts,
            "scripts_ignore" | "scripts-ignore" => ManifestField::ScriptsIgnore,
            "default_enabled" | "default-enabled" => ManifestField::DefaultEnabled,
            "priority" => ManifestField::Priority,
            "requires" => ManifestField::Requires,
            "permissions" => ManifestField::Permissions,
            "lifecycle" => ManifestField::Lifecycle,
            _ => return None,
        })
    }
}

/// Returns whether a key names a field.
pub(crate) fn is_field(key: &str) -> bool {
    key == "metadata" || ManifestField::of(key).is_some()
}

/// Returns whether the value of a key must be a list, at any level of the tree.
pub(crate) fn is_list(key: &str) -> bool {
    const PARTS: [&str; 8] = ["keywords", "verbs", "patterns", "files", "languages", "read", "write", "env"];
    let of_field = matches!(
        ManifestField::of(key),
        Some(
            ManifestField::AllowedTools
                | ManifestField::Triggers
                | ManifestField::Types
                | ManifestField::Toolsets
                | ManifestField::Scripts
                | ManifestField::ScriptsIgnore
                | ManifestField::Requires
        )
    );
    of_field || PARTS.contains(&key)
}

/// Returns whether the value of a key must be a mapping.
pub(crate) fn is_mapping(key: &str) -> bool {
    matches!(key, "metadata" | "permissions")
}

/// The nodes of all fields, found in one pass: of several the first, with the top level before `metadata`.
pub(super) struct FieldNodes<'n, 'a>([Option<&'n Node<'a>>; FIELDS]);

impl<'n, 'a> FieldNodes<'n, 'a> {
    pub(super) fn of(root: &'n Node<'a>, json_metadata: Option<&'n Node<'a>>) -> FieldNodes<'n, 'a> {
        let mut nodes = [None; FIELDS];
        let mut metadata = json_metadata;
        for (key, value) in root.entries() {
            match key.as_str() {
                Some("metadata") => metadata = metadata.or(Some(value)),
                Some(key) => {
                    if let Some(field) = ManifestField::of(key) {
                        nodes[field as usize].get_or_insert(value);
                    }
                }
                None => {}
            }
        }
        for (key, value) in metadata.map_or(&[][..], Node::entries) {
            if let Some(field) = key.as_str().and_then(ManifestField::of)
                && field as usize >= ManifestField::Version as usize
            {
                nodes[field as usize].get_or_insert(value);
            }
        }
        FieldNodes(nodes)
    }

    pub(super) fn get(&self, field: ManifestField) -> Option<&'n Node<'a>> {
        self.0[field as usize]
    }
}
