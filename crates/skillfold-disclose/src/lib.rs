//! What a model is shown this turn, in as few tokens as serve it.
