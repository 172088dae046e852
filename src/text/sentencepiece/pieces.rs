//! The vocabulary of a SentencePiece model, indexed for encoding.

use std::collections::HashMap;

use super::proto::{Piece, PieceKind};
use super::trie::Trie;

/// The C++ library's limit, in bytes. It also bounds the work at each position of a text.
const MAX_PIECE_BYTES: usize = 8000;

/// All pieces of a model, in id order, with indices for look-up.
#[derive(Debug)]
pub(super) struct Pieces {
    pieces: Vec<Piece>,
    /// Pieces that can match text: normal, user-defined, unused.
    pub(super) trie: Trie,
    /// Pieces that never match text: unknown, control, byte.
    reserved: HashMap<String, u32>,
    pub(super) user_defined: Trie,
    pub(super) unknown: Option<u32>,
    /// Id of each byte's piece, if the model has byte fallback.
    bytes: Option<Box<[u32; 256]>>,
}

impl Pieces {
    pub(super) fn new(mut pieces: Vec<Piece>, byte_fallback: bool) -> Result<Self, String> {
        let mut unknown = None;
        let mut byte_ids = [None; 256];
        let mut reserved = HashMap::new();
        for (id, piece) in pieces.iter_mut().enumerate() {
            let id = id as u32;
            if byte_fallback && piece.text == "\0" {
                // some converters add it beside `<0x00>`; the library ignores it
                piece.kind = PieceKind::Unused;
                continue;
            }
            if piece.text.is_empty() || piece.text.contains('\0') {
                return Err(format!("piece {id} is empty or contains a NUL character"));
            }
            if piece.text.len() >= MAX_PIECE_BYTES {
                return Err(format!("piece {id} is longer than {MAX_PIECE_BYTES} bytes"));
            }
            match piece.kind {
                PieceKind::Normal | PieceKind::UserDefined | PieceKind::Unused => continue,
                PieceKind::Unknown if unknown.is_some() => return Err("two unknown pieces".into()),
                PieceKind::Unknown => unknown = Some(id),
                PieceKind::Byte if !byte_fallback => {
                    return Err(format!("byte piece `{}` without byte_fallback", piece.text));
                }
                PieceKind::Byte => {
                    let byte =
                        byte_of(&piece.text).ok_or_else(|| format!("invalid byte piece `{}`", piece.text))?;
                    byte_ids[usize::from(byte)] = Some(id);
                }
                PieceKind::Control => {}
            }
            if reserved.insert(piece.text.clone(), id).is_some() {
                return Err(format!("piece `{}` occurs twice", piece.text));
            }
        }

        let bytes = if byte_fallback {
            let ids: Option<Vec<u32>> = byte_ids.into_iter().collect();
            let ids = ids.ok_or("byte_fallback is set, but not every byte has a piece")?;
            Some(ids.try_into().expect("256 ids from 256 ids"))
        } else if unknown.is_none() {
            return Err("no unknown piece: not a SentencePiece model, or cut short".into());
        } else {
            None
        };
        let trie = Trie::new(
            with_ids(&pieces).filter(|(_, piece)| is_ordinary(piece)).map(|(id, piece)| (&*piece.text, id)),
        );
        for (id, piece) in with_ids(&pieces).filter(|(_, piece)| is_ordinary(piece)) {
            if trie.get(&piece.text) != Some(id) {
                return Err(format!("piece `{}` occurs twice", piece.text));
            }
        }
        let user_defined = with_ids(&pieces).filter(|(_, piece)| piece.kind == PieceKind::UserDefined);
        let user_defined = Trie::new(user_defined.map(|(id, piece)| (&*piece.text, id)));
        Ok(Self { pieces, trie, reserved, user_defined, unknown, bytes })
    }

    pub(super) fn len(&self) -> usize {
        self.pieces.len()
    }

    pub(super) fn get(&self, id: u32) -> Option<&Piece> {
        self.pieces.get(id as usize)
    }

    pub(super) fn id(&self, text: &str) -> Option<u32> {
        self.reserved.get(text).copied().or_else(|| self.trie.get(text)).or(self.unknown)
    }

    pub(super) fn byte_ids(&self) -> Option<&[u32; 256]> {
        self.bytes.as_deref()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Piece> {
        self.pieces.iter()
    }
}

impl std::ops::Index<u32> for Pieces {
    type Output = Piece;

    fn index(&self, id: u32) -> &Piece {
        &self.pieces[id as usize]
    }
}

/// The byte that a piece such as `<0x1F>` stands for.
pub(crate) fn byte_of(piece: &str) -> Option<u8> {
    let digits = piece.strip_prefix("<0x")?.strip_suffix('>')?;
    let uppercase = digits.len() == 2 && digits.bytes().all(|d| matches!(d, b'0'..=b'9' | b'A'..=b'F'));
    uppercase.then(|| u8::from_str_radix(digits, 16).ok())?
}

fn with_ids(pieces: &[Piece]) -> impl Iterator<Item = (u32, &Piece)> {
    (0..).zip(pieces)
}

fn is_ordinary(piece: &Piece) -> bool {
    matches!(piece.kind, PieceKind::Normal | PieceKind::UserDefined | PieceKind::Unused) && piece.text != "\0"
}
