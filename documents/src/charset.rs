//! The encoding that a document names. A document that was read as UTF-8 is written as UTF-8, so it has to name no other.

use std::borrow::Cow;
use std::ops::Range;

/// Elements of HTML whose content has no tags.
const RAW: &[&str] = &["script", "style", "textarea", "title"];

/// XML that names no other encoding than UTF-8 in its declaration.
pub fn utf8_xml(source: &str) -> Cow<'_, str> {
    with_utf8(source, declared(source).into_iter().collect())
}

/// HTML or XHTML that names no other encoding than UTF-8, in a declaration or in a `meta`.
pub fn utf8_html(source: &str) -> Cow<'_, str> {
    let mut places: Vec<Range<usize>> = declared(source).into_iter().collect();
    for tag in metas(source) {
        let (names, _) = attributes(&source[tag.clone()]);
        let value = |name: &str| {
            let found = names.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
            found.map(|(_, value)| tag.start + value.start..tag.start + value.end)
        };
        let is_type = |value: Range<usize>| source[value].trim().eq_ignore_ascii_case("content-type");
        if let Some(place) = value("charset") {
            places.push(place);
        } else if value("http-equiv").is_some_and(is_type)
            && let Some(content) = value("content")
        {
            places.extend(in_content(source, content));
        }
    }
    with_utf8(source, places)
}

/// * `places`: of names of encodings, in order
fn with_utf8(source: &str, places: Vec<Range<usize>>) -> Cow<'_, str> {
    let is_other = |name: &str| {
        let name = name.trim();
        !name.is_empty() && !["utf-8", "utf8"].iter().any(|utf8| name.eq_ignore_ascii_case(utf8))
    };
    let mut written = String::new();
    let mut done = 0;
    for place in places.into_iter().filter(|place| is_other(&source[place.clone()])) {
        written += &source[done..place.start];
        written += "UTF-8";
        done = place.end;
    }
    match done {
        0 => Cow::Borrowed(source),
        _ => Cow::Owned(written + &source[done..]),
    }
}

/// The place of the encoding in a declaration of XML, which is at the beginning, but for byte-order marks.
fn declared(source: &str) -> Option<Range<usize>> {
    let inside = source.trim_start_matches('\u{feff}').strip_prefix("<?xml")?;
    let start = source.len() - inside.len();
    let (attributes, _) = attributes(inside.split_once("?>")?.0);
    let found = attributes.into_iter().find(|(name, _)| *name == "encoding");
    found.map(|(_, value)| start + value.start..start + value.end)
}

/// The place of the encoding in a media type such as `text/html; charset=utf-8`.
fn in_content(source: &str, content: Range<usize>) -> Option<Range<usize>> {
    const KEY: &str = "charset";
    let value = &source[content.clone()];
    let at = (0..value.len()).find(|&at| {
        value.as_bytes()[at..].get(..KEY.len()).is_some_and(|key| key.eq_ignore_ascii_case(KEY.as_bytes()))
    })?;
    let name = value[at + KEY.len()..].trim_start().strip_prefix('=')?.trim_start();
    let end = name.find(|c: char| c == ';' || c.is_whitespace()).unwrap_or(name.len());
    let start = content.end - name.len();
    Some(start..start + end)
}

/// The places of the tags `meta`, from behind the name to the end.
fn metas(source: &str) -> Vec<Range<usize>> {
    let mut metas = Vec::new();
    let mut at = 0;
    while let Some(start) = source[at..].find('<').map(|found| at + found) {
        let tag = &source[start..];
        at = start + 1;
        if let Some(comment) = tag.strip_prefix("<!--") {
            let Some(end) = comment.find("-->") else { break };
            at = source.len() - comment.len() + end;
        } else if is_tag(tag, "<", "body") {
            break;
        } else if is_tag(tag, "<", "meta") {
            let from = start + "<meta".len();
            at = from + attributes(&source[from..]).1;
            metas.push(from..at);
        } else if let Some(name) = RAW.iter().find(|name| is_tag(tag, "<", name)) {
            let mut ends = tag.match_indices("</").map(|(end, _)| end);
            let Some(end) = ends.find(|&end| is_tag(&tag[end..], "</", name)) else { break };
            at = start + end + 1;
        }
    }
    metas
}

/// Whether a text begins with the tag of this name; capitals do not matter.
fn is_tag(text: &str, start: &str, name: &str) -> bool {
    let Some(text) = text.strip_prefix(start) else { return false };
    let is_name = text.get(..name.len()).is_some_and(|own| own.eq_ignore_ascii_case(name));
    is_name && !text[name.len()..].starts_with(|c: char| c.is_ascii_alphanumeric() || "-_:.".contains(c))
}

/// Names of attributes with the places of their values, and the length of the tag up to its `>`.
fn attributes(tag: &str) -> (Vec<(&str, Range<usize>)>, usize) {
    let mut found = Vec::new();
    let mut at = 0;
    let next =
        |at: usize, is_end: &dyn Fn(char) -> bool| tag[at..].find(is_end).map_or(tag.len(), |end| at + end);
    loop {
        at = next(at, &|c| !(c.is_whitespace() || c == '/'));
        if at == tag.len() || tag[at..].starts_with('>') {
            return (found, at);
        }
        // a name has a character, whichever it is
        let first = tag[at..].chars().next().map_or(0, char::len_utf8);
        let end = next(at + first, &|c| c.is_whitespace() || "=>/".contains(c));
        let name = &tag[at..end];
        at = next(end, &|c| !c.is_whitespace());
        let mut value = end..end;
        if tag[at..].starts_with('=') {
            at = next(at + 1, &|c| !c.is_whitespace());
            value = match tag[at..].chars().next().filter(|c| "\"'".contains(*c)) {
                Some(quote) => at + 1..next(at + 1, &|c| c == quote),
                None => at..next(at, &|c| c.is_whitespace() || c == '>'),
            };
            let is_quoted = tag[..value.start].ends_with(['"', '\'']);
            at = (value.end + usize::from(is_quoted)).min(tag.len());
        }
        found.push((name, value));
    }
}

#[cfg(test)]
mod tests {
    use super::{utf8_html, utf8_xml};

    #[test]
    fn another_encoding_becomes_utf8() {
        for (html, want) in [
            ("<meta charset=\"iso-8859-1\">", "<meta charset=\"UTF-8\">"),
            ("<META name=a Charset = latin1>é", "<META name=a Charset = UTF-8>é"),
            ("<meta charset='' content=\"a\"/>", "<meta charset='' content=\"a\"/>"),
            ("<meta charset=Utf-8 />", "<meta charset=Utf-8 />"),
            (
                "<meta content='text/html; CharSet = windows-1252; a=b' http-equiv=Content-Type>",
                "<meta content='text/html; CharSet = UTF-8; a=b' http-equiv=Content-Type>",
            ),
            (
                "<meta content='charset=latin1' name=\"note\">",
                "<meta content='charset=latin1' name=\"note\">",
            ),
            (
                "<?xml version='1.0' encoding='us-ascii'?><meta charset=\"us-ascii\"/>",
                "<?xml version='1.0' encoding='UTF-8'?><meta charset=\"UTF-8\"/>",
            ),
            ("<metal charset=a><meta", "<metal charset=a><meta"),
            ("<meta charset=a", "<meta charset=UTF-8"),
            ("<meta charset=\"a", "<meta charset=\"UTF-8"),
            ("<meta =\"é\" = charset", "<meta =\"é\" = charset"),
        ] {
            assert_eq!(utf8_html(html), want);
        }
        let kept = "<!-- <meta charset=a> --><title><meta charset=b></title><script>'<meta charset=c>'</script><body><meta charset=d>";
        assert_eq!(utf8_html(kept), kept);
        let xml =
            "\u{feff}<?xml version=\"1.0\" encoding = \"ISO-8859-1\" standalone='yes'?><meta charset='a'/>";
        assert_eq!(utf8_xml(xml), xml.replace("ISO-8859-1", "UTF-8"));
        for kept in ["<?xml version='1.0'?>", "<?xml encoding='a'", "<a/>", " <?xml encoding='a'?>"] {
            assert_eq!(utf8_xml(kept), kept);
        }
    }
}
