//! Tests on engines for corpora that are started here: Ray, Spark, Dask, Daft, DataFusion and Ballista. No other tier has them: their
//! packages fill two gigabytes, and DataFusion compiles for minutes.

use std::process::Command;

use crate::checks::Check;
use crate::process::{cargo, probe};
use crate::python::Environment;

const ENGINES: Environment = Environment {
    folder: "target/python/corpora-environment",
    requirements: &["python/tests_corpora/requirements.txt"],
    probe: "import daft, dask.dataframe, distributed, pyarrow, pyspark, pytest, ray.data; print('ray', ray.__version__)",
};
const JAVA: &str = "Java 17 or newer, for Spark (Debian: `apt-get install openjdk-17-jre-headless`)";

/// Makes the environment, and looks for Java. Returns what is missing.
pub fn set_up() -> Vec<String> {
    let mut missing = Vec::new();
    if ENGINES.find().is_none() {
        missing.extend(ENGINES.install().err());
    }
    if probe(Command::new("java").arg("-version")).is_none() {
        missing.push(JAVA.into());
    }
    missing
}

/// Builds the extension and the command, whose translations are the expected ones, then runs the tests.
pub fn checks() -> [Check; 3] {
    let mut build = cargo();
    build.args(["build", "--workspace", "--locked", "--lib", "--bin", "wordloom"]);
    let mut sql = cargo();
    sql.args(["test", "--manifest-path", "datafusion/Cargo.toml", "--locked", "--features", "ballista"]);
    [
        Check::new("module", build),
        Check::new("sql", sql),
        Check::new("corpora", ENGINES.tests("target/python/corpora", "python/tests_corpora")),
    ]
}
