"""Translates Parquet with Dask: one model in each worker process.

    python dask_frames.py SOURCE TRANSLATED --workers 2                     # this machine
    python dask_frames.py SOURCE TRANSLATED --scheduler tcp://HOST:8786     # a cluster

SOURCE has the columns id and text, TRANSLATED also translation. If a worker dies, its nanny starts another one and Dask repeats its tasks.
"""

import argparse

import dask.dataframe
import pandas
import pyarrow
from dask.distributed import Client

from wordloom import corpora


def translate(frame, **options):
    texts = pyarrow.array(frame["text"], pyarrow.string())
    found = pyarrow.array(corpora.translator(**options).translate_arrow(texts))
    return frame.assign(translation=pandas.Series(found.to_pandas(), index=frame.index, dtype=frame["text"].dtype))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source")
    parser.add_argument("translated", help="a new folder")
    parser.add_argument("--workers", type=int, default=2, help="processes, each with a model")
    parser.add_argument("--threads", type=int, default=1, help="cores of a worker")
    parser.add_argument("--scheduler", help="address of a cluster's scheduler")
    parser.add_argument("--model")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--beams", type=int)
    arguments = parser.parse_args()

    local = {"n_workers": arguments.workers, "threads_per_worker": 1}  # tasks of a worker run one after another
    with Client(arguments.scheduler) if arguments.scheduler else Client(**local):
        source = dask.dataframe.read_parquet(arguments.source)
        options = {name: getattr(arguments, name) for name in ("model", "device", "threads", "beams")}
        meta = source._meta.assign(translation=source._meta["text"])
        source.map_partitions(translate, **options, meta=meta).to_parquet(arguments.translated, write_index=False)


if __name__ == "__main__":
    main()
