//! Limits of requests: their number in a minute, and the texts that are under way.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Number of clients from which on those that are idle are forgotten.
const MOST_CLIENTS: usize = 10_000;

/// Requests of each client in a minute: a bucket that refills evenly.
#[derive(Default)]
pub struct Rate(Mutex<HashMap<String, Bucket>>);

struct Bucket {
    used: f64,
    at: Instant,
}

impl Rate {
    /// Counts a request that costs as much as `cost` requests. If the client has none left, returns the seconds until it has; a
    /// request that costs more than a minute's is let through by a full bucket.
    pub fn spend(&self, client: &str, cost: usize, per_minute: u64, now: Instant) -> Result<(), u64> {
        let per_minute = per_minute as f64;
        let refilled = |bucket: &Bucket| {
            (bucket.used - now.saturating_duration_since(bucket.at).as_secs_f64() * per_minute / 60.0)
                .max(0.0)
        };
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MOST_CLIENTS {
            buckets.retain(|_, bucket| refilled(bucket) > 0.0);
        }
        let bucket = buckets.entry(client.to_owned()).or_insert(Bucket { used: 0.0, at: now });
        (bucket.used, bucket.at) = (refilled(bucket), now);
        let after = bucket.used + cost as f64;
        let over = after - per_minute;
        if over > 1e-6 && bucket.used > 0.0 {
            let needed = over.min(bucket.used);
            return Err((needed * 60.0 / per_minute.max(1e-9)).ceil().clamp(1.0, 3600.0) as u64);
        }
        bucket.used = after;
        Ok(())
    }
}

/// The texts that wait or are translated.
#[derive(Default)]
pub struct UnderWay(Arc<AtomicUsize>);

/// Room for the texts of one request.
pub struct Room {
    texts: usize,
    under_way: Arc<AtomicUsize>,
}

impl UnderWay {
    /// Takes room for texts. `None` if there is none; a request alone always has room.
    pub fn enter(&self, texts: usize, most: usize) -> Option<Room> {
        let add = |before: usize| (before == 0 || before + texts <= most).then_some(before + texts);
        self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, add).ok()?;
        Some(Room { texts, under_way: self.0.clone() })
    }

    pub fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.under_way.fetch_sub(self.texts, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_minute_has_so_many_requests() {
        let (rate, start) = (Rate::default(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        for _ in 0..30 {
            assert_eq!(rate.spend("a", 2, 60, start), Ok(()));
        }
        assert_eq!(rate.spend("a", 2, 60, start), Err(2));
        assert_eq!(rate.spend("b", 1, 60, start), Ok(()), "another client");
        assert_eq!(rate.spend("a", 2, 60, after(2)), Ok(()));
        assert_eq!(rate.spend("a", 1, 60, after(2)), Err(1));
        assert_eq!(rate.spend("a", 500, 60, after(200)), Ok(()), "it had none in the minute before");
        assert_eq!(rate.spend("a", 1, 60, after(201)), Err(440));
    }

    #[test]
    fn clients_of_long_ago_are_forgotten() {
        let (rate, start) = (Rate::default(), Instant::now());
        for client in 0..MOST_CLIENTS {
            assert_eq!(rate.spend(&client.to_string(), 1, 60, start), Ok(()));
        }
        assert_eq!(rate.spend("new", 1, 60, start + Duration::from_secs(9)), Ok(()));
        assert_eq!(rate.0.lock().unwrap().len(), 1);
    }

    #[test]
    fn the_queue_is_bounded() {
        let under_way = UnderWay::default();
        let large = under_way.enter(100, 10).expect("alone");
        assert!(under_way.enter(1, 10).is_none());
        drop(large);
        let two = [under_way.enter(5, 10), under_way.enter(5, 10)];
        assert!(two.iter().all(Option::is_some) && under_way.enter(1, 10).is_none());
        drop(two);
        assert_eq!(under_way.count(), 0);
    }
}
