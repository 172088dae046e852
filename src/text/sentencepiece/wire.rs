//! The wire format of Protocol Buffers, as far as a `.spm` file uses it.
//!
//! A protobuf crate would add a derive macro, a buffer library and generated types, for a dozen fields.
//! See <https://protobuf.dev/programming-guides/encoding/>.

/// One field's value, not yet interpreted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'a> {
    Varint(u64),
    Fixed32(u32),
    Fixed64,
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    pub(super) fn integer(self) -> Result<u64, String> {
        match self {
            Self::Varint(integer) => Ok(integer),
            _ => Err("an integer field holds something else".into()),
        }
    }

    pub(super) fn float(self) -> Result<f32, String> {
        match self {
            Self::Fixed32(bits) => Ok(f32::from_bits(bits)),
            _ => Err("a float field holds something else".into()),
        }
    }

    pub(super) fn bytes(self) -> Result<&'a [u8], String> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            _ => Err("a string or message field holds something else".into()),
        }
    }

    pub(super) fn text(self) -> Result<&'a str, String> {
        std::str::from_utf8(self.bytes()?).map_err(|_| "a string field is not UTF-8".into())
    }
}

/// The fields of one message, in file order: `(field number, value)`. Ends after the first error.
#[derive(Clone, Debug)]
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn of(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    fn varint(&mut self) -> Option<u64> {
        let mut integer = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            integer |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(integer);
            }
        }
        None
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*head)
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.varint()?).ok()?;
        let (head, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(head)
    }

    fn field(&mut self) -> Option<(u64, Value<'a>)> {
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => Value::Varint(self.varint()?),
            1 => self.array::<8>().map(|_| Value::Fixed64)?,
            2 => Value::Bytes(self.bytes()?),
            5 => Value::Fixed32(u32::from_le_bytes(self.array()?)),
            _ => return None, // groups, long deprecated, and the two unassigned types
        };
        Some((tag >> 3, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Value<'a>), String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field().ok_or_else(|| "not a SentencePiece model, or cut short".to_owned());
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}
