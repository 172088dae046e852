"""Translates Parquet with Ray Data: one model in each actor, batches of Arrow.

    python ray_data.py SOURCE TRANSLATED --workers 2                                             # this machine
    RAY_ADDRESS=HOST:6379 python ray_data.py SOURCE TRANSLATED --workers 64 --device gpu --gpus 0.25   # a cluster

SOURCE has the columns id and text, TRANSLATED also translation. If the process of an actor dies, Ray starts another one and repeats its batch.
A cluster needs a core more than all actors together: Ray lists, reads and writes files on it, and would wait for it for ever.
"""

import argparse
import math
import os

import pyarrow
import ray

from wordloom import corpora


class Translate:
    def __init__(self, **options):
        self.translator = corpora.translator(**options)

    def __call__(self, batch):
        return pyarrow.table(self.translator.translate_arrow(batch, column="text"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source")
    parser.add_argument("translated", help="a folder that is new or empty")
    parser.add_argument("--workers", type=int, default=2, help="actors, each with a model")
    parser.add_argument("--threads", type=int, default=1, help="cores of an actor")
    parser.add_argument("--gpus", type=float, default=0, help="GPUs of an actor: 0.25 puts four models on one")
    parser.add_argument("--rows", type=int, default=10_000, help="rows of a task, which begins anew if its actor dies")
    parser.add_argument("--batch", type=int, default=1024, help="rows that are searched together")
    parser.add_argument("--model")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--beams", type=int)
    arguments = parser.parse_args()

    if "RAY_ADDRESS" in os.environ:
        ray.init()
    else:  # Ray lists, reads and writes files on a core of its own
        ray.init(num_cpus=arguments.workers * arguments.threads + 1, num_gpus=math.ceil(arguments.workers * arguments.gpus))
    source = ray.data.read_parquet(arguments.source).repartition(target_num_rows_per_block=arguments.rows)
    translated = source.map_batches(
        Translate,
        fn_constructor_kwargs={name: getattr(arguments, name) for name in ("model", "device", "threads", "beams")},
        batch_format="pyarrow",
        batch_size=arguments.batch,
        compute=ray.data.ActorPoolStrategy(size=arguments.workers),
        num_cpus=arguments.threads,
        num_gpus=arguments.gpus,
        max_restarts=-1,
        max_task_retries=-1,
    )
    translated.write_parquet(arguments.translated, mode="error")


if __name__ == "__main__":
    main()
