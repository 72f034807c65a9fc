//! The table of measurements: each beside its floor, and whether the promise is kept.

use serde::ser::{Serialize, SerializeStruct as _, Serializer};
use std::fmt;
use std::time::Duration;

/// The limit of a time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Limit {
    /// No promise.
    #[default]
    None,
    /// A multiple of the floor, plus a constant.
    OverFloor {
        /// The factor.
        times: f64,
        /// The constant.
        plus: Duration,
    },
    /// A factor by which it is faster than the floor, which then is no floor but a rival.
    Faster(f64),
    /// A time by itself, for a measurement without a floor.
    AtMost(Duration),
}

impl Limit {
    /// Returns a multiple of the floor.
    pub fn times(times: f64) -> Self {
        Self::OverFloor { times, plus: Duration::ZERO }
    }

    /// Returns a multiple of the floor, plus a constant.
    pub fn times_plus(times: f64, plus: Duration) -> Self {
        Self::OverFloor { times, plus }
    }

    /// Returns the limit as a time, once the floor is known.
    fn of(self, floor: Option<Duration>) -> Option<Duration> {
        match self {
            Self::None => None,
            Self::OverFloor { times, plus } => Some(floor?.mul_f64(times) + plus),
            Self::Faster(times) => Some(floor?.div_f64(times)),
            Self::AtMost(time) => Some(time),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Equality is meant: 1 is what callers write, never what a calculation ends in.
        #[expect(clippy::float_cmp)]
        let one = |times: f64| times == 1.0;
        match *self {
            Self::None => f.write_str("-"),
            Self::OverFloor { times, plus } if plus.is_zero() => write!(f, "≤ {times}×"),
            Self::OverFloor { times, plus } if one(times) => {
                write!(f, "≤ floor + {:#}", Time(plus))
            }
            Self::OverFloor { times, plus } => write!(f, "≤ {times}× + {:#}", Time(plus)),
            Self::Faster(times) => write!(f, "≤ 1/{times}"),
            Self::AtMost(time) => write!(f, "≤ {:#}", Time(time)),
        }
    }
}

/// One measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeRow {
    /// The measured operation, in a few words.
    pub what: String,
    /// The number of skills.
    pub skills: usize,
    /// The time that it took.
    pub time: Duration,
    /// The time that 99 in 100 did not exceed, where single calls were timed.
    pub p99: Option<Duration>,
    /// The time of the floor, in the same run.
    pub floor: Option<Duration>,
    /// The limit of the time.
    pub limit: Limit,
    /// Bytes of memory, where they were measured.
    pub memory: Option<u64>,
    /// The limit of the memory.
    pub memory_limit: Option<u64>,
}

impl TimeRow {
    /// Makes a measurement without a floor, a limit, or memory.
    pub fn new(what: impl Into<String>, skills: usize, time: Duration) -> Self {
        Self {
            what: what.into(),
            skills,
            time,
            p99: None,
            floor: None,
            limit: Limit::None,
            memory: None,
            memory_limit: None,
        }
    }

    /// Sets the floor that it is compared with, and the limit.
    #[must_use]
    pub fn against(self, floor: Duration, limit: Limit) -> Self {
        Self { floor: Some(floor), limit, ..self }
    }

    /// Sets a limit without a floor.
    #[must_use]
    pub fn at_most(self, limit: Duration) -> Self {
        Self { limit: Limit::AtMost(limit), ..self }
    }

    /// Sets the time that 99 in 100 did not exceed.
    #[must_use]
    pub fn p99(self, time: Duration) -> Self {
        Self { p99: Some(time), ..self }
    }

    /// Sets the memory that it took.
    #[must_use]
    pub fn memory(self, bytes: Option<u64>) -> Self {
        Self { memory: bytes, ..self }
    }

    /// Sets the limit of the memory.
    #[must_use]
    pub fn memory_at_most(self, bytes: u64) -> Self {
        Self { memory_limit: Some(bytes), ..self }
    }

    /// Returns the time divided by the floor's.
    pub fn ratio(&self) -> Option<f64> {
        let floor = self.floor.filter(|floor| !floor.is_zero())?;
        Some(self.time.as_secs_f64() / floor.as_secs_f64())
    }

    /// Returns whether the promise is kept; `None` where there is none.
    pub fn ok(&self) -> Option<bool> {
        let time = self.limit.of(self.floor).map(|limit| self.time <= limit);
        let memory = self.memory_limit.zip(self.memory).map(|(limit, bytes)| bytes <= limit);
        match (time, memory) {
            (Some(time), Some(memory)) => Some(time && memory),
            (one, other) => one.or(other),
        }
    }

    /// Returns the promise in words.
    fn promise(&self) -> Option<String> {
        let time = (self.limit != Limit::None).then(|| self.limit.to_string());
        let memory = self.memory_limit.map(|bytes| format!("≤ {:#}", Bytes(bytes)));
        let parts: Vec<String> = time.into_iter().chain(memory).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    fn cells(&self) -> Vec<String> {
        let time = |time: Option<Duration>| or_dash(time.map(|time| Time(time).to_string()));
        vec![
            self.what.clone(),
            thousands(self.skills),
            time(Some(self.time)),
            time(self.p99),
            time(self.floor),
            or_dash(self.ratio().map(|ratio| Ratio(ratio).to_string())),
            or_dash(self.promise()),
            or_dash(self.ok().map(yes)),
            or_dash(self.memory.map(|bytes| Bytes(bytes).to_string())),
        ]
    }
}

impl Serialize for TimeRow {
    /// Writes `{what, skills, time_ns, p99_ns, floor_ns, ratio, limit, limit_ns, ok, memory_bytes,
    /// memory_limit_bytes}`; values that were not measured are null.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Three places, or digits: the next ones are noise, and would make two runs harder to compare.
        let ratio = self.ratio().map(|ratio| {
            let scale = if ratio < 0.1 { 1e6 } else { 1e3 };
            (ratio * scale).round() / scale
        });
        let mut row = serializer.serialize_struct("TimeRow", 11)?;
        row.serialize_field("what", &self.what)?;
        row.serialize_field("skills", &self.skills)?;
        row.serialize_field("time_ns", &nanoseconds(self.time))?;
        row.serialize_field("p99_ns", &self.p99.map(nanoseconds))?;
        row.serialize_field("floor_ns", &self.floor.map(nanoseconds))?;
        row.serialize_field("ratio", &ratio)?;
        row.serialize_field("limit", &self.promise())?;
        row.serialize_field("limit_ns", &self.limit.of(self.floor).map(nanoseconds))?;
        row.serialize_field("ok", &self.ok())?;
        row.serialize_field("memory_bytes", &self.memory)?;
        row.serialize_field("memory_limit_bytes", &self.memory_limit)?;
        row.end()
    }
}

/// A cost in tokens, beside that of all bodies at once.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct TokenRow {
    /// The counted text, in a few words.
    pub what: String,
    /// The number of skills.
    pub skills: usize,
    /// The number of tokens.
    pub tokens: usize,
    /// The number of tokens of the bodies of all skills.
    pub eager: usize,
    /// The limit of the number of tokens.
    pub limit: usize,
}

impl TokenRow {
    /// Returns whether the promise is kept.
    pub fn ok(&self) -> bool {
        self.tokens <= self.limit
    }

    fn cells(&self) -> Vec<String> {
        #[expect(clippy::cast_precision_loss)] // a share, to show
        let saved = 100.0 - 100.0 * self.tokens as f64 / self.eager.max(1) as f64;
        vec![
            self.what.clone(),
            thousands(self.skills),
            thousands(self.tokens),
            thousands(self.eager),
            format!("{saved:.3} %"),
            format!("≤ {}", self.limit),
            yes(self.ok()),
        ]
    }
}

/// The measurements of one run. Its [`Display`](fmt::Display) is the table for people; it
/// serialises to the form for programs.
///
/// ```
/// use skillcue_bench::{Limit, Report, TimeRow};
/// use std::time::Duration;
///
/// let ms = Duration::from_millis;
/// let mut report = Report::default();
/// report.rows.push(TimeRow::new("discover", 1000, ms(30)).against(ms(20), Limit::times(2.5)));
/// report.rows.push(TimeRow::new("first load", 1, ms(2)).against(ms(1), Limit::times(1.5)));
/// report.notes.push("2 threads, best of 5".to_owned());
/// assert!(!report.kept());
/// assert_eq!(
///     report.to_string(),
///     "\
/// what        skills     time  99th    floor  ratio   limit  ok   memory
/// discover     1,000  30.0 ms     -  20.0 ms  1.50×  ≤ 2.5×  yes       -
/// first load       1  2.00 ms     -  1.00 ms  2.00×  ≤ 1.5×  NO        -
///
/// 2 threads, best of 5
/// "
/// );
/// ```
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Report {
    /// The measurements, in the order of the table.
    pub rows: Vec<TimeRow>,
    /// The counts of tokens, in a table of their own.
    pub tokens: Vec<TokenRow>,
    /// Lines below the table: the machine, the method, results that are no times.
    pub notes: Vec<String>,
}

const HEADINGS: &[&str] = &["what", "skills", "time", "99th", "floor", "ratio", "limit", "ok", "memory"];
const TOKEN_HEADINGS: &[&str] = &["what", "skills", "tokens", "eager", "saved", "limit", "ok"];
/// The columns that are aligned to the left; numbers are aligned to the right.
const LEFT_ALIGNED: &[&str] = &["what", "ok"];

impl Report {
    /// Returns whether every promise that was measured is kept.
    pub fn kept(&self) -> bool {
        self.rows.iter().all(|row| row.ok() != Some(false)) && self.tokens.iter().all(TokenRow::ok)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        table(f, HEADINGS, self.rows.iter().map(TimeRow::cells))?;
        if !self.tokens.is_empty() {
            writeln!(f)?;
            table(f, TOKEN_HEADINGS, self.tokens.iter().map(TokenRow::cells))?;
        }
        for (index, note) in self.notes.iter().enumerate() {
            let gap = if index == 0 { "\n" } else { "" };
            writeln!(f, "{gap}{note}")?;
        }
        Ok(())
    }
}

fn table(f: &mut fmt::Formatter<'_>, headings: &[&str], rows: impl Iterator<Item = Vec<String>>) -> fmt::Result {
    let mut lines = vec![headings.iter().map(|&heading| heading.to_owned()).collect::<Vec<_>>()];
    lines.extend(rows);
    // Characters, not bytes: × and µ have two bytes and one column.
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max();
    let widths: Vec<usize> = (0..headings.len()).map(|column| width(column).unwrap_or(0)).collect();
    for line in &lines {
        let mut text = String::new();
        for ((cell, width), heading) in line.iter().zip(&widths).zip(headings) {
            if !text.is_empty() {
                text.push_str("  ");
            }
            let pad = " ".repeat(width - cell.chars().count());
            text.extend(if LEFT_ALIGNED.contains(heading) { [cell, pad.as_str()] } else { [pad.as_str(), cell] });
        }
        writeln!(f, "{}", text.trim_end())?;
    }
    Ok(())
}

fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

fn yes(ok: bool) -> String {
    if ok { "yes" } else { "NO" }.to_owned()
}

/// A ratio: how many times the floor, or what part of it.
struct Ratio(f64);

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 0.1 {
            return write!(f, "1/{:.0}", 1.0 / self.0);
        }
        write!(f, "{:.2}×", self.0)
    }
}

/// A time with three significant digits and the unit that suits it.
struct Time(Duration);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs_f64();
        let (value, unit) = match seconds {
            _ if seconds >= 1.0 => (seconds, "s"),
            _ if seconds >= 1e-3 => (seconds * 1e3, "ms"),
            _ if seconds >= 1e-6 => (seconds * 1e6, "µs"),
            _ => return write!(f, "{} ns", self.0.as_nanos()),
        };
        // With `#`, a round number stays round: a limit is "50 µs", not "50.0 µs".
        if f.alternate() && value.fract() == 0.0 {
            return write!(f, "{value} {unit}");
        }
        significant(f, value, unit)
    }
}

/// Bytes with three significant digits, in powers of ten as the specification counts them.
struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[expect(clippy::cast_precision_loss)] // three digits are shown
        let bytes = self.0 as f64;
        let (value, unit) = match bytes {
            _ if bytes >= 1e9 => (bytes / 1e9, "GB"),
            _ if bytes >= 1e6 => (bytes / 1e6, "MB"),
            _ if bytes >= 1e3 => (bytes / 1e3, "KB"),
            _ => return write!(f, "{} B", self.0),
        };
        if f.alternate() && value.fract() == 0.0 {
            return write!(f, "{value} {unit}");
        }
        significant(f, value, unit)
    }
}

fn significant(f: &mut fmt::Formatter<'_>, value: f64, unit: &str) -> fmt::Result {
    let places = match value {
        _ if value >= 100.0 => 0,
        _ if value >= 10.0 => 1,
        _ => 2,
    };
    write!(f, "{value:.places$} {unit}")
}

fn nanoseconds(time: Duration) -> u64 {
    // 584 years fit.
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: fn(u64) -> Duration = Duration::from_micros;

    #[test]
    fn limits_decide() {
        let row = |time, limit| TimeRow::new("x", 1, US(time)).against(US(100), limit);
        assert_eq!(row(250, Limit::times(2.5)).ok(), Some(true));
        assert_eq!(row(251, Limit::times(2.5)).ok(), Some(false));
        assert_eq!(row(200, Limit::times_plus(1.5, US(50))).ok(), Some(true));
        assert_eq!(row(201, Limit::times_plus(1.5, US(50))).ok(), Some(false));
        assert_eq!(row(201, Limit::None).ok(), None);
        assert_eq!(TimeRow::new("x", 1, US(20)).at_most(US(20)).ok(), Some(true));
        let no_floor = TimeRow { limit: Limit::times(2.0), ..TimeRow::new("x", 1, US(1)) };
        assert_eq!((no_floor.ok(), no_floor.ratio()), (None, None));
        assert_eq!(row(1, Limit::Faster(100.0)).ok(), Some(true));
        assert_eq!(row(2, Limit::Faster(100.0)).ok(), Some(false));
        let held = TimeRow::new("x", 1, US(1)).memory(Some(10)).memory_at_most(9);
        assert_eq!(held.ok(), Some(false));
        assert_eq!(TimeRow { memory: None, ..held.clone() }.ok(), None, "not measured");
        assert_eq!(held.clone().memory_at_most(10).at_most(US(1)).ok(), Some(true));
        assert_eq!(held.at_most(US(1)).ok(), Some(false));
    }

    #[test]
    fn tokens_have_a_table_of_their_own() {
        let row = |skills, tokens| TokenRow { what: "breadcrumb".into(), skills, tokens, eager: 4_000, limit: 10 };
        let mut report = Report { tokens: vec![row(100, 10)], ..Report::default() };
        assert!(report.kept());
        report.tokens.push(row(1_000, 11));
        assert!(!report.kept());
        let shown = report.to_string();
        let shown = shown.split_once("\n\n").map(|(_, tokens)| tokens);
        let expected = "\
what        skills  tokens  eager     saved  limit  ok
breadcrumb     100      10  4,000  99.750 %   ≤ 10  yes
breadcrumb   1,000      11  4,000  99.725 %   ≤ 10  NO
";
        assert_eq!(shown, Some(expected));
    }

    #[test]
    fn words_for_limits_times_and_bytes() {
        let shown = [
            Limit::times(2.5),
            Limit::times_plus(1.5, US(50)),
            Limit::times_plus(1.0, US(1)),
            Limit::AtMost(US(1000)),
            Limit::Faster(1000.0),
            Limit::None,
        ]
        .map(|limit| limit.to_string());
        assert_eq!(shown, ["≤ 2.5×", "≤ 1.5× + 50 µs", "≤ floor + 1 µs", "≤ 1 ms", "≤ 1/1000", "-"]);
        assert_eq!([1.5, 0.000_25].map(|ratio| Ratio(ratio).to_string()), ["1.50×", "1/4000"]);
        assert_eq!(format!("{:#}", Bytes(150_000_000)), "150 MB");
        let times = [999, 1_234, 45_600_000, 999_400_000, 1_250_000_000];
        let times = times.map(|ns| Time(Duration::from_nanos(ns)).to_string());
        assert_eq!(times, ["999 ns", "1.23 µs", "45.6 ms", "999 ms", "1.25 s"]);
        let bytes = [12, 1_500, 123_456_789, 2_000_000_000].map(|b| Bytes(b).to_string());
        assert_eq!(bytes, ["12 B", "1.50 KB", "123 MB", "2.00 GB"]);
        assert_eq!([1, 999, 1000, 100_000, 1_234_567].map(thousands), ["1", "999", "1,000", "100,000", "1,234,567"]);
    }

    #[test]
    fn json_has_every_field() {
        let mut report = Report::default();
        let load = TimeRow::new("load", 1, US(3)).p99(US(4)).against(US(2), Limit::times(1.5));
        report.rows.push(load.memory(Some(7)).memory_at_most(9));
        report.rows.push(TimeRow::new("print", 2, US(1)));
        let expected = serde_json::json!({
            "rows": [
                {"what": "load", "skills": 1, "time_ns": 3000, "p99_ns": 4000, "floor_ns": 2000, "ratio": 1.5,
                 "limit": "≤ 1.5×, ≤ 9 B", "limit_ns": 3000, "ok": true, "memory_bytes": 7, "memory_limit_bytes": 9},
                {"what": "print", "skills": 2, "time_ns": 1000, "p99_ns": null, "floor_ns": null, "ratio": null,
                 "limit": null, "limit_ns": null, "ok": null, "memory_bytes": null, "memory_limit_bytes": null},
            ],
            "tokens": [],
            "notes": [],
        });
        assert_eq!(serde_json::to_value(&report).unwrap(), expected);
    }
}
