"""Translates Parquet with Daft: one model in each process of a pool.

    python daft_frames.py SOURCE TRANSLATED --workers 2                       # this machine
    DAFT_RUNNER=ray python daft_frames.py SOURCE TRANSLATED --workers 64      # a Ray cluster

SOURCE has the columns id and text, TRANSLATED also translation.
"""

import argparse

import daft
import pyarrow

from wordloom import corpora


class Translate:
    def __init__(self, **options):
        self.translator = corpora.translator(**options)

    @daft.method.batch(return_dtype=daft.DataType.string(), batch_size=1024)
    def __call__(self, texts: daft.Series):
        return daft.Series.from_arrow(pyarrow.array(self.translator.translate_arrow(texts.to_arrow())))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source")
    parser.add_argument("translated", help="a new folder")
    parser.add_argument("--workers", type=int, default=2, help="processes, each with a model")
    parser.add_argument("--threads", type=int, default=1, help="cores of a process")
    parser.add_argument("--model")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--beams", type=int)
    arguments = parser.parse_args()

    options = {name: getattr(arguments, name) for name in ("model", "device", "threads", "beams")}
    pool = daft.cls(Translate, max_concurrency=arguments.workers, use_process=True)
    source = daft.read_parquet(f"{arguments.source}/*.parquet")
    source.with_column("translation", pool(**options)(daft.col("text"))).write_parquet(arguments.translated)


if __name__ == "__main__":
    main()
