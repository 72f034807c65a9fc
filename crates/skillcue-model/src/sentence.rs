//! [`SentenceModel`]: texts as vectors.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use rten::{Model as Network, ModelOptions, NodeId, ValueOrView};
use rten_tensor::prelude::*;
use rten_tensor::{NdTensor, NdTensorView};
use skillcue_base::binary::KeptFile;

use crate::files::{NETWORK, PinnedFile, VOCABULARY};
use crate::{SentenceModelError, WordPiece};

/// The number of dimensions of the model's vectors.
pub const DIMENSIONS: usize = 384;

/// The names of the network's inputs: the tokens, which of them count, and the part of a pair that each belongs to.
const INPUTS: [&str; 3] = ["input_ids", "attention_mask", "token_type_ids"];

/// The most tokens of a text that goes through the network with others. Together, 16 texts of 8 tokens take 40 % less time
/// than one by one, of 33 tokens 10 to 20 % less, of 128 tokens no less.
const MAX_BATCHED_TOKENS: usize = 64;

/// The most texts that go through the network together.
const MAX_BATCH: usize = 16;

/// A sentence model: it turns a text into a vector, and texts of similar meaning into similar vectors.
///
/// It can be shared by threads. A text is cut off after 256 tokens, some 1,200 characters of English.
///
/// ```no_run
/// use skillcue_model::{SentenceModel, model_dir};
///
/// let model = SentenceModel::open(&model_dir("/home/ann/.local/share/skillcue".as_ref()))?;
/// let vectors = model.embed(&["a cat", "a kitten"])?;
/// assert_eq!(vectors.len(), 2);
/// # Ok::<(), skillcue_model::SentenceModelError>(())
/// ```
///
/// Without the model, this is an error that says so:
///
/// ```
/// use skillcue_base::ErrorInfo as _;
/// use skillcue_model::SentenceModel;
///
/// let empty = tempfile::tempdir().unwrap();
/// assert_eq!(SentenceModel::open(empty.path()).unwrap_err().code(), "model_missing");
/// ```
pub struct SentenceModel {
    network: Network,
    inputs: Vec<(NodeId, NetworkInput)>,
    output: NodeId,
    words: WordPiece,
}

/// An input of the network.
#[derive(Debug, Clone, Copy)]
enum NetworkInput {
    Tokens,
    /// All ones: texts are not padded.
    Mask,
    /// All zeros: texts are no pairs.
    Part,
}

impl fmt::Debug for SentenceModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SentenceModel").field("inputs", &self.inputs).finish_non_exhaustive()
    }
}

impl SentenceModel {
    /// Opens the model that was installed into a directory. Takes some 0.1 s, most of it for the weights.
    pub fn open(dir: &Path) -> Result<SentenceModel, SentenceModelError> {
        let words = read(dir, &VOCABULARY)?;
        let words = WordPiece::of_json(&words).map_err(|reason| damaged(dir, &VOCABULARY, reason))?;
        let network = read(dir, &NETWORK)?;
        // Packed weights take 20 ms more to load; a message of 8 tokens then takes 4 ms instead of 9, one of 33 11 instead
        // of 25.
        //
        // The file is the pinned one, but a version of rten may still meet something that it does not expect.
        let loaded = catch_unwind(|| ModelOptions::with_all_ops().prepack_weights(true).load(network));
        let network = match loaded {
            Ok(Ok(network)) => network,
            Ok(Err(error)) => return Err(damaged(dir, &NETWORK, error.to_string())),
            Err(_) => return Err(damaged(dir, &NETWORK, "reading it failed".to_owned())),
        };
        let mut inputs = Vec::new();
        for id in network.input_ids() {
            let name = network.node_info(*id).and_then(|node| node.name().map(str::to_owned)).unwrap_or_default();
            let kinds = [NetworkInput::Tokens, NetworkInput::Mask, NetworkInput::Part];
            match INPUTS.iter().position(|input| *input == name) {
                Some(at) => inputs.push((*id, kinds[at])),
                None => return Err(damaged(dir, &NETWORK, format!("its input {name} is unknown"))),
            }
        }
        let Some(output) = network.output_ids().first().copied() else {
            return Err(damaged(dir, &NETWORK, "it has no output".to_owned()));
        };
        Ok(SentenceModel { network, inputs, output, words })
    }

    /// Returns the vectors of some texts, each of length 1, in their order.
    ///
    /// Short texts of equally many tokens go through the network together. Others do not: a long text keeps the cores busy
    /// by itself, and a text that is padded to the length of its neighbours takes their time.
    pub fn embed(&self, texts: &[&str]) -> Result<Vec<[f32; DIMENSIONS]>, SentenceModelError> {
        let tokens: Vec<Vec<i32>> = texts.iter().map(|text| self.words.encode(text)).collect();
        let mut order: Vec<usize> = (0..texts.len()).collect();
        order.sort_by_key(|at| tokens[*at].len());
        let mut vectors = vec![[0.0; DIMENSIONS]; texts.len()];
        for equal in order.chunk_by(|a, b| tokens[*a].len() == tokens[*b].len()) {
            let is_short = equal.first().is_some_and(|at| tokens[*at].len() <= MAX_BATCHED_TOKENS);
            for batch in equal.chunks(if is_short { MAX_BATCH } else { 1 }) {
                let together: Vec<&[i32]> = batch.iter().map(|at| &tokens[*at][..]).collect();
                for (at, vector) in batch.iter().zip(self.vectors(&together)?) {
                    vectors[*at] = vector;
                }
            }
        }
        Ok(vectors)
    }

    /// Returns the vector of one text, of length 1.
    pub fn embed_one(&self, text: &str) -> Result<[f32; DIMENSIONS], SentenceModelError> {
        let vector = self.vectors(&[&self.words.encode(text)])?.pop();
        vector.ok_or_else(|| SentenceModelError::Failed { reason: "it has no output".to_owned() })
    }

    /// Returns the cutter of texts into tokens.
    pub fn words(&self) -> &WordPiece {
        &self.words
    }

    /// Returns the vectors of texts that have equally many tokens.
    fn vectors(&self, texts: &[&[i32]]) -> Result<Vec<[f32; DIMENSIONS]>, SentenceModelError> {
        let hidden = catch_unwind(AssertUnwindSafe(|| self.run(texts)));
        let hidden = hidden.unwrap_or_else(|_| Err("it stopped in the middle of a text".to_owned()));
        let vectors = hidden.and_then(|hidden| {
            let pooled: Option<Vec<_>> = (0..hidden.size(0)).map(|text| pool(&hidden.slice(text))).collect();
            let whole = pooled.filter(|pooled| pooled.len() == texts.len());
            whole.ok_or_else(|| "its output has no direction".to_owned())
        });
        vectors.map_err(|reason| SentenceModelError::Failed { reason })
    }

    /// Returns what the network makes of each token of texts that have equally many. The error is its reason.
    fn run(&self, texts: &[&[i32]]) -> Result<NdTensor<f32, 3>, String> {
        let shape = [texts.len(), texts.first().map_or(0, |tokens| tokens.len())];
        let input = |kind: &NetworkInput| -> ValueOrView<'_> {
            match kind {
                NetworkInput::Tokens => NdTensor::from_data(shape, texts.concat()).into(),
                NetworkInput::Mask => NdTensor::full(shape, 1_i32).into(),
                NetworkInput::Part => NdTensor::full(shape, 0_i32).into(),
            }
        };
        let inputs = self.inputs.iter().map(|(id, kind)| (*id, input(kind))).collect();
        let [hidden] = self.network.run_n(inputs, [self.output], None).map_err(|error| error.to_string())?;
        hidden.try_into().map_err(|error| format!("its output has another form: {error}"))
    }
}

/// Returns the mean of the vectors of one text's tokens, made of length 1. `None` if it has no direction, or if there are
/// no tokens or another number of dimensions.
fn pool(tokens: &NdTensorView<f32, 2>) -> Option<[f32; DIMENSIONS]> {
    let mut sum = [0.0_f32; DIMENSIONS];
    if tokens.size(1) != DIMENSIONS {
        return None;
    }
    for token in 0..tokens.size(0) {
        for (at, sum) in sum.iter_mut().enumerate() {
            *sum += tokens[[token, at]];
        }
    }
    // The mean and the sum have the same direction.
    let length = sum.iter().map(|x| x * x).sum::<f32>().sqrt();
    (length.is_finite() && length > 0.0).then(|| sum.map(|x| x / length))
}

/// Reads a file of the model, and compares it with its checksum.
fn read(dir: &Path, file: &PinnedFile) -> Result<Vec<u8>, SentenceModelError> {
    let path = dir.join(file.name);
    let found = KeptFile::open(&path, u64::MAX).ok_or(SentenceModelError::Missing { path: path.clone() })?;
    if found.size() != file.bytes {
        return Err(damaged(dir, file, format!("it has {} bytes instead of {}", found.size(), file.bytes)));
    }
    let bytes = found.read_all().ok_or_else(|| damaged(dir, file, "it cannot be read to its end".to_owned()))?;
    // Against damage; the SHA-256 was checked when it was installed, and would take ten times as long.
    if skillcue_base::binary::checksum(&bytes) != file.checksum {
        return Err(damaged(dir, file, "its bytes are others".to_owned()));
    }
    Ok(bytes)
}

fn damaged(dir: &Path, file: &PinnedFile, reason: String) -> SentenceModelError {
    SentenceModelError::Damaged { path: dir.join(file.name), reason }
}

#[cfg(test)]
mod tests {
    use skillcue_base::ErrorInfo as _;

    use super::*;

    #[test]
    fn pooling_is_the_mean_of_all_tokens_at_length_one() {
        let mut hidden = NdTensor::<f32, 2>::zeros([2, DIMENSIONS]);
        hidden[[0, 0]] = 3.0;
        hidden[[1, 1]] = 4.0;
        let pooled = pool(&hidden.view()).unwrap();
        assert!((pooled[0] - 0.6).abs() < 1e-6 && (pooled[1] - 0.8).abs() < 1e-6 && pooled[2] == 0.0);
    }

    #[test]
    fn an_output_without_direction_or_of_another_form_is_none() {
        assert_eq!(pool(&NdTensor::zeros([2, DIMENSIONS]).view()), None);
        assert_eq!(pool(&NdTensor::full([2, DIMENSIONS], f32::NAN).view()), None);
        for shape in [[0, DIMENSIONS], [2, 3], [0, 0]] {
            assert_eq!(pool(&NdTensor::full(shape, 1.0).view()), None);
        }
    }

    #[test]
    fn damaged_files_are_named() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(VOCABULARY.name), "{}").unwrap();
        let error = SentenceModel::open(dir.path()).unwrap_err();
        assert_eq!(error.code(), "model_damaged");
        assert!(
            error.to_string().contains("tokenizer.json is not the file of the sentence model: it has 2 bytes"),
            "{error}"
        );
        let zeros = vec![0; usize::try_from(VOCABULARY.bytes).unwrap()];
        std::fs::write(dir.path().join(VOCABULARY.name), zeros).unwrap();
        assert!(SentenceModel::open(dir.path()).unwrap_err().to_string().ends_with("its bytes are others"));
    }
}
