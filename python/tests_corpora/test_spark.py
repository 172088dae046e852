"""Spark: workers of Python in one process of Java, and a local cluster, whose executors are processes of their own."""

import shutil
import sys
from pathlib import Path

import pytest

from conftest import EXAMPLES, ROOT, run

SUBMIT = Path(sys.executable).with_name("spark-submit")
SMALL_BATCHES = "spark.sql.execution.arrow.maxRecordsPerBatch=16"
#: Two executors of one core and 1,024 MB each.
CLUSTER = "local-cluster[2,1,1024]"


def submit(job, master, *options):
    if shutil.which("java") is None:
        pytest.fail("Spark needs Java 17 or newer; install it (Debian: openjdk-17-jre-headless)")
    settings = [SMALL_BATCHES, "spark.ui.enabled=false", f"spark.local.dir={job.folder}", "spark.sql.files.openCostInBytes=1"]
    configuration = [word for setting in settings for word in ("--conf", setting)]
    command = [SUBMIT, "--master", master, *configuration, EXAMPLES / "spark.py", job.source, job.translated]
    environment = job.env | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    return run(*command, "--beams", 1, *options, env=environment)


def succeed(job, master, *options):
    done = submit(job, master, *options)
    assert done.returncode == 0, done.stdout[-8000:]


@pytest.mark.parametrize(("master", "workers"), [("local[2,4]", 2), ("local[4,4]", 4), (CLUSTER, 2)])
def test_the_text_is_the_commands(job, master, workers):
    succeed(job, master)
    job.check(workers)


@pytest.mark.parametrize(("master", "workers"), [("local[2,4]", 2), ("local[4,4]", 4)])
def test_a_killed_worker_loses_and_doubles_nothing(job, master, workers):
    succeed(job.killing(), master)
    job.check(workers, killed=True)


def test_a_killed_executor_loses_and_doubles_nothing(job):
    succeed(job.killing("executor"), CLUSTER)
    job.check(2, killed=True)


def test_without_a_second_attempt_a_killed_worker_ends_the_job(job):
    done = submit(job.killing(), "local[2,1]")
    assert done.returncode != 0 and "crashed" in done.stdout
    assert job.kill.exists() and not (job.translated / "_SUCCESS").exists()


def test_spark_brings_the_folder_of_the_model(job):
    succeed(job, CLUSTER, "--model", ROOT / "models" / "tatoeba-en-de-q8")
    job.check(2)
