//! Places that the clients of all views share: those of one view cannot take all of them.

use std::sync::{Arc, Mutex};

use skillcue_base::lock;

/// A number of places, and how many of them each view has taken.
#[derive(Debug)]
pub(super) struct SharedPlaces {
    max: usize,
    taken: Mutex<Vec<usize>>,
}

impl SharedPlaces {
    pub(super) fn new(max: usize, views: usize) -> Arc<SharedPlaces> {
        Arc::new(SharedPlaces { max, taken: Mutex::new(vec![0; views]) })
    }

    /// Returns how many places there are for all views together.
    pub(super) fn max(&self) -> usize {
        self.max
    }

    /// Takes places for a view, if it may have so many more.
    pub(super) fn take(self: &Arc<Self>, view: usize, count: usize) -> Option<TakenPlaces> {
        let mut taken = lock(&self.taken);
        if !has_room(&taken, view, count, self.max) {
            return None;
        }
        *taken.get_mut(view)? += count;
        drop(taken);
        Some(TakenPlaces { places: Arc::clone(self), view, count })
    }

    /// Like [`take`](Self::take), for places that are also taken elsewhere: `taken` counts them by view.
    pub(super) fn take_beside(self: &Arc<Self>, view: usize, count: usize, taken: &[usize]) -> Option<TakenPlaces> {
        if !has_room(taken, view, count, self.max) {
            return None;
        }
        *lock(&self.taken).get_mut(view)? += count;
        Some(TakenPlaces { places: Arc::clone(self), view, count })
    }

    /// Returns how many places each view has taken.
    pub(super) fn taken(&self) -> Vec<usize> {
        lock(&self.taken).clone()
    }
}

/// Places of a view, until they are dropped.
#[derive(Debug)]
pub(super) struct TakenPlaces {
    places: Arc<SharedPlaces>,
    view: usize,
    count: usize,
}

impl Drop for TakenPlaces {
    fn drop(&mut self) {
        if let Some(taken) = lock(&self.places.taken).get_mut(self.view) {
            *taken -= self.count;
        }
    }
}

/// Returns whether a view may take `count` more of `max` places. Half of the places are divided among all views, and each
/// view's part is kept for it while it does not use it: the others cannot take everything.
fn has_room(taken: &[usize], view: usize, count: usize, max: usize) -> bool {
    let kept = max / (2 * taken.len().max(1));
    let used = taken.iter().enumerate().map(|(at, taken)| if at == view { *taken } else { (*taken).max(kept) });
    used.fold(count, usize::saturating_add) <= max
}

#[cfg(test)]
mod tests {
    use super::SharedPlaces;

    #[test]
    fn one_view_takes_all_places_if_there_is_no_other() {
        let places = SharedPlaces::new(3, 1);
        let taken: Vec<_> = (0..3).map(|_| places.take(0, 1).unwrap()).collect();
        assert!(places.take(0, 1).is_none());
        drop(taken);
        assert!(places.take(0, 4).is_none() && places.take(0, 3).is_some());
    }

    #[test]
    fn each_view_has_a_part_that_the_others_cannot_take() {
        let places = SharedPlaces::new(16, 4);
        let mut taken = Vec::new();
        for view in [0, 1] {
            while let Some(place) = places.take(view, 1) {
                taken.push(place);
            }
        }
        assert_eq!(places.taken(), [10, 2, 0, 0], "2 of 16 are kept for each view");
        for view in [2, 3] {
            taken.extend([places.take(view, 1).unwrap(), places.take(view, 1).unwrap()]);
            assert!(places.take(view, 1).is_none());
        }
        // A place that is given back is for any view.
        drop(taken.swap_remove(0));
        assert!(places.take(3, 1).is_some());
    }

    #[test]
    fn places_that_are_counted_elsewhere_count() {
        let places = SharedPlaces::new(2, 1);
        assert!(places.take_beside(0, 1, &[2]).is_none());
        let taken = places.take_beside(0, 1, &[1]);
        assert_eq!((taken.is_some(), places.taken()), (true, vec![1]));
    }
}
