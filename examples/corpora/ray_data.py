"""Translates Parquet with Ray Data: one model in each actor, batches of Arrow.

    python ray_data.py SOURCE TRANSLATED --workers 2                                             # this machine
    RAY_ADDRESS=HOST:6379 python ray_data.py SOURCE TRANSLATED --workers 64 --device gpu --gpus 0.25   # a cluster

SOURCE has the columns id and text, TRANSLATED also translation. If the process of an actor dies, Ray starts another one and repeats its batch.
"""

import argparse

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
    parser.add_argument("--batch", type=int, default=1024, help="rows that are searched together")
    parser.add_argument("--model")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--beams", type=int)
    arguments = parser.parse_args()

    ray.init()
    translated = ray.data.read_parquet(arguments.source).map_batches(
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
