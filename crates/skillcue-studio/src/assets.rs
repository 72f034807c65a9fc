//! The files of the page, embedded.

/// A file of the page.
#[derive(Debug)]
pub(crate) struct Asset {
    /// Its path in the address.
    pub(crate) path: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) text: &'static str,
}

const JS: &str = "text/javascript; charset=utf-8";

macro_rules! assets {
    ($($kind:expr, $path:literal;)*) => {
        &[$(Asset { path: concat!("/", $path), kind: $kind, text: include_str!(concat!("../assets/", $path)) }),*]
    };
}

/// Every file, modules in the order in which they depend on one another.
pub(crate) const ASSETS: &[Asset] = assets! {
    "text/html; charset=utf-8", "index.html";
    "text/css; charset=utf-8", "style.css";
    "image/svg+xml", "icon.svg";
    JS, "vendor/htm-preact.js";
    JS, "data.js";
    JS, "parts.js";
    JS, "charts.js";
    JS, "message.js";
    JS, "why.js";
    JS, "catalog.js";
    JS, "budget.js";
    JS, "evals.js";
    JS, "traces.js";
    JS, "use.js";
    JS, "trust.js";
    JS, "app.js";
};

/// Returns the file at a path of an address.
pub(crate) fn asset(path: &str) -> Option<&'static Asset> {
    let path = if path == "/" { "/index.html" } else { path };
    ASSETS.iter().find(|asset| asset.path == path)
}

/// The SHA-256 of the view library: `htm` 3.1.1 with Preact inside, `preact/standalone.module.js` of npm's package `htm`.
#[cfg(test)]
const VENDORED: &str = "72284e8e9079c87817145df1110f74e8a2aa040b2fc384922e18dfcb46fc1fd7";

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn the_view_library_is_the_published_one() {
        let library = asset("/vendor/htm-preact.js").unwrap();
        assert_eq!(skillcue_base::hex(skillcue_base::Digest::of(library.text).as_bytes()), VENDORED);
        for licence in [include_str!("../assets/vendor/LICENSE-htm"), include_str!("../assets/vendor/LICENSE-preact")] {
            assert!(licence.contains("Permission is hereby granted") || licence.contains("Apache License"));
        }
    }

    #[test]
    fn everything_is_at_most_150_kilobytes_compressed() {
        let mut compressed = 0;
        for asset in ASSETS {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(asset.text.as_bytes()).unwrap();
            compressed += encoder.finish().unwrap().len();
        }
        assert!(compressed <= 150 * 1024, "{compressed} bytes");
        println!("{} files, {compressed} bytes compressed", ASSETS.len());
    }

    #[test]
    fn texts_of_skills_cannot_become_markup() {
        for asset in ASSETS.iter().filter(|asset| asset.kind == JS && !asset.path.starts_with("/vendor/")) {
            for word in
                ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "://"]
            {
                let svg = asset.text.replace("http://www.w3.org/2000/svg", "").replace("http://127.0.0.1", "");
                assert!(!svg.contains(word), "{} has {word}", asset.path);
            }
        }
        let page = asset("/").unwrap().text;
        assert!(!page.contains("style=") && !page.contains("onclick") && !page.contains("<style"));
        assert!(page.matches("<script").count() == page.matches("<script type=\"module\" src=").count());
    }

    #[test]
    fn every_file_of_the_page_is_served() {
        let mut served: Vec<String> = ASSETS.iter().map(|asset| asset.path[1..].to_owned()).collect();
        let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&dir).unwrap().chain(std::fs::read_dir(dir.join("vendor")).unwrap()) {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(&dir).unwrap().to_string_lossy().into_owned();
            if path.is_file() && !name.contains("LICENSE") {
                found.push(name);
            }
        }
        served.sort();
        found.sort();
        assert_eq!(served, found);
    }
}
