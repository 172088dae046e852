//! Loaded models, within a budget of memory.

/// Values with keys, the last used one at the end.
pub struct Residents<Key, Value> {
    entries: Vec<Entry<Key, Value>>,
    /// Bytes that may stay.
    budget: u64,
}

struct Entry<Key, Value> {
    key: Key,
    value: Value,
    bytes: u64,
}

impl<Key: PartialEq, Value> Residents<Key, Value> {
    pub fn new(budget: u64) -> Self {
        Self { entries: Vec::new(), budget }
    }

    pub fn get(&self, key: &Key) -> Option<&Value> {
        self.entries.iter().find(|entry| entry.key == *key).map(|entry| &entry.value)
    }

    pub fn get_mut(&mut self, key: &Key) -> Option<&mut Value> {
        self.entries.iter_mut().find(|entry| entry.key == *key).map(|entry| &mut entry.value)
    }

    /// Adds a value, or replaces it.
    pub fn put(&mut self, key: Key, value: Value, bytes: u64) {
        self.entries.retain(|entry| entry.key != key);
        self.entries.push(Entry { key, value, bytes });
    }

    /// Makes `needed` the last used ones, and drops others, the least recently used first, until the budget holds.
    pub fn keep(&mut self, needed: &[&Key]) {
        let is_needed = |entry: &Entry<Key, Value>| needed.contains(&&entry.key);
        let (last, mut others): (Vec<_>, Vec<_>) = self.entries.drain(..).partition(is_needed);
        let mut bytes: u64 = last.iter().chain(&others).map(|entry| entry.bytes).sum();
        while bytes > self.budget && !others.is_empty() {
            bytes -= others.remove(0).bytes;
        }
        others.extend(last);
        self.entries = others;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there(residents: &Residents<u8, ()>) -> Vec<u8> {
        residents.entries.iter().map(|entry| entry.key).collect()
    }

    #[test]
    fn the_least_recently_used_ones_go_and_the_needed_ones_stay() {
        let mut residents = Residents::new(10);
        for key in 0..4 {
            residents.put(key, (), 4);
            residents.keep(&[&key]);
        }
        assert_eq!(there(&residents), [2, 3], "two of four bytes fit into ten");
        residents.keep(&[&2]);
        residents.put(4, (), 4);
        residents.keep(&[&4]);
        assert_eq!(there(&residents), [2, 4], "2 was used later than 3");
        residents.put(5, (), 20);
        residents.keep(&[&4, &5]);
        assert_eq!(there(&residents), [4, 5], "both are needed at once, whatever they take");
        residents.keep(&[&4]);
        assert_eq!(there(&residents), [4], "now the large one goes");
        residents.put(4, (), 1);
        assert!(there(&residents) == [4] && residents.get(&4).is_some() && residents.get_mut(&5).is_none());
    }
}
