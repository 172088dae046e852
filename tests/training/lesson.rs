//! Small tasks: their pairs, and models that learn them.

use crate::common::device_test;
use wordloom::train::{
    Draws, Lesson, LessonOptions, Rule, SmallModel, Task, TaskError, TaskOptions, TrainError,
};
use wordloom::{Device, Model};

/// Seconds of a long run, printed: `cargo test --release --test training lesson -- --ignored --nocapture`.
#[cfg(not(target_arch = "wasm32"))]
#[pollster::test]
#[ignore = "speed"]
async fn seconds_to_99_percent() {
    let number = |name: &str, default: f64| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let text = |name: &str, default: &str| std::env::var(name).unwrap_or(default.into());
    let mut options = LessonOptions::default();
    options.task.rule = text("RULE", "copy");
    options.task.shortest = number("SHORTEST", 8.0) as usize;
    options.recipe.batch = number("BATCH", 64.0) as usize;
    options.recipe.rate = number("RATE", 0.5);
    options.recipe.warmup = number("WARMUP", 400.0) as u64;
    options.model.pre_norm = number("PRE", 0.0) > 0.0;
    options.recipe.seed = number("SEED", 1.0) as u64;
    let mut lesson = Lesson::new(&Device::Cpu, options).unwrap();
    let validation = lesson.task().validation(200, 1);
    let sources: Vec<Vec<u32>> = validation.iter().map(|pair| pair.source.clone()).collect();
    let begun = std::time::Instant::now();
    let mut training = 0.0;
    while lesson.step_count() < number("STEPS", 2000.0) as u64 {
        let start = std::time::Instant::now();
        for _ in 0..50 {
            lesson.take_step().await.unwrap();
        }
        let losses = lesson.losses().await.unwrap();
        training += start.elapsed().as_secs_f64();
        let answers = lesson.snapshot().await.unwrap().answers(&sources).await.unwrap();
        let right = answers.iter().zip(&validation).filter(|(got, pair)| **got == pair.target).count();
        println!(
            "step {}, loss {:.4}, {}/200 right, {training:.1} s of training, {:.1} s",
            lesson.step_count(),
            losses.mean(),
            right,
            begun.elapsed().as_secs_f64()
        );
        if right >= 198 {
            break;
        }
    }
}

fn task(rule: Rule) -> Task {
    Task::of_rule(rule, 16, [8, 8]).unwrap()
}

/// Source and target as texts.
fn texts(task: &Task, draws: &mut Draws) -> [String; 2] {
    let pair = task.pair(draws);
    [task.symbols().text(&pair.source), task.symbols().text(&pair.target)]
}

#[test]
fn targets_follow_the_rule() {
    for (rule, expected) in [
        (Rule::Copy, (|text| text) as fn(String) -> String),
        (Rule::Reverse, |text| text.chars().rev().collect()),
        (Rule::Sort, |text| {
            let mut letters: Vec<char> = text.chars().collect();
            letters.sort_unstable();
            letters.into_iter().collect()
        }),
    ] {
        let task = task(rule);
        let mut draws = Draws::new(7, 1);
        for _ in 0..100 {
            let [source, target] = texts(&task, &mut draws);
            assert_eq!(source.len(), 8);
            assert!(source.chars().all(|letter| ('a'..='p').contains(&letter)), "{source}");
            assert_eq!(target, expected(source));
        }
    }
}

#[test]
fn pairs_follow_from_the_seed() {
    let task = task(Rule::Copy);
    let drawn = |seed| {
        let mut draws = Draws::new(seed, 1);
        (0..20).map(|_| task.pair(&mut draws)).collect::<Vec<_>>()
    };
    assert_eq!(drawn(1), drawn(1));
    assert_ne!(drawn(1), drawn(2));
    assert_eq!(task.validation(10, 3), task.validation(10, 3));
}

#[test]
fn numbers_of_the_validation_are_not_trained_on() {
    let task = task(Rule::Numbers);
    let held_out: std::collections::BTreeSet<Vec<u32>> =
        task.validation(500, 1).into_iter().map(|pair| pair.source).collect();
    assert!(held_out.len() > 200, "{}", held_out.len());
    let mut draws = Draws::new(1, 1);
    let mut trained = std::collections::BTreeSet::new();
    for _ in 0..5000 {
        let pair = task.pair(&mut draws);
        assert!(!held_out.contains(&pair.source), "{}", task.symbols().text(&pair.source));
        trained.insert(task.symbols().text(&pair.source));
    }
    assert!(trained.len() > 2000);
    assert_eq!(texts(&task, &mut draws).map(|text| text.is_empty()), [false, false]);
}

#[test]
fn pasted_lines_become_pairs_and_one_in_ten_is_held_out() {
    let lines: Vec<String> = (0..30).map(|number| format!("{number} x\t  y {number}\n\n")).collect();
    let task = Task::of_lines(&lines.concat()).unwrap();
    let held_out = task.validation(100, 1);
    let names: Vec<String> = held_out.iter().map(|pair| task.symbols().text(&pair.target)).collect();
    assert_eq!(names, ["y 9", "y 19", "y 29"]);
    assert!(task.holds_out());
    let few = Task::of_lines("a\tb\r\nc\td").unwrap();
    assert!(!few.holds_out());
    assert_eq!(few.validation(100, 1).len(), 2);
}

#[test]
fn bad_lines_are_named() {
    let of = |text: &str| Task::of_lines(text).unwrap_err();
    assert_eq!(of("a\tb\n\nc"), TaskError::Columns { line: 3, found: 0 });
    assert_eq!(of("a\tb\tc"), TaskError::Columns { line: 1, found: 2 });
    assert_eq!(of("a\tb\nc\t "), TaskError::Empty { line: 2, side: "target" });
    assert_eq!(of(" \n"), TaskError::NoPairs);
    let long = "é".repeat(121);
    assert_eq!(of(&format!("{long}\tb")), TaskError::Long { line: 1, side: "source", characters: 121 });
    let message = of("a\tb\n\nc").to_string();
    assert!(message.starts_with("line 3 has 0 tabs"), "{message}");
}

#[test]
fn options_out_of_range_are_named() {
    let refused = |change: fn(&mut LessonOptions)| {
        let mut options = LessonOptions::default();
        change(&mut options);
        let result = Lesson::new(&Device::Cpu, options);
        result.err().expect("an error").to_string()
    };
    let heads = refused(|options| options.model.heads = 5);
    assert_eq!(heads, "d_model is 64; it must be even, and a multiple of the 5 heads");
    assert_eq!(refused(|options| options.recipe.batch = 0), "the batch is 0; it must be 1 to 1024");
    assert_eq!(
        refused(|options| options.recipe.rate = f64::NAN),
        "the factor of the learning rate is NaN, but a number above 0 and at most 10 is needed"
    );
    assert!(refused(|options| options.task.rule = "add".into()).contains("\"add\""));
    assert!(refused(|options| options.recipe.dropout = 1.0).starts_with("dropout is 1"));
    let symbols = refused(|options| options.task.symbols = 27);
    assert_eq!(symbols, "the number of symbols is 27; it must be 2 to 26");
}

/// A model that learns fast.
fn small(rule: &str) -> LessonOptions {
    LessonOptions {
        task: TaskOptions { rule: rule.into(), symbols: 6, shortest: 4, longest: 4, pairs: None },
        model: SmallModel { layers: 1, d_model: 32, heads: 2, ffn: 64, pre_norm: true },
        ..LessonOptions::default()
    }
}

#[device_test]
async fn copying_is_learned_in_a_few_hundred_steps() {
    let mut options = small("copy");
    options.recipe.warmup = 100;
    let mut lesson = Lesson::new(&Device::Cpu, options).unwrap();
    let validation = lesson.task().validation(100, 1);
    let sources: Vec<Vec<u32>> = validation.iter().map(|pair| pair.source.clone()).collect();
    let mut right = 0;
    while right < 99 && lesson.step_count() < 600 {
        for _ in 0..50 {
            lesson.take_step().await.unwrap();
        }
        let answers = lesson.snapshot().await.unwrap().answers(&sources).await.unwrap();
        right = answers.iter().zip(&validation).filter(|(got, pair)| **got == pair.target).count();
    }
    assert!(right >= 99, "{right} of 100 after {} steps", lesson.step_count());
    // cross-attention shows what was learned: every row sums to 1
    let attention = lesson.snapshot().await.unwrap().attention(&validation[0]).await.unwrap();
    let cross = &attention.cross_attentions[0];
    assert_eq!(cross.shape, [1, 2, 5, 5]);
    for row in cross.data.chunks_exact(5) {
        assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5);
    }
}

#[device_test]
async fn the_saved_folder_has_the_same_ids_and_answers() {
    use wordloom::model::files::ModelFiles;
    use wordloom::{TranslateOptions, Translator};

    let mut lesson = Lesson::new(&Device::Cpu, small("reverse")).unwrap();
    lesson.take_step().await.unwrap();
    let folder = lesson.folder().await.unwrap();
    let model = Model::from_files(ModelFiles::memory("saved", folder)).unwrap();
    let translator = Translator::new(&Device::Cpu, &model).unwrap();
    for pair in lesson.task().validation(5, 1) {
        let text = lesson.task().symbols().text(&pair.source);
        let got = translator.translate(&text, &TranslateOptions::default()).await.unwrap();
        assert_eq!(got.sentences[0].source_ids, pair.source, "{text}");
        let answers = lesson.snapshot().await.unwrap().answers(&[pair.source]).await.unwrap();
        assert_eq!(got.sentences[0].hypotheses[0].search.tokens[1..], answers[0]);
    }
}

#[device_test]
async fn a_stored_lesson_goes_on_bit_for_bit() {
    let mut options = small("sort");
    options.recipe.dropout = 0.1;
    let mut whole = Lesson::new(&Device::Cpu, options).unwrap();
    for _ in 0..3 {
        whole.take_step().await.unwrap();
    }
    let files = whole.files().await.unwrap();
    let mut resumed = Lesson::resume(&Device::Cpu, files.clone()).unwrap();
    for lesson in [&mut whole, &mut resumed] {
        for _ in 0..3 {
            lesson.take_step().await.unwrap();
        }
    }
    assert_eq!(resumed.step_count(), 6);
    assert!(whole.folder().await.unwrap() == resumed.folder().await.unwrap(), "the same bytes");

    let mut cut = files;
    cut.get_mut("training.safetensors").unwrap().truncate(100);
    let error = Lesson::resume(&Device::Cpu, cut).err().expect("a damaged file");
    assert!(
        matches!(error, TrainError::Task(TaskError::Stored { file: "training.safetensors", .. })),
        "{error}"
    );
}
