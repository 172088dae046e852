//! Texts in, texts out, through one model or two.

use std::sync::Arc;

use axum::http::StatusCode;
use serde_json::{Value, json};
use wordloom::decode::MAX_BEAMS;
use wordloom::model::generation_config::GenerationConfig;
use wordloom::translate::{Quality, Sentence};
use wordloom::{TranslateOptions, Translation};
use wordloom_documents::{
    Document, DocumentError, Format, Links, Options, Translated as UnitTranslation, chained, links,
    text_of_html,
};
use wordloom_hub::{Language, Route, Step};

use super::super::super::choice::codes;
use super::super::engine::{Lease, blocking};
use super::super::glossaries::Served;
use super::access::Client;
use super::detection::{SAMPLE, detected, detected_each};
use super::error::ApiError;
use super::{Api, detection};

/// Texts to translate.
pub struct Ask {
    pub texts: Vec<String>,
    /// `None`: detected.
    pub source: Option<Language>,
    /// Whether the language of each text is detected, and not that of all together.
    pub apart: bool,
    pub target: Language,
    /// How the texts are marked up. Marked up ones have no alternatives.
    pub markup: Option<(Format, Options)>,
    pub wishes: Wishes,
}

/// What a request asks of its translations.
#[derive(Clone, Default)]
pub struct Wishes {
    /// Number of other translations of each text.
    pub alternatives: usize,
    /// Terms that every translation has.
    pub glossary: Option<Arc<Served>>,
    /// Whether the answer says how far each sentence can be trusted.
    pub quality: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Translated {
    pub text: String,
    /// Other translations, best first.
    pub alternatives: Vec<String>,
    /// How far it can be trusted, if that was asked.
    pub quality: Option<Value>,
}

pub struct Answered {
    pub translations: Vec<Translated>,
    /// The language of each text, if it was detected; else none.
    pub detected: Vec<detection::Answer>,
}

/// Reads a language as clients write it; `pb` and `zt` are LibreTranslate's own codes.
pub fn language(code: &str) -> Result<Language, ApiError> {
    let code = match code.to_lowercase().as_str() {
        "pb" => "pt-BR".to_owned(),
        "zt" => "zh-Hant".to_owned(),
        _ => code.to_owned(),
    };
    code.parse().map_err(|_| not_supported(&code))
}

/// Characters of what is translated of a document.
pub fn characters(document: &Document) -> usize {
    document.units().iter().map(|unit| unit.text().chars().count()).sum()
}

fn exceeds(size: usize, limit: usize) -> ApiError {
    ApiError::bad(format!("Invalid request: request ({size}) exceeds text limit ({limit})"))
}

/// Texts of a document from which its language is detected.
const DETECTED: usize = 200;

/// Characters of HTML from which its language is detected: tags are most of some pages.
const DETECTED_MARKUP: usize = 1 << 16;

/// The beginnings of texts, from which their languages are detected: of each as many characters as that needs, or of all together.
fn beginnings(texts: &[String], apart: bool) -> Vec<String> {
    let each = (DETECTED_MARKUP / texts.len().max(1)).max(SAMPLE);
    let mut left = DETECTED_MARKUP;
    let beginning = |text: &String| {
        let beginning: String = text.chars().take(if apart { each } else { left }).collect();
        left = left.saturating_sub(beginning.chars().count());
        beginning
    };
    texts.iter().map(beginning).collect()
}

/// The places of the texts in each language. Those without a letter are in none.
fn by_language(detected: &[detection::Answer]) -> Vec<(&Language, Vec<usize>)> {
    let mut groups: Vec<(&Language, Vec<usize>)> = Vec::new();
    for (place, found) in detected.iter().enumerate().filter(|(_, found)| !found.is_of_nothing()) {
        match groups.iter_mut().find(|(language, _)| **language == found.language) {
            Some((_, places)) => places.push(place),
            None => groups.push((&found.language, vec![place])),
        }
    }
    groups
}

fn not_supported(code: &str) -> ApiError {
    // a code is short: anything else is not repeated
    let code: String = code.chars().filter(|letter| !letter.is_control()).take(20).collect();
    ApiError::bad(format!("{code} is not supported"))
}

impl Api {
    /// Checks the limits, waits for room and translates.
    pub async fn translate(&self, client: &Client, ask: Ask) -> Result<Answered, ApiError> {
        let count = ask.texts.len();
        if let Some(limit) = self.limits.texts.filter(|&limit| count > limit) {
            return Err(exceeds(count, limit));
        }
        if let Some(limit) = client.characters {
            let longest = ask.texts.iter().map(|text| text.chars().count()).max().unwrap_or(0);
            if longest > limit {
                return Err(exceeds(longest, limit));
            }
        }
        if ask.wishes.alternatives >= MAX_BEAMS {
            let most = MAX_BEAMS - 1;
            return Err(ApiError::bad(format!("Invalid request: alternatives parameter must be <= {most}")));
        }
        self.spend(client, count)?;
        let most = self.limits.queue;
        let room = self.under_way.enter(count, most);
        let _room = room.ok_or_else(|| {
            ApiError::slow_down(format!("{most} texts are waiting already; try again later"), 2)
        })?;
        let answered = self.in_time(self.translate_now(client, ask)).await?;
        let characters = answered.translations.iter().map(|translated| translated.text.len()).sum();
        self.metrics.translated(count, characters);
        Ok(answered)
    }

    async fn translate_now(&self, client: &Client, ask: Ask) -> Result<Answered, ApiError> {
        let detected = match ask.source {
            Some(_) => Vec::new(),
            None => self.detected(&ask).await?,
        };
        let groups = match &ask.source {
            Some(source) => vec![(source, (0..ask.texts.len()).collect())],
            None => by_language(&detected),
        };
        let mut translations: Vec<Translated> = ask.texts.iter().cloned().map(Translated::of).collect();
        for (source, places) in groups {
            let texts = places.iter().map(|&place| ask.texts[place].clone()).collect();
            let made = self.of_language(client, source, texts, &ask).await?;
            for (place, made) in places.into_iter().zip(made) {
                translations[place] = made;
            }
        }
        Ok(Answered { translations, detected })
    }

    /// The language of each text.
    async fn detected(&self, ask: &Ask) -> Result<Vec<detection::Answer>, ApiError> {
        let (beginnings, apart) = (beginnings(&ask.texts, ask.apart), ask.apart);
        let (pool, target, marked_up) = (self.pool.clone(), ask.target.clone(), ask.markup.is_some());
        let detect = move || {
            let read = |text: String| if marked_up { text_of_html(&text) } else { text };
            let texts: Vec<String> = beginnings.into_iter().map(read).collect();
            match apart {
                true => detected_each(&texts, &pool, &target),
                false => vec![detected(&texts, &pool, Some(&target)); texts.len()],
            }
        };
        Ok(blocking(detect).await?)
    }

    /// Translates texts of one language as others are asked for.
    async fn of_language(
        &self,
        client: &Client,
        source: &Language,
        texts: Vec<String>,
        Ask { target, markup, wishes, .. }: &Ask,
    ) -> Result<Vec<Translated>, ApiError> {
        let as_it_is = |text: &String| Translated::of(text.clone());
        let pair = [source, target];
        let Some(route) = self.route(pair)? else {
            return Ok(texts.iter().map(as_it_is).collect());
        };
        check(wishes, &route, pair)?;
        if let Some(markup) = markup {
            if wishes.quality {
                return Err(ApiError::bad("Invalid request: quality is for texts, not for HTML"));
            }
            return self.marked_up(client, &route, pair, (texts, markup.clone(), wishes)).await;
        }
        // emoji and numbers alone come back as they are
        let memory =
            self.memory.as_ref().and_then(|memory| Some((memory.least, memory.pair(source, target)?)));
        let known = |text: &String| {
            let (least, pair) = memory.as_ref()?;
            let found = pair.find(text, *least)?;
            let quality = wishes.quality.then(|| json!({ "origin": "memory", "score": found.score }));
            Some(Translated { quality, ..Translated::of(found.target.to_owned()) })
        };
        let known: Vec<Option<Translated>> = texts.iter().map(known).collect();
        let has_words = |text: &str| text.chars().any(char::is_alphabetic);
        let unknown = texts.iter().zip(&known).filter(|(text, known)| known.is_none() && has_words(text));
        let words: Arc<Vec<String>> = Arc::new(unknown.map(|(text, _)| text.clone()).collect());
        let mut translated = match words.is_empty() {
            true => Vec::new(),
            false => self.along(client, &route, pair, (words, wishes)).await?,
        }
        .into_iter();
        let translations = texts.iter().zip(known).map(|(text, known)| match known {
            Some(known) => known,
            None if has_words(text) => translated.next().unwrap_or_else(|| as_it_is(text)),
            None => as_it_is(text),
        });
        Ok(translations.collect())
    }

    /// The models from a language to another. `None` if the text stays as it is: it is in the target's language.
    fn route(&self, [source, target]: [&Language; 2]) -> Result<Option<Route>, ApiError> {
        let [readable, writable] = self.pool.languages();
        let known = |list: &[Language], wanted: &Language| list.iter().any(|known| known.fits(wanted));
        for wanted in [source, target] {
            if !known(&readable, wanted) && !known(&writable, wanted) {
                return Err(not_supported(&wanted.to_string()));
            }
        }
        if source.fits(target) {
            return Ok(None);
        }
        let route = self.pool.route(source, target);
        route.map(Some).ok_or_else(|| {
            ApiError::bad(format!(
                "{} ({target}) is not available as a target language from {} ({source})",
                target.name(),
                source.name()
            ))
        })
    }

    /// Checks whether a client may have a document translated, and counts it.
    pub fn admit(&self, client: &Client, document: &Document) -> Result<(), ApiError> {
        let size = characters(document);
        if let Some(limit) = client.characters.filter(|&limit| size > limit) {
            return Err(exceeds(size, limit));
        }
        self.spend(client, 1)
    }

    /// Translates a document that was admitted. `None` if it stays as it is.
    pub async fn translate_document(
        &self,
        client: &Client,
        document: Document,
        (source, target): (Option<Language>, Language),
        wishes: &Wishes,
    ) -> Result<Option<Vec<u8>>, ApiError> {
        let size = characters(&document);
        let found = source.is_none().then(|| {
            let texts: Vec<String> =
                document.units().iter().take(DETECTED).map(|unit| unit.text().to_owned()).collect();
            detected(&texts, &self.pool, Some(&target))
        });
        let source = source.or(found.filter(|found| !found.is_of_nothing()).map(|found| found.language));
        let mut written = None;
        if let Some(source) = &source {
            let pair = [source, &target];
            if let Some(route) = self.route(pair)? {
                written = self.documents(client, &route, pair, (vec![document], wishes)).await?.pop();
            }
        }
        self.metrics.translated(1, size);
        Ok(written)
    }

    /// Waits for work as long as a request may take.
    pub async fn in_time<T>(&self, work: impl Future<Output = Result<T, ApiError>>) -> Result<T, ApiError> {
        tokio::time::timeout(self.limits.time, work).await.map_err(|_| {
            let seconds = self.limits.time.as_secs_f32();
            let message = format!("Cannot translate text: it took more than {seconds} seconds");
            ApiError { retry_after: Some(5), ..ApiError::new(StatusCode::SERVICE_UNAVAILABLE, message) }
        })?
    }

    async fn along(
        &self,
        client: &Client,
        route: &Route,
        [source, target]: [&Language; 2],
        (texts, wishes): (Arc<Vec<String>>, &Wishes),
    ) -> Result<Vec<Translated>, ApiError> {
        let (last, from, texts) = match route {
            Route::Direct(step) => (step, source.clone(), texts),
            Route::Pivot { first, through, second } => {
                let between =
                    self.step(client, first, [source, through], (texts, &Wishes::default())).await?;
                let between = between.into_iter().map(|translation| translation.text).collect();
                (second, through.clone(), Arc::new(between))
            }
        };
        let translations = self.step(client, last, [&from, target], (texts, wishes)).await?;
        let quality = |translation: &Translation| wishes.quality.then(|| quality(translation));
        let all = translations.into_iter();
        Ok(all.map(|found| Translated { quality: quality(&found), ..distinct(found) }).collect())
    }

    async fn step(
        &self,
        client: &Client,
        step: &Step,
        [from, to]: [&Language; 2],
        (texts, wishes): (Arc<Vec<String>>, &Wishes),
    ) -> Result<Vec<Translation>, ApiError> {
        let lease = self.pool.lease(step.model).await?;
        let options = options(&lease, [from, to], wishes).await?;
        if wishes.quality {
            return Ok(lease.translate_aligned(texts, options).await?); // coverage needs attention
        }
        Ok(lease.translate(&client.name, texts, options).await?)
    }

    /// Translates HTML or XML.
    async fn marked_up(
        &self,
        client: &Client,
        route: &Route,
        pair: [&Language; 2],
        (texts, (format, options), wishes): (Vec<String>, (Format, Options), &Wishes),
    ) -> Result<Vec<Translated>, ApiError> {
        let read = move |text: String| Document::read(text.into_bytes(), format, &options);
        let read = move || texts.into_iter().map(read).collect::<Result<Vec<_>, _>>();
        let documents = blocking(read).await?.map_err(|error| wrong(&error))?;
        let written = self.documents(client, route, pair, (documents, wishes)).await?;
        let text = |document: Vec<u8>| Translated::of(String::from_utf8_lossy(&document).into_owned());
        Ok(written.into_iter().map(text).collect())
    }

    /// Translates documents: texts without tags with those of other clients, the others with their alignments.
    async fn documents(
        &self,
        client: &Client,
        route: &Route,
        pair: [&Language; 2],
        (documents, wishes): (Vec<Document>, &Wishes),
    ) -> Result<Vec<Vec<u8>>, ApiError> {
        let units = || documents.iter().flat_map(Document::units);
        let of = |tags: bool| {
            let texts = units().filter(|unit| unit.needs_links() == tags).map(|unit| unit.text().to_owned());
            Arc::new(texts.collect::<Vec<String>>())
        };
        let [plain, tagged] = [of(false), of(true)];
        let wishes = &Wishes { alternatives: 0, ..wishes.clone() };
        let mut of_plain = Vec::new();
        if !plain.is_empty() {
            of_plain = self.along(client, route, pair, (plain, wishes)).await?;
        }
        let of_tagged = self.aligned(route, pair, (tagged, wishes)).await?;
        let (mut of_plain, mut of_tagged) = (of_plain.into_iter(), of_tagged.into_iter());
        let next = |tags: bool| match tags {
            true => of_tagged.next().map(|(text, links)| UnitTranslation { text, links }),
            false => of_plain.next().map(|found| UnitTranslation { text: found.text, links: Links::new() }),
        };
        let all: Vec<UnitTranslation> =
            units().map(|unit| unit.needs_links()).map(next).map(Option::unwrap_or_default).collect();
        let write = move || {
            let mut all = &all[..];
            let write = |document: &Document| {
                let (own, rest) = all.split_at(document.units().len());
                all = rest;
                document.write(own)
            };
            documents.iter().map(write).collect::<Result<Vec<_>, _>>()
        };
        blocking(write).await?.map_err(|error| wrong(&error))
    }

    /// Translations with the links between the words of each text and of its translation.
    async fn aligned(
        &self,
        route: &Route,
        [source, target]: [&Language; 2],
        (mut texts, wishes): (Arc<Vec<String>>, &Wishes),
    ) -> Result<Vec<(String, Links)>, ApiError> {
        let mut linked: Vec<Option<Links>> = vec![None; texts.len()];
        let steps: Vec<(&Step, [&Language; 2])> = match route {
            _ if texts.is_empty() => Vec::new(),
            Route::Direct(step) => vec![(step, [source, target])],
            Route::Pivot { first, through, second } => {
                vec![(first, [source, through]), (second, [through, target])]
            }
        };
        for (step, pair) in steps {
            let lease = self.pool.lease(step.model).await?;
            let options = options(&lease, pair, wishes).await?;
            let translations = lease.translate_aligned(texts.clone(), options).await?;
            for ((text, translation), linked) in texts.iter().zip(&translations).zip(&mut linked) {
                let own = links(text, translation);
                *linked = Some(match linked.take() {
                    None => own,
                    Some(before) => chained(&before, &own),
                });
            }
            texts = Arc::new(translations.into_iter().map(|translation| translation.text).collect());
        }
        Ok(texts.iter().cloned().zip(linked.into_iter().map(Option::unwrap_or_default)).collect())
    }
}

fn wrong(error: &DocumentError) -> ApiError {
    ApiError::bad(format!("Invalid request: {error}"))
}

/// Checks that one model can do what is asked.
fn check(wishes: &Wishes, route: &Route, [source, target]: [&Language; 2]) -> Result<(), ApiError> {
    if matches!(route, Route::Pivot { .. }) && (wishes.glossary.is_some() || wishes.quality) {
        let message =
            "glossary and quality need a model of the pair itself; these languages go through a third one";
        return Err(ApiError::bad(format!("Invalid request: {message}")));
    }
    let Some(glossary) = &wishes.glossary else { return Ok(()) };
    let [from, to] = &glossary.languages;
    if !from.fits(source) || !to.fits(target) {
        let id = &glossary.id;
        return Err(ApiError::bad(format!("Invalid request: glossary {id} is for {from} to {to}")));
    }
    Ok(())
}

/// How far the sentences of a text can be trusted; the text as far as the least of them.
fn quality(translation: &Translation) -> Value {
    let sentence = |sentence: &Sentence| {
        let quality = Quality::of(sentence)?;
        Some((quality.trust, json!({ "source": sentence.source, "quality": quality })))
    };
    let (trusts, sentences): (Vec<f32>, Vec<Value>) =
        translation.sentences.iter().filter_map(sentence).unzip();
    let trust = trusts.into_iter().reduce(f32::min);
    json!({ "origin": "model", "trust": trust, "sentences": sentences })
}

async fn options(
    lease: &Lease,
    [from, to]: [&Language; 2],
    wishes: &Wishes,
) -> Result<TranslateOptions, ApiError> {
    let translator = lease.translator();
    let (source_language, target_language) =
        codes(translator.tokenizer(), &[Some(from.clone()), Some(to.clone())]);
    let wanted = wishes.alternatives + 1;
    let own = translator.transformer().generation_config().num_beams.unwrap_or(1);
    let generation = GenerationConfig {
        num_beams: (wanted > 1).then_some(own.max(wanted)),
        num_return_sequences: Some(wanted),
        ..GenerationConfig::default()
    };
    let mut options =
        TranslateOptions { generation, source_language, target_language, ..TranslateOptions::default() };
    if let Some(glossary) = &wishes.glossary {
        options.glossary = Some(lease.glossary(glossary, &options).await?);
    }
    Ok(options)
}

impl Translated {
    /// A translation alone.
    fn of(text: String) -> Self {
        Self { text, alternatives: Vec::new(), quality: None }
    }
}

/// The best translation, and the others that differ from it and from one another.
fn distinct(translation: Translation) -> Translated {
    let mut alternatives: Vec<String> = Vec::new();
    for hypothesis in translation.hypotheses {
        let text = hypothesis.text;
        if !text.is_empty() && text != translation.text && !alternatives.contains(&text) {
            alternatives.push(text);
        }
    }
    Translated { text: translation.text, alternatives, quality: None }
}

/// The best or all of several: LibreTranslate's answers are lists if the request has a list.
pub fn one_or_all(mut values: Vec<Value>, is_list: bool) -> Value {
    match is_list {
        true => Value::Array(values),
        false => values.pop().unwrap_or(Value::Null),
    }
}
