//! Vectors that come back, and files that do not.

use proptest::prelude::*;

use super::*;

/// Returns a vector that is the same for the same seed.
fn vector(seed: u64) -> Vector {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3].cast_signed()
    };
    Vector::of_bytes(std::array::from_fn(|_| next()))
}

/// Returns the sections of a skill: one to three.
fn sections_of(digest: u128) -> Vec<Vector> {
    let seed = u64::try_from(digest).unwrap();
    (0..=seed % 3).map(|section| vector(seed * 10 + section)).collect()
}

fn filled(count: u128) -> SectionVectors {
    let mut all = SectionVectors::default();
    (0..count).for_each(|digest| all.insert(digest, sections_of(digest)));
    all
}

fn stored(count: u128) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("cache/vectors");
    filled(count).write(&file).unwrap();
    (dir, file)
}

#[test]
fn a_stored_skill_is_compared_as_a_fresh_one() {
    let (_dir, file) = stored(50);
    let (fresh, back) = (filled(50), SectionVectors::open(&file));
    assert_eq!((back.len(), back.is_empty(), back.needs_write()), (50, false, false));
    for message in (0..20).map(|seed| vector(seed * 7)) {
        assert_eq!(back.nearest(&message, 10), fresh.nearest(&message, 10));
        assert_eq!(back.nearest(&message, 1_000).len(), 50);
        for digest in 0..52 {
            assert_eq!(back.best(&message, digest), fresh.best(&message, digest));
        }
    }
    let own = back.best(&vector(71), 7).unwrap();
    assert!((own.best - 1.0).abs() < 1e-6 && own.summary < 0.5, "the second section of it");
    assert_eq!(back.nearest(&vector(70), 1)[0].0, 7);
    assert!(back.nearest(&vector(70), 0).is_empty() && !back.needs_write());
}

#[test]
fn only_changed_skills_are_made_anew() {
    let (_dir, file) = stored(10);
    let mut all = SectionVectors::open(&file);
    assert_eq!(all.missing([3, 100, 4, 101]), [100, 101]);
    all.insert(100, vec![vector(1)]);
    all.insert(3, vec![vector(2)]);
    all.insert(5, Vec::new());
    all.retain(|digest| digest != 4);
    for all in [&all, &{
        all.write(&file).unwrap();
        SectionVectors::open(&file)
    }] {
        assert_eq!((all.len(), all.missing([3, 4, 5, 100])), (10, vec![4]));
        assert_eq!(all.nearest(&vector(2), 1)[0].0, 3, "the new one of it");
        assert!(
            all.nearest(&vector(40), 100).iter().all(|(digest, _)| *digest != 4) && all.best(&vector(1), 4).is_none()
        );
        assert!((all.best(&vector(1), 100).unwrap().best - 1.0).abs() < 1e-6);
    }
    assert!(all.needs_write());
    let mut many = SectionVectors::default();
    many.insert(1, (0..40).map(vector).collect());
    many.write(&file).unwrap();
    assert_eq!(SectionVectors::open(&file).stored().unwrap().record(1).unwrap().len(), MAX_SECTIONS * DIMENSIONS);
}

#[test]
fn a_missing_file_and_other_things_in_its_place_are_empty() {
    let dir = tempfile::tempdir().unwrap();
    assert!(SectionVectors::open(&dir.path().join("none")).is_empty());
    assert!(SectionVectors::open(dir.path()).is_empty());
    std::fs::write(dir.path().join("text"), "no vectors").unwrap();
    let text = SectionVectors::open(&dir.path().join("text"));
    assert!(text.is_empty() && text.nearest(&vector(1), 3).is_empty() && !text.needs_write());
    text.write(&dir.path().join("text")).unwrap();
    assert!(SectionVectors::open(&dir.path().join("text")).is_empty());
}

#[test]
fn damage_costs_one_skill_or_all_but_never_a_wrong_answer() {
    let (_dir, file) = stored(12);
    let whole = std::fs::read(&file).unwrap();
    let sound = filled(12);
    let message = vector(9);
    let (mut empty, mut partial) = (0, 0);
    for at in (0..whole.len()).step_by(97) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        std::fs::write(&file, &bytes).unwrap();
        let mut damaged = SectionVectors::open(&file);
        if damaged.is_empty() {
            empty += 1;
            continue;
        }
        let near = damaged.nearest(&message, 5);
        assert!(near.is_empty() || near == sound.nearest(&message, 5), "{at}");
        for digest in 0..12 {
            assert!(damaged.best(&message, digest).is_none_or(|found| Some(found) == sound.best(&message, digest)));
        }
        assert!(damaged.needs_write(), "{at}");
        for digest in damaged.missing(0..12) {
            partial += 1;
            damaged.insert(digest, sections_of(digest));
        }
        damaged.write(&file).unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), whole, "it is as before");
    }
    assert!(empty > 0 && partial > 0, "{empty} {partial}");
    for length in (0..whole.len()).step_by(531) {
        std::fs::write(&file, &whole[..length]).unwrap();
        assert!(SectionVectors::open(&file).is_empty(), "{length}");
    }
}

#[test]
fn two_writers_leave_a_whole_file() {
    let (_dir, file) = stored(5);
    std::thread::scope(|scope| {
        for writer in 0..4_u128 {
            let file = &file;
            scope.spawn(move || {
                for _ in 0..20 {
                    let mut all = SectionVectors::open(file);
                    assert!(all.len() >= 5, "never torn");
                    all.insert(100 + writer, vec![vector(1)]);
                    all.write(file).unwrap();
                }
            });
        }
    });
    assert!(SectionVectors::open(&file).missing(0..5).is_empty());
}

proptest! {
    /// Heads that an attacker has made, with a valid checksum.
    #[test]
    fn no_head_makes_a_reader_panic(head in prop::collection::vec(any::<u8>(), 0..120), rest in prop::collection::vec(any::<u8>(), 0..800), count in 0_u8..3) {
        let dir = tempfile::tempdir()?;
        let file = dir.path().join("vectors");
        let head = [&[count, 0, 0, 0][..], &head].concat();
        std::fs::write(&file, [FORMAT.seal(&head), rest].concat())?;
        let all = SectionVectors::open(&file);
        let _ = (all.nearest(&vector(1), 3), all.best(&vector(1), 0), all.len());
    }
}
