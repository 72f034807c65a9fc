//! The `segment` counter: cuts text the way `o200k` does before it merges, and knows what such pieces cost on average.
//!
//! The tokenizer first splits text into words (each with the blank or mark before it), numbers of up to three digits,
//! runs of marks, and blanks; then it looks each piece up in a vocabulary of 200,000. The splitting is easily done
//! alike; in place of the vocabulary there is a table of letter pairs, which tells common words from rare ones well
//! enough: `ing` is cheap in any word, `qz` is dear.

use super::tables::{LENGTHS, PAIRS};

/// One token. Costs in this module are in this many parts of it.
const TOKEN: i64 = 64;

/// The cost of a run of marks by how often the mark changes in it.
const MARKS: [i64; 6] = [64, 67, 99, 144, 166, 195];
/// The cost of each further change.
const MARK: i64 = 29;

/// The character before a piece that belongs to it. The numbers are rows of [`PAIRS`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum PieceLead {
    Space = 27,
    Nothing = 28,
    Mark = 29,
}

/// Scripts whose words are priced by their length.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WritingScript {
    Cyrillic,
    Greek,
    Han,
    Kana,
    Hangul,
    Arabic,
    Hebrew,
    Thai,
    Indic,
    Gurmukhi,
    Odia,
    Sinhala,
    Lao,
    Tibetan,
    Burmese,
    Khmer,
    Georgian,
    Armenian,
    Ethiopic,
    /// Letters and digits for formulas: bold, italic, script.
    Formula,
    Other,
}

impl WritingScript {
    /// Returns the cost of a run, and of each of its letters.
    fn price(self) -> (i64, i64) {
        match self {
            WritingScript::Cyrillic => (45, 14),
            WritingScript::Greek => (21, 25),
            WritingScript::Han => (29, 47),
            WritingScript::Kana => (18, 39),
            WritingScript::Hangul => (43, 33),
            WritingScript::Arabic => (35, 20),
            WritingScript::Hebrew => (18, 31),
            WritingScript::Thai => (79, 25),
            WritingScript::Indic => (10, 28),
            WritingScript::Gurmukhi => (12, 35),
            WritingScript::Odia => (20, 72),
            WritingScript::Sinhala => (12, 36),
            WritingScript::Lao => (16, 122),
            WritingScript::Tibetan => (16, 100),
            WritingScript::Burmese => (16, 36),
            WritingScript::Khmer => (16, 43),
            WritingScript::Georgian => (16, 24),
            WritingScript::Armenian => (16, 22),
            WritingScript::Ethiopic => (24, 142),
            WritingScript::Formula => (0, 192),
            WritingScript::Other => (16, 80),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CharClass {
    /// A letter of the Latin alphabet, accents included.
    Letter,
    Script(WritingScript),
    Digit,
    Mark,
    Space,
    Line,
}

const ASCII: [CharClass; 128] = {
    let mut table = [CharClass::Mark; 128];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] = match byte {
            b'a'..=b'z' | b'A'..=b'Z' => CharClass::Letter,
            b'0'..=b'9' => CharClass::Digit,
            b'\n' | b'\r' => CharClass::Line,
            b' ' | b'\t' | 0x0b | 0x0c => CharClass::Space,
            _ => CharClass::Mark,
        };
        byte += 1;
    }
    table
};

/// [`PAIRS`] in rows of 32, where an index needs a shift and no check.
const WEIGHTS: [i8; 1024] = {
    let mut table = [0; 1024];
    let mut row = 0;
    while row < 30 {
        let mut column = 0;
        while column < 27 {
            table[row * 32 + column] = PAIRS[row][column];
            column += 1;
        }
        row += 1;
    }
    table
};

/// Returns the class of a character outside ASCII.
fn class(c: char) -> CharClass {
    match c {
        // First, because text that has them has little else.
        '\u{4e00}'..='\u{9fff}'
        | '々'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}' => CharClass::Script(WritingScript::Han),
        'À'..='Ö' | 'Ø'..='ö' | 'ø'..='\u{24f}' | '\u{300}'..='\u{36f}' | '\u{1e00}'..='\u{1eff}' => {
            CharClass::Letter
        }
        '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => CharClass::Script(WritingScript::Greek),
        '\u{400}'..='\u{52f}' => CharClass::Script(WritingScript::Cyrillic),
        '\u{590}'..='\u{5ff}' => CharClass::Script(WritingScript::Hebrew),
        '\u{620}'..='\u{65f}' | '\u{66e}'..='\u{6d3}' => CharClass::Script(WritingScript::Arabic),
        '\u{a00}'..='\u{a65}' | '\u{a70}'..='\u{a7f}' => CharClass::Script(WritingScript::Gurmukhi),
        '\u{b00}'..='\u{b65}' | '\u{b70}'..='\u{b7f}' => CharClass::Script(WritingScript::Odia),
        '\u{d80}'..='\u{dff}' => CharClass::Script(WritingScript::Sinhala),
        '\u{900}'..='\u{963}' | '\u{971}'..='\u{d7f}' => CharClass::Script(WritingScript::Indic),
        '\u{e01}'..='\u{e4e}' => CharClass::Script(WritingScript::Thai),
        '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{ac00}'..='\u{d7af}' => {
            CharClass::Script(WritingScript::Hangul)
        }
        '\u{3041}'..='\u{3096}' | '\u{309d}'..='\u{309f}' | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' => {
            CharClass::Script(WritingScript::Kana)
        }
        '\u{e80}'..='\u{ece}' => CharClass::Script(WritingScript::Lao),
        '\u{f40}'..='\u{fbc}' => CharClass::Script(WritingScript::Tibetan),
        '\u{1000}'..='\u{103f}' => CharClass::Script(WritingScript::Burmese),
        '\u{1780}'..='\u{17d3}' => CharClass::Script(WritingScript::Khmer),
        '\u{10a0}'..='\u{10ff}' => CharClass::Script(WritingScript::Georgian),
        '\u{531}'..='\u{588}' => CharClass::Script(WritingScript::Armenian),
        '\u{1200}'..='\u{135f}' | '\u{1380}'..='\u{139f}' => CharClass::Script(WritingScript::Ethiopic),
        '\u{1d400}'..='\u{1d7ff}' => CharClass::Script(WritingScript::Formula),
        _ if c.is_alphabetic() => CharClass::Script(WritingScript::Other),
        _ if c.is_numeric() => CharClass::Digit,
        _ if c.is_whitespace() => CharClass::Space,
        _ => CharClass::Mark,
    }
}

/// Returns the cost of a mark outside ASCII, the first time or again in a row.
fn price(mark: char, again: bool) -> i64 {
    match mark {
        // Lines are drawn with these, and long lines are one token.
        '\u{2500}'..='\u{257f}' if again => 4,
        '\u{0}'..='\u{206f}' | '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ffef}' => 64,
        // Arrows are common; other signs of formulas mostly take two tokens.
        '\u{2194}'..='\u{23ff}' => 112,
        '\u{2600}'..='\u{27bf}' => 100,
        '\u{27c0}'..='\u{2bff}' | '\u{1f000}'.. => 140,
        _ => 76,
    }
}

/// Returns how many tokens `text` is likely to be, in parts of one.
pub(super) fn estimate(text: &str) -> usize {
    let mut scan = TokenEstimator { text, bytes: text.as_bytes(), at: 0, lead: PieceLead::Nothing, cost: 0 };
    scan.run();
    usize::try_from(scan.cost).unwrap_or(usize::MAX / 2)
}

struct TokenEstimator<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    /// The part of the last piece that belongs to the next one.
    lead: PieceLead,
    cost: i64,
}

impl TokenEstimator<'_> {
    /// Returns the class of the character at `at`, and its length.
    #[inline]
    fn look(&self, at: usize) -> Option<(CharClass, usize)> {
        let byte = *self.bytes.get(at)?;
        if byte < 128 { Some((ASCII[usize::from(byte)], 1)) } else { self.look_far(at) }
    }

    fn look_far(&self, at: usize) -> Option<(CharClass, usize)> {
        let c = self.char(at)?;
        Some((class(c), c.len_utf8()))
    }

    fn char(&self, at: usize) -> Option<char> {
        self.text.get(at..)?.chars().next()
    }

    /// Returns the mark at `at`, if one is there, and its length.
    #[inline]
    fn mark(&self, at: usize) -> Option<(char, usize)> {
        let byte = *self.bytes.get(at)?;
        if byte < 128 {
            return (ASCII[usize::from(byte)] == CharClass::Mark).then_some((char::from(byte), 1));
        }
        self.char(at).filter(|c| class(*c) == CharClass::Mark).map(|c| (c, c.len_utf8()))
    }

    fn run(&mut self) {
        while let Some((class, _)) = self.look(self.at) {
            let lead = std::mem::replace(&mut self.lead, PieceLead::Nothing);
            match class {
                CharClass::Letter => self.word(lead),
                CharClass::Script(script) => self.script(script),
                CharClass::Digit => self.digits(lead),
                CharClass::Mark => self.marks(lead),
                CharClass::Space | CharClass::Line => self.blanks(),
            }
        }
    }

    /// Counts a word: capitals, then small letters. A capital after a small letter begins the next word.
    fn word(&mut self, lead: PieceLead) {
        let (mut row, mut pairs, mut letters) = (lead as usize, 0_i64, 0_usize);
        for &byte in &self.bytes[self.at..] {
            let column = usize::from(byte.wrapping_sub(b'A'));
            if column > 25 {
                break;
            }
            pairs += i64::from(WEIGHTS[row * 32 + column]);
            row = column;
            letters += 1;
        }
        let capitals = letters;
        self.at += letters;
        loop {
            let mut small = 0;
            for &byte in &self.bytes[self.at..] {
                let column = usize::from(byte.wrapping_sub(b'a'));
                if column > 25 {
                    break;
                }
                pairs += i64::from(WEIGHTS[row * 32 + column]);
                row = column;
                small += 1;
            }
            self.at += small;
            letters += small;
            match self.bytes.get(self.at) {
                Some(128..) => match self.look_far(self.at) {
                    Some((CharClass::Letter, length)) => {
                        pairs += i64::from(WEIGHTS[row * 32 + 26]);
                        row = 26;
                        letters += 1;
                        self.at += length;
                    }
                    _ => break,
                },
                _ => break,
            }
        }
        let shape = match capitals {
            0 => 0,
            1 => 1,
            all if all == letters => 2,
            _ => 1,
        };
        let known = letters.clamp(1, 24);
        let length = i64::from(LENGTHS[shape][known - 1]) + 11 * as_cost(letters - known.min(letters));
        // Pairs say less about words in capitals.
        let pairs = if shape == 2 { pairs / 2 } else { pairs };
        self.cost += (length + pairs).max(TOKEN);
    }

    fn script(&mut self, script: WritingScript) {
        let mut letters = 0;
        while let Some((CharClass::Script(other), length)) = self.look(self.at) {
            if other != script {
                break;
            }
            letters += 1;
            self.at += length;
        }
        let (run, letter) = script.price();
        self.cost += (run + letter * letters).max(TOKEN);
    }

    /// Counts digits: three are a token. A blank before them is one of its own.
    fn digits(&mut self, lead: PieceLead) {
        let mut digits = 0_usize;
        while let Some((CharClass::Digit, length)) = self.look(self.at) {
            // Outside ASCII they hardly ever go together.
            digits += if length > 1 { 3 } else { 1 };
            self.at += length;
        }
        let blank = i64::from(lead == PieceLead::Space);
        self.cost += TOKEN * (as_cost(digits.div_ceil(3)) + blank);
    }

    fn marks(&mut self, lead: PieceLead) {
        let start = self.at;
        let (mut runs, mut same, mut far, mut last) = (0_usize, 0_usize, 0_i64, '\0');
        while let Some((mark, length)) = self.mark(self.at) {
            let again = mark == last && self.at > start;
            match length {
                1 if again => same += 1,
                1 => runs += 1,
                _ => far += price(mark, again),
            }
            last = mark;
            self.at += length;
        }
        let alone = self.at == start + last.len_utf8();
        let next = self.look(self.at).map(|(class, _)| class);
        if alone && lead == PieceLead::Nothing && matches!(next, Some(CharClass::Letter | CharClass::Script(_))) {
            // `_word`, `(word`: one piece, and mostly the word decides what it costs.
            self.lead = PieceLead::Mark;
            self.cost += far;
            return;
        }
        while matches!(self.bytes.get(self.at), Some(b'\n' | b'\r' | b'/')) {
            self.at += 1;
        }
        let few = runs.min(MARKS.len());
        let changes = if few == 0 { 0 } else { MARKS[few - 1] + MARK * as_cost(runs - few) };
        let repeats = if runs <= 2 { 8 * as_cost(same.min(8)) } else { 0 } + 2 * as_cost(same.saturating_sub(8));
        self.cost += changes + repeats + far;
    }

    /// Counts blanks: all up to the last line break is one piece; so is what follows, but its last blank goes with the
    /// next piece.
    fn blanks(&mut self) {
        let start = self.at;
        if let [b' ', b'a'..=b'z' | b'A'..=b'Z', ..] = self.bytes[start..] {
            // Most blanks are one before a word.
            self.at += 1;
            self.lead = PieceLead::Space;
            return;
        }
        let (mut lines, mut last, mut turns, mut before) = (start, start, 0_usize, CharClass::Line);
        while let Some((class @ (CharClass::Space | CharClass::Line), length)) = self.look(self.at) {
            last = self.at;
            self.at += length;
            if class == CharClass::Line {
                lines = self.at;
                turns += usize::from(before == CharClass::Space);
            }
            before = class;
        }
        if lines > start {
            // Long runs of breaks are cut up, and so are breaks with blanks between them.
            let long = (lines - start).saturating_sub(16);
            let each = if long > 0 && self.bytes[start..lines].contains(&b'\r') { 8 } else { 4 };
            self.cost += TOKEN + each * as_cost(long) + 24 * as_cost(turns.saturating_sub(1));
        }
        if lines == self.at {
            return;
        }
        let joins = match self.look(self.at).map(|(class, _)| class) {
            None => false,
            Some(CharClass::Letter | CharClass::Script(_)) => true,
            Some(_) => self.bytes[last] == b' ',
        };
        let alone = if joins { last - lines } else { self.at - lines };
        if alone > 0 {
            self.blank(alone);
        }
        if joins {
            self.lead = PieceLead::Space;
            // Words are known with a blank before them, hardly with a tab, and with nothing else.
            self.cost += match self.bytes[last] {
                b' ' => 0,
                b'\t' => 32,
                _ => TOKEN,
            };
        }
    }

    fn blank(&mut self, length: usize) {
        self.cost += TOKEN + as_cost(length.saturating_sub(32));
    }
}

fn as_cost(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX / 1024)
}
