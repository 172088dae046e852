"""Translates Parquet with Spark: batches of Arrow, one model in each Python worker, which Spark keeps for later tasks.

    spark-submit --master local[2,4] spark.py SOURCE TRANSLATED                        # this machine, four attempts for a task
    spark-submit --master spark://HOST:7077 spark.py SOURCE TRANSLATED --model FOLDER   # a cluster; Spark brings the folder to its machines

SOURCE has the columns id and text, TRANSLATED also translation. A task that fails is repeated; the rows of an attempt appear when it is done.
"""

import argparse
import shutil
import tempfile
from pathlib import Path

import pyarrow
from pyspark import SparkFiles, TaskContext
from pyspark.sql import SparkSession

from wordloom import corpora


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source")
    parser.add_argument("translated", help="a new folder")
    parser.add_argument("--model")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--beams", type=int)
    arguments = parser.parse_args()

    spark = SparkSession.builder.appName("wordloom").getOrCreate()
    is_folder = arguments.model is not None and Path(arguments.model).is_dir()
    if is_folder:
        folder = tempfile.TemporaryDirectory()  # removed at the end of the program
        archive = shutil.make_archive(str(Path(folder.name) / "model"), "zip", arguments.model)
        spark.sparkContext.addArchive(f"{archive}#model")  # unpacked once on each machine

    def translate(batches):
        model = SparkFiles.get("model") if is_folder else arguments.model
        translator = corpora.translator(
            model, arguments.device, threads=TaskContext.get().cpus(), beams=arguments.beams
        )
        for batch in batches:
            yield pyarrow.record_batch(translator.translate_arrow(batch, column="text"))

    source = spark.read.parquet(arguments.source)
    source.mapInArrow(translate, "id long, text string, translation string").write.parquet(arguments.translated)


if __name__ == "__main__":
    main()
