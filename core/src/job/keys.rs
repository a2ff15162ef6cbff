//! The documented keys of a record, and their places in it.

/// The keys that a record always has, `null` where the service left them out.
pub(crate) const RECORD_KEYS: [&str; 7] = ["id", "status", "source", "model", "prLink", "createdAt", "archivedAt"];
/// The keys that the record's `source` always has.
pub(crate) const SOURCE_KEYS: [&str; 2] = ["repository", "ref"];

/// A documented key, in the order of [`RECORD_KEYS`].
#[derive(Clone, Copy)]
pub(crate) enum Key {
    Id,
    Status,
    Source,
    Model,
    PrLink,
    CreatedAt,
    ArchivedAt,
}

impl Key {
    pub(crate) fn name(self) -> &'static str {
        RECORD_KEYS[self as usize]
    }

    /// The place of a key that is written without escapes. A `match` is faster than a search of the table.
    pub(crate) fn place(key: &str) -> Option<usize> {
        Some(match key {
            "id" => Key::Id as usize,
            "status" => Key::Status as usize,
            "source" => Key::Source as usize,
            "model" => Key::Model as usize,
            "prLink" => Key::PrLink as usize,
            "createdAt" => Key::CreatedAt as usize,
            "archivedAt" => Key::ArchivedAt as usize,
            _ => return None,
        })
    }
}

/// A documented key of `source`, in the order of [`SOURCE_KEYS`].
#[derive(Clone, Copy)]
pub(crate) enum SourceKey {
    Repository,
    Ref,
}

impl SourceKey {
    /// The place of a key that is written without escapes.
    pub(crate) fn place(key: &str) -> Option<usize> {
        Some(match key {
            "repository" => SourceKey::Repository as usize,
            "ref" => SourceKey::Ref as usize,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_its_place_in_the_tables_and_other_keys_have_none() {
        for (place, key) in RECORD_KEYS.iter().enumerate() {
            assert_eq!(Key::place(key), Some(place), "{key}");
        }
        for (place, key) in SOURCE_KEYS.iter().enumerate() {
            assert_eq!(SourceKey::place(key), Some(place), "{key}");
        }
        for key in ["", "i", "Id", "ids", "prlink", "ref ", "archivedA"] {
            assert_eq!((Key::place(key), SourceKey::place(key)), (None, None), "{key}");
        }
    }
}
