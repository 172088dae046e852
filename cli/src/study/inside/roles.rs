//! Study *roles*: positional, rare-word, separator and syntactic heads; what the layers of the decoder are worth.

use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};
use serde_json::json;
use wordloom::model::HeadName;
use wordloom::trace::{AttentionKind, LayerAttention, Map, TracedSentence};

use super::findings::{Claim, Data, Findings, Measured};
use super::gold::{Parsed, RELATIONS, parsed};
use super::pruning::without;
use super::subject::Subject;
use super::words::{by_words, words_of};
use crate::CliError;
use crate::study::chart::{Axis, Strip, strips};
use crate::study::report::Figure;
use crate::study::statistics::{Direction, Summary, Verdict};

/// Share of the queries that look most at one relative position, for a positional head (Voita et al. 2019).
const POSITIONAL: f64 = 0.9;
/// Share of the queries that look most at one of the two rarest tokens, and share of the mass on the end token.
const HALF: f64 = 0.5;
/// Share of the pairs beyond which the best fixed offset leaves no room for a lead.
const NO_ROOM: f64 = 0.85;
/// Lead over the best fixed offset, for a syntactic head (Voita et al. 2019: 10 points).
const LEAD: f64 = 0.1;

/// Shares of one head of the encoder in each sentence.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct HeadShares {
    layer: usize,
    head: usize,
    /// Queries that look most at the previous, at the own and at the next position.
    offsets: [Vec<f64>; 3],
    /// Queries that look most at one of the two rarest tokens.
    rare: Vec<f64>,
    /// Mass on tokens without text.
    separator: Vec<f64>,
    /// Which sentences these are: too short ones are left out.
    #[serde(default)]
    sentences: Vec<usize>,
}

/// How often heads find the other word of a relation.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Relation {
    name: String,
    /// Offset in words that is right most often.
    offset: i64,
    /// Number of pairs on which the head was chosen.
    chosen_on: usize,
    best: [usize; 2],
    /// Whether the chosen head, and the offset, are right, for each pair of the other half.
    head_is_right: Vec<f64>,
    offset_is_right: Vec<f64>,
    /// Of every head on all pairs.
    all: Vec<f64>,
    /// A pair of the other half on which the chosen head is right, and one on which it is not, if there are such.
    #[serde(default)]
    examples: Vec<String>,
}

/// Loss of each sentence without all heads of a decoder layer.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct LayerCost {
    kind: AttentionKind,
    layer: usize,
    costs: Vec<f64>,
}

pub fn run(subject: &mut Subject) -> Result<Findings, CliError> {
    subject.load()?;
    let stack = subject.model.config().decoder;
    let kinds: Vec<AttentionKind> =
        subject.kinds().into_iter().filter(|kind| *kind != AttentionKind::Encoder).collect();
    subject.begin("roles", 3 + kinds.len() * stack.layers);
    let heads: Vec<HeadShares> = subject.measure("roles/heads", |subject| Ok(shares(subject)))?;
    let relations: Vec<Relation> = subject.measure("roles/relations", |subject| relations(subject))?;
    let whole: Vec<f64> = subject.measure("whole", |subject| subject.losses(subject.sentences()))?;
    let mut layers = Vec::new();
    for kind in kinds {
        for layer in 0..stack.layers {
            let heads: Vec<HeadName> = (0..stack.heads).map(|head| HeadName { kind, layer, head }).collect();
            let key = format!("roles/without {kind}.{layer}");
            let losses: Vec<f64> = subject.measure(&key, |subject| {
                without(subject, &heads, |subject| subject.losses(subject.sentences()))
            })?;
            let costs = losses.iter().zip(&whole).map(|(without, with)| without - with).collect();
            layers.push(LayerCost { kind, layer, costs });
        }
    }
    Ok(findings(&heads, &relations, &layers, subject))
}

fn largest(row: &[f32], keys: impl Iterator<Item = usize>) -> Option<usize> {
    keys.max_by(|a, b| row[*a].total_cmp(&row[*b]))
}

fn shares(subject: &Subject) -> Vec<HeadShares> {
    let mut all: Vec<HeadShares> = Vec::new();
    for (index, sentence) in subject.sentences().iter().enumerate() {
        let mut place = 0;
        for layer in sentence.traced.layers(AttentionKind::Encoder) {
            for head in 0..layer.heads {
                if place == all.len() {
                    let none = HeadShares {
                        layer: layer.layer,
                        head,
                        offsets: Default::default(),
                        rare: Vec::new(),
                        separator: Vec::new(),
                        sentences: Vec::new(),
                    };
                    all.push(none);
                }
                all[place].add(index, &sentence.traced, layer.head(head));
                place += 1;
            }
        }
    }
    all
}

impl HeadShares {
    fn add(&mut self, index: usize, sentence: &TracedSentence, map: Map<'_>) {
        let tokens = sentence.key_tokens(AttentionKind::Encoder);
        let words: Vec<usize> = (0..tokens.len()).filter(|&key| !tokens[key].special).collect();
        if words.len() < 3 {
            return;
        }
        let mut rarest: Vec<usize> =
            words.iter().copied().filter(|&key| !tokens[key].is_punctuation()).collect();
        // frequent tokens come first in vocabularies
        rarest.sort_by_key(|&key| std::cmp::Reverse(tokens[key].id));
        rarest.truncate(2);
        let (mut at, mut rare, mut separator) = ([0.0; 3], 0.0, 0.0);
        for &query in &words {
            let row = &map.weights[query * map.keys..][..map.keys];
            let most = largest(row, words.iter().copied()).unwrap_or(query);
            for (slot, offset) in (-1..=1).enumerate() {
                at[slot] += f64::from(u8::from(most as i64 - query as i64 == offset));
            }
            rare += f64::from(u8::from(rarest.contains(&most)));
            let special = (0..map.keys).filter(|&key| tokens[key].special);
            separator += special.map(|key| f64::from(row[key])).sum::<f64>();
        }
        let count = words.len() as f64;
        self.offsets.iter_mut().zip(at).for_each(|(all, share)| all.push(share / count));
        self.rare.push(rare / count);
        self.separator.push(separator / count);
        self.sentences.push(index);
    }
}

/// One pair of a relation: where each head looks, and where it should.
struct Question {
    text: String,
    from: usize,
    to: usize,
    /// The word that each head looks at most, by layer and head.
    looks: Vec<usize>,
}

fn relations(subject: &Subject) -> Result<Vec<Relation>, CliError> {
    let mut questions: Vec<Vec<Question>> = (0..2 * RELATIONS.len()).map(|_| Vec::new()).collect();
    let mut names: Vec<[usize; 2]> = Vec::new();
    for parsed in parsed()? {
        if subject.cancel.is_cancelled() {
            return Err(CliError::Interrupted);
        }
        // the target does not matter to the encoder
        let traced = subject.pair(&parsed.text, &parsed.text)?.traced;
        let maps = word_maps(&traced, &parsed);
        names = maps.iter().map(|(name, _)| *name).collect();
        for (letter, dependent, head) in &parsed.pairs {
            let relation = RELATIONS.iter().position(|(known, _)| known == letter).unwrap_or_default();
            for (direction, [from, to]) in [[*dependent, *head], [*head, *dependent]].into_iter().enumerate()
            {
                let looks = maps.iter().map(|(_, map)| map.row(from).transpose().argmax().0).collect();
                let text = parsed.text.clone();
                questions[2 * relation + direction].push(Question { text, from, to, looks });
            }
        }
    }
    let named =
        RELATIONS.iter().flat_map(|(_, name)| [format!("{name} → its head"), format!("head → its {name}")]);
    Ok(named.zip(&questions).map(|(name, questions)| relation(name, questions, &names)).collect())
}

impl Question {
    /// Where a head looks, in words.
    fn answer(&self, head: usize) -> String {
        let words: Vec<&str> = self.text.trim_end_matches('.').split(' ').collect();
        let word = |index: usize| words.get(index).copied().unwrap_or_default();
        let (from, to, looks) = (word(self.from), word(self.to), self.looks[head]);
        let not = if looks == self.to { String::new() } else { format!(", not at “{to}”") };
        format!("in “{}” it looks from “{from}” at “{}”{not}", self.text, word(looks))
    }
}

/// The maps of the encoder's heads over words, by layer and head.
fn word_maps(traced: &TracedSentence, parsed: &Parsed) -> Vec<([usize; 2], DMatrix<f64>)> {
    let words = words_of(&traced.key_tokens(AttentionKind::Encoder), &traced.source);
    let count = parsed.text.split(' ').count();
    let of_layer = |layer: &LayerAttention| {
        let of_head = |head: usize| {
            let Map { queries, keys, weights } = layer.head(head);
            let map =
                DMatrix::from_row_iterator(queries, keys, weights.iter().map(|&weight| f64::from(weight)));
            ([layer.layer, head], by_words(&map, [&words, &words], [count, count]))
        };
        (0..layer.heads).map(of_head).collect::<Vec<_>>()
    };
    traced.layers(AttentionKind::Encoder).flat_map(of_layer).collect()
}

fn relation(name: String, questions: &[Question], names: &[[usize; 2]]) -> Relation {
    let (chosen_on, asked): (Vec<_>, Vec<_>) =
        questions.iter().enumerate().partition(|(index, _)| index % 2 == 0);
    let right = |question: &Question, head: usize| f64::from(u8::from(question.looks[head] == question.to));
    let count =
        |of: &[(usize, &Question)], head: usize| of.iter().map(|(_, one)| right(one, head)).sum::<f64>();
    let best = (0..names.len())
        .max_by(|a, b| count(&chosen_on, *a).total_cmp(&count(&chosen_on, *b)))
        .unwrap_or_default();
    let distance = |question: &Question| question.to as i64 - question.from as i64;
    // of all pairs: the best that a fixed offset can be
    let offset = (-8..=8)
        .max_by_key(|offset| questions.iter().filter(|one| distance(one) == *offset).count())
        .unwrap_or_default();
    let all = (0..names.len()).map(|head| {
        questions.iter().map(|one| right(one, head)).sum::<f64>() / questions.len().max(1) as f64
    });
    Relation {
        name,
        offset,
        chosen_on: chosen_on.len(),
        best: names.get(best).copied().unwrap_or_default(),
        head_is_right: asked.iter().map(|(_, one)| right(one, best)).collect(),
        offset_is_right: asked.iter().map(|(_, one)| f64::from(u8::from(distance(one) == offset))).collect(),
        all: all.collect(),
        examples: [1.0, 0.0]
            .into_iter()
            .filter_map(|wanted| asked.iter().find(|(_, one)| right(one, best) == wanted))
            .map(|(_, one)| one.answer(best))
            .collect(),
    }
}

/// A head that was chosen by every second sentence.
#[derive(Default)]
struct Best {
    name: String,
    /// Its values on the other sentences.
    values: Vec<f64>,
    /// The one of these with the largest value.
    example: Option<usize>,
}

/// The head with the largest mean on every second sentence.
fn best_of(heads: &[HeadShares], value: impl Fn(&HeadShares) -> &[f64]) -> Best {
    let half =
        |values: &[f64], first: usize| values.iter().skip(first).step_by(2).copied().collect::<Vec<f64>>();
    let chosen = heads.iter().max_by(|a, b| {
        let [a, b] = [a, b].map(|head| half(value(head), 0).iter().sum::<f64>());
        a.total_cmp(&b)
    });
    let Some(head) = chosen else { return Best::default() };
    let values = half(value(head), 1);
    let most = (0..values.len()).max_by(|a, b| values[*a].total_cmp(&values[*b]));
    Best {
        name: format!("encoder.{}.{}", head.layer, head.head),
        example: most.and_then(|place| head.sentences.get(2 * place + 1).copied()),
        values,
    }
}

fn findings(
    heads: &[HeadShares],
    relations: &[Relation],
    layers: &[LayerCost],
    subject: &Subject,
) -> Findings {
    let mut data = Data::new(&["what", "layer", "head", "mean", "deviation", "n"]);
    let mut add = |what: &str, layer: usize, head: serde_json::Value, values: &[f64]| {
        let summary = Summary::of(values);
        let [mean, deviation] = [summary.map(|all| all.mean), summary.and_then(|all| all.deviation)];
        data.rows.push(vec![
            json!(what),
            json!(layer),
            head,
            json!(mean),
            json!(deviation),
            json!(values.len()),
        ]);
    };
    for head in heads {
        for (what, values) in ["previous position", "own position", "next position"].iter().zip(&head.offsets)
        {
            add(what, head.layer, json!(head.head), values);
        }
        add("two rarest tokens", head.layer, json!(head.head), &head.rare);
        add("mass on the end token", head.layer, json!(head.head), &head.separator);
    }
    for relation in relations {
        let [layer, head] = relation.best;
        add(&relation.name, layer, json!(head), &relation.head_is_right);
        add(
            &format!("{}, offset {}", relation.name, relation.offset),
            0,
            json!(null),
            &relation.offset_is_right,
        );
    }
    for LayerCost { kind, layer, costs } in layers {
        add(&format!("cost of {kind}, nats"), *layer, json!("all"), costs);
    }
    Findings {
        claim: "Heads have roles: positional, syntactic and rare-word heads, and heads that rest on a separator.",
        source: "Voita et al. 2019, “Analyzing Multi-Head Self-Attention”, section 5; Clark et al. 2019, “What Does BERT Look At?”, \
                 sections 3 and 4",
        method: vec![
            format!(
                "Heads of the encoder, in {} sentences. The key that a query looks at most is that of the largest weight among \
                 tokens with text, as in Voita et al. A rare token has a large id: vocabularies begin with frequent tokens.",
                subject.sentences().len()
            ),
            "A head is chosen by every second sentence or pair, and measured on the others, so that the best of many heads is not \
             good by chance."
                .to_owned(),
            "Syntax: 100 English sentences with dependencies, annotated by hand for this study (CC0, cli/data/dependencies.txt). A \
             word's mass on another is the sum over its tokens, and the mean over the word's own. A head is right if the other \
             word of the relation has the largest mass of all words. It is compared with the fixed offset, in words, that is right \
             most often."
                .to_owned(),
            "Layers of the decoder: the loss of the reference translations without all heads of one attention.".to_owned(),
        ],
        claims: claims(heads, relations, layers, subject),
        figures: figures(heads, relations, layers),
        facts: Vec::new(),
        against: vec![
            "The gold sentences are short, and their words stand in a regular order. That helps the fixed offset.".to_owned(),
            "To look at a word is not to use it: a role by weights is not a role by what a removal costs.".to_owned(),
            "The sources of other pairs files may be of another language than English; the syntactic part then says nothing."
                .to_owned(),
        ],
        data,
    }
}

fn claims(
    heads: &[HeadShares],
    relations: &[Relation],
    layers: &[LayerCost],
    subject: &Subject,
) -> Vec<Claim> {
    let example = |index: usize| {
        let sentence = subject.sentences().get(index);
        sentence.map(|sentence| format!("most of all in “{}”", sentence.traced.source))
    };
    let existence =
        |claim: &str, source, name: &str, Best { name: head, values, example: most }, least: f64| Claim {
            claim: claim.to_owned(),
            source,
            prediction: format!("above {least} for the best head (95 % interval over sentences)"),
            measured: Measured::new(format!("{name}, {head}"), &values, "sentences").into_iter().collect(),
            verdict: Verdict::of(
                Direction::Higher,
                Summary::of(&values.iter().map(|value| value - least).collect::<Vec<_>>()),
                0.0,
            ),
            note: most.and_then(example).unwrap_or_default(),
        };
    let positional = (0..3).map(|slot| best_of(heads, |head| &head.offsets[slot]));
    let positional =
        positional.max_by(|a, b| a.values.iter().sum::<f64>().total_cmp(&b.values.iter().sum::<f64>()));
    let mut claims = vec![
        existence(
            "There are positional heads: they look at a neighbour in nearly all cases.",
            "Voita et al., section 5.1",
            "share of queries",
            positional.unwrap_or_default(),
            POSITIONAL,
        ),
        existence(
            "There is a head that looks at the rarest tokens of a sentence.",
            "Voita et al., section 5.3",
            "share of queries that look at one of the two rarest",
            best_of(heads, |head| &head.rare),
            HALF,
        ),
        existence(
            "There are heads that put most of their mass on the separator.",
            "Clark et al., section 3.2",
            "mass on the end token",
            best_of(heads, |head| &head.separator),
            HALF,
        ),
    ];
    claims.extend(relations.iter().map(syntactic));
    claims.extend(of_layers(layers));
    claims
}

/// Whether a head finds a relation.
fn syntactic(relation: &Relation) -> Claim {
    let leads: Vec<f64> = relation
        .head_is_right
        .iter()
        .zip(&relation.offset_is_right)
        .map(|(head, offset)| head - offset)
        .collect();
    let beyond: Vec<f64> = leads.iter().map(|lead| lead - LEAD).collect();
    let has_room = Summary::of(&relation.offset_is_right).is_some_and(|all| all.mean < NO_ROOM);
    let [layer, head] = relation.best;
    Claim {
        claim: format!("A head finds {}.", relation.name),
        source: "Voita et al., section 5.2; Clark et al., section 4.2",
        prediction: format!(
            "right more often than the best fixed offset by more than {LEAD} (95 % interval)"
        ),
        measured: [
            Measured::new(format!("encoder.{layer}.{head} is right"), &relation.head_is_right, "pairs"),
            Measured::new(
                format!("offset {:+} is right", relation.offset),
                &relation.offset_is_right,
                "pairs",
            ),
        ]
        .into_iter()
        .flatten()
        .collect(),
        verdict: match has_room {
            true => Verdict::of(Direction::Higher, Summary::of(&beyond), 0.0),
            false => Verdict::NotDecidable,
        },
        note: {
            let reason = (!has_room).then(|| "the offset is nearly always right in this set".to_owned());
            reason.into_iter().chain(relation.examples.iter().cloned()).collect::<Vec<_>>().join("; ")
        },
    }
}

/// The first and the last layer against those between.
fn of_layers(layers: &[LayerCost]) -> Option<Claim> {
    let last = layers.iter().map(|layer| layer.layer).max()?;
    let sum = |is_chosen: &dyn Fn(usize) -> bool| {
        let chosen: Vec<&LayerCost> = layers.iter().filter(|layer| is_chosen(layer.layer)).collect();
        let sentences = layers[0].costs.len();
        let of = |sentence: usize| {
            chosen.iter().map(|layer| layer.costs[sentence]).sum::<f64>() / chosen.len().max(1) as f64
        };
        (0..sentences).map(of).collect::<Vec<f64>>()
    };
    let ends = sum(&|layer| layer == 0 || layer == last);
    let between = sum(&|layer| layer != 0 && layer != last);
    let differences: Vec<f64> = ends.iter().zip(&between).map(|(ends, between)| ends - between).collect();
    let is_decidable = last >= 2;
    Some(Claim {
        claim: "The first and the last layer of the decoder matter more than those between.".into(),
        source: "often taught",
        prediction:
            "their attention costs more to remove (95 % interval of the differences of each sentence)".into(),
        measured: [
            Measured::new("first and last, nats", &ends, "sentences"),
            Measured::new("between, nats", &between, "sentences"),
        ]
        .into_iter()
        .flatten()
        .collect(),
        verdict: match is_decidable {
            true => Verdict::of(Direction::Higher, Summary::of(&differences), 0.0),
            false => Verdict::NotDecidable,
        },
        note: if is_decidable { String::new() } else { "there is no layer between".into() },
    })
}

fn figures(heads: &[HeadShares], relations: &[Relation], layers: &[LayerCost]) -> Vec<Figure> {
    let mean = |values: &[f64]| Summary::of(values).map_or(0.0, |all| all.mean);
    let strip = |name: &str, value: &dyn Fn(&HeadShares) -> f64, least: f64, series| Strip {
        name: name.to_owned(),
        values: heads.iter().map(value).collect(),
        predicted: Some(least),
        series,
    };
    let roles = [
        strip("previous position", &|head| mean(&head.offsets[0]), POSITIONAL, 0),
        strip("own position", &|head| mean(&head.offsets[1]), POSITIONAL, 0),
        strip("next position", &|head| mean(&head.offsets[2]), POSITIONAL, 0),
        strip("two rarest tokens", &|head| mean(&head.rare), HALF, 1),
        strip("end token (mass)", &|head| mean(&head.separator), HALF, 2),
    ];
    let syntax: Vec<Strip> = relations
        .iter()
        .map(|relation| Strip {
            name: relation.name.clone(),
            values: relation.all.clone(),
            predicted: Some(mean(&relation.offset_is_right)),
            series: 3,
        })
        .collect();
    let costs: Vec<Strip> = layers
        .iter()
        .map(|LayerCost { kind, layer, costs }| Strip {
            name: format!("{kind}, layer {layer}"),
            values: costs.clone(),
            predicted: None,
            series: *kind as usize,
        })
        .collect();
    vec![
        Figure {
            title: "Where the heads of the encoder look".into(),
            note: "A small dot for each head. Diamond: the limit of the role.".into(),
            svg: strips("Roles of heads", Axis::new("share").from(0.0).to(1.0), &roles),
            ..Figure::default()
        },
        Figure {
            title: "Dependencies".into(),
            note: "How often a head looks most at the right word. A small dot for each head; diamond: the best fixed offset.".into(),
            svg: strips("Dependencies", Axis::new("share of the pairs").from(0.0).to(1.0), &syntax),
            ..Figure::default()
        },
        Figure {
            title: "Decoder layers".into(),
            note: "Increase of the loss without all heads of a layer. A small dot for each sentence.".into(),
            svg: strips("Cost of decoder layers", Axis::new("nats per token"), &costs),
            ..Figure::default()
        },
    ]
}
