//! The viewer's behaviour, without a screen.

use std::time::{Duration, Instant};

use eframe::egui::accesskit::Role;
use eframe::egui::{Context, Key, Vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use wordloom::Device;
use wordloom::decode::{Fate, SearchTree, TreeNode};
use wordloom::trace::{Anatomy, LayerAttention, TargetToken, Token, TracedSearch, TracedSentence, TracedTap};

use super::*;

/// A sentence of `tokens` tokens, whose heads attend to the diagonal.
fn trace(tokens: usize) -> Trace {
    let source: String = (0..tokens).map(|index| format!("w{index} ")).collect();
    let mut at = 0;
    let source_tokens: Vec<Token> = source
        .split_inclusive(' ')
        .map(|word| {
            let range = Some([at, at + word.len() - 1]);
            at += word.len();
            Token { id: 5, piece: format!("▁{}", word.trim()), special: false, range }
        })
        .collect();
    let target_tokens = std::iter::once(Token { piece: "<pad>".into(), special: true, ..Token::default() })
        .chain(source_tokens.iter().cloned())
        .map(|token| TargetToken { token, ..TargetToken::default() })
        .collect();
    let heads = 8;
    let one = |index: usize| {
        if index / tokens % tokens == index % tokens { 0.75 } else { 0.25 / tokens as f32 }
    };
    let layer = |layer| LayerAttention {
        kind: AttentionKind::Cross,
        layer,
        heads,
        queries: tokens,
        keys: tokens,
        weights: (0..heads * tokens * tokens).map(one).collect(),
        bands: None,
    };
    let sentence = TracedSentence {
        target: source.trim_end().into(),
        source: source.trim_end().into(),
        source_tokens,
        target_tokens,
        prompt: 1,
        attention: (0..4).map(layer).collect(),
        ..TracedSentence::default()
    };
    Trace { model: "made up".into(), sentences: vec![sentence], anatomy: None }
}

struct Shown {
    viewer: Viewer,
    gallery: Gallery,
    files: Files,
    muting: Muting,
    /// All requested searches.
    questions: Vec<Question>,
    muted: Vec<Vec<HeadName>>,
    inquiries: Vec<Inquiry>,
    switched: Vec<Switching>,
}

fn shown_by(viewer: Viewer) -> Harness<'static, Shown> {
    let window = Context::default();
    let gallery = Gallery::open(&Device::Cpu, window.clone()).expect("a thread");
    let files = Files::new(window);
    let (muting, questions, muted, inquiries, switched) = Default::default();
    let shown = Shown { viewer, gallery, files, muting, questions, muted, inquiries, switched };
    Harness::builder().with_size(Vec2::new(900.0, 700.0)).build_ui_state(
        |ui, shown| {
            let requests = shown.viewer.show(ui, &shown.gallery, &mut shown.files, &shown.muting);
            shown.questions.extend(requests.search);
            shown.muted.extend(requests.muted);
            shown.inquiries.extend(requests.explain);
            shown.switched.extend(requests.switched);
        },
        shown,
    )
}

fn viewer() -> Viewer {
    Viewer::new(AttentionKind::Cross, Scale::Linear, ColourMap::Viridis)
}

/// A trace from a file.
fn shown(trace: Trace) -> Harness<'static, Shown> {
    let mut viewer = viewer();
    viewer.open("a.json".into(), Arc::new(trace));
    shown_by(viewer)
}

/// A trace of the current translation.
fn live(trace: Trace) -> Harness<'static, Shown> {
    let mut viewer = viewer();
    viewer.set_live(Arc::new(trace));
    shown_by(viewer)
}

/// Shows frames until the requested picture is there. Returns the time.
fn until_painted(harness: &mut Harness<'_, Shown>) -> Duration {
    let begun = Instant::now();
    harness.step(); // requests the picture
    while !harness.state().viewer.canvas.is_painted() {
        assert!(begun.elapsed() < Duration::from_secs(20), "nothing is painted");
        std::thread::sleep(Duration::from_millis(5));
        harness.step();
    }
    begun.elapsed()
}

/// How long it takes until all heads of a long sentence are painted, and one of them.
fn four_hundred_tokens() -> [Duration; 2] {
    let mut harness = shown(trace(400));
    let overview = until_painted(&mut harness);
    let maps = harness.get_by_label_contains("attention maps");
    maps.focus();
    harness.step();
    for key in [Key::ArrowRight, Key::ArrowDown, Key::Enter] {
        harness.key_press(key);
        harness.step();
    }
    let viewer = &harness.state().viewer;
    assert!(viewer.place == Place::One(Head { layer: 0, head: Some(0) }), "Enter opens the marked head");
    [overview, until_painted(&mut harness)]
}

#[test]
fn the_microscope_asks_once_for_what_is_chosen() {
    let mut harness = live(trace(6));
    harness.get_by_label("Microscope").click();
    harness.run();
    harness.run();
    let asked = |harness: &Harness<'_, Shown>| -> Vec<(String, usize)> {
        let inquiries = harness.state().inquiries.iter();
        inquiries.map(|one| (one.head.to_string(), one.query)).collect()
    };
    assert_eq!(asked(&harness), [("cross.0.0".to_owned(), 0)]);
    let label = harness.state().viewer.live.as_ref().unwrap().sentences[0].query_labels(AttentionKind::Cross)
        [2]
    .clone();
    harness.get_all_by_label(&label).last().unwrap().click();
    harness.run();
    assert_eq!(asked(&harness)[1].1, 2);
    // an answer to the first question comes too late
    let late = harness.state().inquiries[0].number;
    harness.state_mut().viewer.set_explanation(late, Err("late".into()));
    harness.run();
    assert!(harness.query_by_label("late").is_none());
    let now = harness.state().inquiries[1].number;
    harness.state_mut().viewer.set_explanation(now, Err("the layer has no matrix".into()));
    harness.run();
    assert!(harness.query_by_label("the layer has no matrix").is_some());
}

#[test]
fn the_microscope_looks_into_a_file_that_has_taps() {
    let mut harness = shown(trace(6));
    harness.get_by_label("Microscope").click();
    harness.run();
    assert!(harness.state().inquiries.is_empty());
    assert!(harness.query_by_label_contains("wordloom attend TEXT --tap '*' -o FILE").is_some());

    let mut tapped = trace(6);
    // 8 heads, as the trace has
    tapped.anatomy = Some(Anatomy::of(wordloom::Model::embedded().expect("is there").config()));
    let values = tapped.sentences[0].attention[0].weights.clone();
    tapped.sentences[0].taps =
        vec![TracedTap { name: "decoder.0.cross.weights".into(), shape: vec![8, 6, 6], values }];
    harness.state_mut().viewer.open("b.json".into(), Arc::new(tapped));
    harness.run();
    harness.get_by_label("Microscope").click();
    harness.run();
    assert!(harness.state().inquiries.is_empty());
    assert!(harness.query_by_label_contains("The trace lacks").is_some());
    assert!(harness.query_by_label_contains("75.0 % of the weight").is_some());
    assert!(harness.query_by_label_contains("exp(s_i)").is_some());
}

#[test]
fn all_heads_of_four_hundred_tokens_are_painted_and_one_of_them() {
    four_hundred_tokens();
}

#[test]
#[ignore = "judged by the clock: `cargo xtask bench --check`"]
fn all_heads_of_four_hundred_tokens_and_one_of_them_are_there_within_a_second() {
    let [overview, head] = four_hundred_tokens();
    assert!(overview < Duration::from_secs(1), "the overview took {overview:?}");
    assert!(head < Duration::from_secs(1), "the head took {head:?}");
}

#[test]
fn the_marked_cell_is_told_and_numbers_lead_to_their_head() {
    let mut harness = shown(trace(6));
    until_painted(&mut harness);
    harness.get_by_label_contains("attention maps").focus();
    harness.step();
    for key in [Key::ArrowRight, Key::ArrowDown, Key::ArrowRight] {
        harness.key_press(key);
        harness.run_steps(2);
    }
    // the first arrow puts the mark on the first cell
    harness.get_by_label_contains("“w1” attends to “w1” with 0.75");
    harness.get_by_label("Numbers").click();
    harness.step();
    let begun = Instant::now();
    while harness.query_all_by_label("positional: diagonal").next().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(20), "no numbers");
        std::thread::sleep(Duration::from_millis(5));
        harness.step();
    }
    harness.get_by_label("entropy").click(); // the column gets an arrow
    harness.run_steps(2);
    harness.get_by_label("2.5").click();
    harness.run_steps(2);
    let place = harness.state().viewer.place;
    assert!(place == Place::One(Head { layer: 1, head: Some(4) }), "a row leads to its head");
}

#[test]
fn the_keyboard_opens_a_head_and_leaves_it_again() {
    let mut harness = live(trace(6));
    until_painted(&mut harness);
    harness.get_by_label_contains("attention maps").focus();
    harness.step();
    for key in [Key::ArrowRight, Key::Enter] {
        harness.key_press(key);
        harness.run_steps(3);
    }
    assert!(harness.state().viewer.place == Place::One(Head { layer: 0, head: Some(0) }));
    // the row of the head is above the picture now
    assert!(harness.get_by_label_contains("attention maps").is_focused());
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    assert!(harness.state().viewer.place == Place::All);
}

#[test]
fn a_text_that_is_gone_leaves_no_attention() {
    let mut harness = live(trace(6));
    harness.step();
    assert!(harness.query_by_label_contains("attention maps").is_some());
    harness.state_mut().viewer.clear_live();
    harness.run_steps(2);
    assert!(harness.query_by_label_contains("attention maps").is_none());
    harness.get_by_label("The attention of a translation appears here.");
}

/// The token that ends translations.
const END: u32 = 0;

/// A search with two beams: the second ends at the first step, the first at the last.
fn search(steps: u32) -> TracedSearch {
    let mut nodes: Vec<TreeNode> = Vec::new();
    let mut add = |parent, step, token, sum, fate| {
        nodes.push(TreeNode { parent, step, token, log_probability: -0.25, sum, fate });
        nodes.len() as u32 - 1
    };
    let mut parent = None;
    for step in 1..=steps {
        let sum = -0.25 * step as f32;
        let kept = add(parent, step, 10 + step, sum, if step == steps { Fate::Finished } else { Fate::Kept });
        let fate = if step == 1 { Fate::Finished } else { Fate::Rejected };
        add(parent, step, if step == 1 { END } else { 9 }, sum - 0.5, fate);
        parent = Some(kept);
    }
    let tree = SearchTree { beams: 2, length_penalty: 1.0, nodes };
    let word = |step: u32| (10 + step, format!("▁word{step}"));
    let pieces = (1..=steps).map(word).chain([(END, "</s>".into()), (9, "▁other".into())]);
    TracedSearch { pieces: pieces.collect(), tree }
}

fn searched(steps: u32) -> Trace {
    let mut trace = trace(6);
    trace.sentences[0].search = Some(search(steps));
    trace
}

/// Opens the tab and focuses the tree.
fn go_to_search(harness: &mut Harness<'_, Shown>) {
    harness.step();
    harness.get_by_label("Search").click();
    harness.run_steps(3);
}

fn press(harness: &mut Harness<'_, Shown>, keys: &[Key]) {
    harness.get_by_label_contains("search tree").focus();
    harness.step();
    for key in keys {
        harness.key_press(*key);
        harness.run_steps(2);
    }
}

/// Heights of the lines that contain these texts.
fn heights<const N: usize>(harness: &Harness<'_, Shown>, texts: [&str; N]) -> [f32; N] {
    texts.map(|text| harness.get_by_label(text).rect().top())
}

#[test]
fn a_search_of_a_file_is_ranked_by_any_penalty_and_goes_nowhere() {
    let mut harness = shown(searched(4));
    go_to_search(&mut harness);
    harness.get_by_label("2 finished hypotheses, best first");
    let [long, short] = heights(&harness, ["word1 word2 word3 word4", "(nothing)"]);
    assert!(long < short, "by the mean, the long one is best");
    press(&mut harness, &[Key::ArrowRight, Key::ArrowDown]);
    harness.get_by_label("word1 “other” with 78 %, together −1.00: rejected.");
    press(&mut harness, &[Key::Enter]);
    assert!(harness.state().questions.is_empty(), "there is no model to go on");
    harness.get_by_role(Role::Slider).focus();
    harness.step();
    for _ in 0..10 {
        harness.key_press(Key::ArrowLeft);
        harness.step();
    }
    harness.run_steps(2);
    let [long, short] = heights(&harness, ["word1 word2 word3 word4", "(nothing)"]);
    assert!(short < long, "without a penalty each token costs");
    harness.get_by_label("As the search: 1.0").click();
    harness.run_steps(2);
    let [long, short] = heights(&harness, ["word1 word2 word3 word4", "(nothing)"]);
    assert!(long < short);
    harness.get_by_label("(nothing)").click();
    harness.run_steps(4);
    harness.get_by_label("“end” with 78 %, together −0.75: finished, with the score −0.75.");
}

#[test]
fn a_rejected_branch_is_asked_for_and_left_again() {
    let mut harness = live(trace(6));
    go_to_search(&mut harness);
    let question = |harness: &mut Harness<'_, Shown>| {
        let mut questions = std::mem::take(&mut harness.state_mut().questions);
        assert_eq!(questions.len(), 1, "each question is asked once");
        questions.remove(0)
    };
    let answer = |harness: &mut Harness<'_, Shown>, number, prefix: &[u32]| {
        let (texts, ends) = (Default::default(), [END].into());
        let explored = Explored { search: search(4), prefix: prefix.to_vec(), texts, ends };
        harness.state_mut().viewer.set_search(number, Ok(Box::new(explored)));
        harness.run_steps(2);
    };
    let first = question(&mut harness);
    assert_eq!((first.source_ids, first.prefix), (vec![5; 6], vec![]));
    answer(&mut harness, first.number, &[]);
    press(&mut harness, &[Key::ArrowRight, Key::ArrowDown, Key::Enter]);
    let forced = question(&mut harness);
    assert_eq!(forced.prefix, [11, 9]);
    answer(&mut harness, first.number, &[]);
    assert!(harness.state().viewer.search.is_waiting(), "an answer to an older question is not taken");
    answer(&mut harness, forced.number, &forced.prefix);
    harness.get_by_label("Made to begin with “word1 other”");
    harness.get_by_label("word1 other word1 word2 word3 word4");
    press(&mut harness, &[Key::ArrowDown, Key::Enter]);
    assert!(harness.state().questions.is_empty(), "nothing comes after an end");
    harness.get_by_label("As searched").click();
    harness.run_steps(2);
    assert_eq!(question(&mut harness).prefix, [0; 0]);
}

#[test]
fn a_search_of_a_thousand_tokens_draws_what_is_seen() {
    let mut short = shown(searched(12));
    let mut long = shown(searched(1_000));
    for harness in [&mut short, &mut long] {
        go_to_search(harness);
        press(harness, &[]);
    }
    let [few, many] = [&short, &long].map(|harness| harness.output().shapes.len());
    assert!(many < few + 60, "{many} shapes, where a search of 12 tokens has {few}");
    press(&mut long, &[Key::End]);
    long.run_steps(60); // it scrolls there
    long.get_by_label_contains("word999 “word1000” with 78 %");
}

#[test]
fn a_head_is_muted_alone_or_with_all_others_of_its_layer() {
    let mut harness = live(trace(6));
    harness.step();
    harness.state_mut().viewer.go(Place::One(Head { layer: 2, head: Some(1) }));
    harness.run_steps(2);
    let head = |head| HeadName { kind: AttentionKind::Cross, layer: 2, head };
    harness.get_by_label("Mute this head").click();
    harness.run_steps(2);
    assert_eq!(harness.state().muted, [[head(1)]]);
    harness.state_mut().muting.set(vec![head(1)]);
    harness.run_steps(2);
    harness.get_by_label("Unmute this head").click();
    harness.run_steps(2);
    assert_eq!(harness.state().muted[1], []);
    harness.get_by_label("Only this head of its layer").click();
    harness.run_steps(2);
    assert_eq!(harness.state().muted[2], [0, 2, 3, 4, 5, 6, 7].map(head));

    let mut file = shown(trace(6));
    file.state_mut().viewer.go(Place::One(Head { layer: 2, head: Some(1) }));
    file.run_steps(2);
    assert!(file.query_by_label("Mute this head").is_none(), "a file has no model");
}

#[test]
fn what_changes_the_model_is_folded_until_it_is_wanted() {
    let mut harness = live(trace(6));
    harness.run_steps(2);
    assert!(harness.query_by_label("No residuals").is_none(), "most users only look");
    harness.get_by_label("Change the model").click();
    harness.run_steps(30); // it unfolds
    harness.get_by_label("No residuals").click();
    harness.run_steps(2);
    let switched: Vec<_> = harness.state().switched.iter().map(Switching::describe).collect();
    assert_eq!(switched, [["without residual connections"]]);

    let mut file = shown(trace(6));
    file.run_steps(2);
    assert!(file.query_by_label("Change the model").is_none(), "a file has no model");
}

/// A name comes before its list, and is what a screen reader says.
#[test]
fn a_choice_has_its_name() {
    let mut harness = live(trace(6));
    harness.step();
    harness.state_mut().viewer.go(Place::One(Head { layer: 2, head: Some(1) }));
    harness.run_steps(2);
    for (name, value) in [("layer", "3"), ("head", "2"), ("scale", "linear")] {
        let list = harness.get_by_role_and_label(Role::ComboBox, name);
        assert_eq!(list.value().as_deref(), Some(value), "{name}");
    }
}
