//! Terms of bodies until they are in an index: the first in memory, further ones in a file.
//!
//! The terms of 100,000 bodies are hundreds of megabytes, and a publisher needs them again whenever another one was
//! faster. The file has no name, so that it goes with the process.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::sync::{Arc, Mutex};

use skillcue::remote::PublishedBody;
use skillcue_base::binary::{Reader, Writer};
use skillcue_base::lock;
use skillcue_select::DocTerms;

use crate::FleetError;
use crate::key::file_error;

/// Keeps the terms of bodies.
#[derive(Debug)]
pub(crate) struct TermsSpill {
    /// How many bytes of them stay in memory.
    max: usize,
    state: Mutex<SpillState>,
}

#[derive(Debug, Default)]
struct SpillState {
    held: usize,
    file: Option<Arc<File>>,
    end: u64,
}

/// The terms of one body.
#[derive(Debug, Clone)]
pub(crate) struct KeptBody {
    content: u64,
    terms: KeptTerms,
}

#[derive(Debug, Clone)]
enum KeptTerms {
    Memory(DocTerms),
    File { file: Arc<File>, at: u64, length: usize },
}

impl TermsSpill {
    pub(crate) fn new(max: usize) -> TermsSpill {
        TermsSpill { max, state: Mutex::default() }
    }

    /// Keeps the terms of one body.
    pub(crate) fn keep(&self, body: PublishedBody) -> Result<KeptBody, FleetError> {
        let mut bytes = Writer::default();
        body.terms.write(&mut bytes);
        let length = bytes.len();
        let mut state = lock(&self.state);
        if state.held + length <= self.max {
            state.held += length;
            return Ok(KeptBody::from(body));
        }
        let file = match &state.file {
            Some(file) => Arc::clone(file),
            None => Arc::clone(state.file.insert(Arc::new(nameless_file()?))),
        };
        let at = state.end;
        state.end += length as u64;
        drop(state);
        file.write_all_at(bytes.as_bytes(), at).map_err(|error| failed(&error))?;
        Ok(KeptBody { content: body.content, terms: KeptTerms::File { file, at, length } })
    }

    /// Returns how many bytes of terms are in memory, and in the file.
    #[cfg(test)]
    pub(crate) fn sizes(&self) -> (usize, u64) {
        let state = lock(&self.state);
        (state.held, state.end)
    }
}

impl From<PublishedBody> for KeptBody {
    fn from(body: PublishedBody) -> KeptBody {
        KeptBody { content: body.content, terms: KeptTerms::Memory(body.terms) }
    }
}

impl KeptBody {
    /// Returns the terms, of the skill with this URI.
    pub(crate) fn published(&self, uri: &str) -> Result<PublishedBody, FleetError> {
        let terms = match &self.terms {
            KeptTerms::Memory(terms) => terms.clone(),
            KeptTerms::File { file, at, length } => {
                let mut bytes = vec![0; *length];
                file.read_exact_at(&mut bytes, *at).map_err(|error| failed(&error))?;
                let damaged = || failed(&std::io::Error::other("it is not as it was written"));
                DocTerms::read(&mut Reader::new(&bytes)).ok_or_else(damaged)?
            }
        };
        Ok(PublishedBody { uri: uri.to_owned(), content: self.content, terms })
    }
}

/// Makes a file in the directory for temporary files, and takes its name away.
fn nameless_file() -> Result<File, FleetError> {
    let number = getrandom::u64().map_err(|error| FleetError::Threads(error.to_string()))?;
    let path = std::env::temp_dir().join(format!("skillcue-terms-{number:016x}"));
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)
        .map_err(|error| failed(&error))?;
    std::fs::remove_file(&path).map_err(|error| failed(&error))?;
    Ok(file)
}

fn failed(error: &std::io::Error) -> FleetError {
    file_error(&std::env::temp_dir(), error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use skillcue_select::BodyTerms;

    #[test]
    fn terms_beyond_the_limit_are_in_a_file_and_come_back() {
        let body = |number: u64| PublishedBody {
            uri: format!("skill://s{number}/SKILL.md"),
            content: number,
            terms: BodyTerms::of_body(&format!("Merge the pages of report {number} with `qpdf`.")),
        };
        let mut one = Writer::default();
        body(10).terms.write(&mut one);
        let spill = TermsSpill::new(3 * one.len());
        let kept: Vec<KeptBody> = (10..30).map(|number| spill.keep(body(number)).unwrap()).collect();
        let (held, end) = spill.sizes();
        assert_eq!((held, end), (3 * one.len(), 17 * one.len() as u64));
        assert_eq!(kept.iter().filter(|kept| matches!(kept.terms, KeptTerms::Memory(_))).count(), 3);
        for (number, kept) in (10..).zip(&kept) {
            assert_eq!(kept.published(&body(number).uri).unwrap(), body(number));
        }
    }
}
