//! The texts of a manifest that a listing shows, without reading the whole manifest.

use std::borrow::Cow;

use skillcue_base::visible;

use super::keys::{FieldNodes, ManifestField};
use crate::node::{Node, Value};
use crate::parsed::{ListingFields, YamlText};

/// Returns the texts for [`crate::DiscoveryInfo::listing`], or `None` if they take more than copying ranges.
pub(crate) fn listing(root: &Node<'_>, yaml: &[u8]) -> Option<ListingFields> {
    if root.get("metadata").is_some_and(|metadata| metadata.as_str().is_some() && !metadata.is_null()) {
        return None;
    }
    let fields = FieldNodes::of(root, None);
    let shown = [ManifestField::DisableModelInvocation, ManifestField::BriefDescription, ManifestField::Types];
    if shown.into_iter().any(|field| fields.get(field).is_some()) {
        return None;
    }
    // Quotes belong to the node, not to its text.
    let verbatim = |node: &Node<'_>| {
        let Value::Scalar { text, plain } = &node.value else { return None };
        let span = node.span.range();
        let range = if *plain { span } else { span.start + 1..span.end.checked_sub(1)? };
        (yaml.get(range.clone())? == text.as_bytes()).then_some(range)
    };
    let range_of = |field| {
        let node = fields.get(field).filter(|node| !node.is_null());
        // An empty range would look like a missing text, and hidden characters are removed from a manifest.
        if node.and_then(Node::as_str).is_some_and(|text| text.is_empty() || matches!(visible(text), Cow::Owned(_))) {
            return None;
        }
        node.map(verbatim).map_or(Some(None), |range| range.map(Some))
    };
    let (version, model, allowed_tools) =
        (range_of(ManifestField::Version)?, range_of(ManifestField::Model)?, range_of(ManifestField::AllowedTools)?);
    let description = fields.get(ManifestField::Description)?;
    let text = visible(description.as_str()?);
    let description = match (verbatim(description), &text) {
        (Some(range), Cow::Borrowed(_)) => YamlText::Verbatim(range),
        // Text that the parser unfolded, and text with hidden characters.
        _ if text.trim().is_empty() => return None,
        _ => YamlText::Decoded((*text).into()),
    };
    Some(ListingFields { description, version, model, allowed_tools })
}
