//! Finds the fields of a line of the journal.
//!
//! By hand and not with serde: a line's checksum proves that we wrote it, so its fields need only be found and not checked again. SERDEWHY

use std::borrow::Cow;

/// The fields of an object, each with its JSON.
pub(crate) struct Fields<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Fields<'a> {
    /// The fields of an object that [`LineWriter`](crate::batch::journal::encode::LineWriter) wrote; none of another text.
    pub(crate) fn of(object: &'a str) -> Option<Fields<'a>> {
        let mut rest = object.strip_prefix('{')?.strip_suffix('}')?;
        let mut found = Vec::with_capacity(12);
        loop {
            let (name, value) = rest.strip_prefix('"')?.split_once("\":")?;
            let end = value_end(value);
            found.push((name, &value[..end]));
            match value.as_bytes().get(end) {
                Some(_) => rest = &value[end + 1..],
                None => return Some(Fields(found)),
            }
        }
    }

    pub(crate) fn json(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, json)| *json)
    }

    pub(crate) fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        let json = self.json(name)?;
        match json.contains('\\') {
            true => serde_json::from_str(json).ok().map(Cow::Owned),
            false => Some(Cow::Borrowed(json.strip_prefix('"')?.strip_suffix('"')?)),
        }
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.json(name)?.parse().ok()
    }
}

/// Where a value ends: at a comma outside its texts, objects and lists, or with the text.
fn value_end(text: &str) -> usize {
    let (mut depth, mut in_text, mut escaped) = (0_u32, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => return at,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_whatever_is_in_it() {
        let object = r#"{"a":"x,\"}{","b":{"c":[1,{"d":"],}"}],"e":"\\"},"f":17,"g":null}"#;
        let fields = Fields::of(object).unwrap();
        assert_eq!(fields.text("a").as_deref(), Some("x,\"}{"));
        assert_eq!(fields.json("b"), Some(r#"{"c":[1,{"d":"],}"}],"e":"\\"}"#));
        assert_eq!((fields.number("f"), fields.json("g"), fields.json("c")), (Some(17), Some("null"), None));
        for wrong in ["", "{}", "[]", r#"{"a"}"#, r#"{"a":1,}"#, r#"{a:1}"#, r#"{"a":1"#] {
            assert!(Fields::of(wrong).is_none(), "{wrong}");
        }
    }
}
