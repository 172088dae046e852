"""Ray Data on a cluster of Ray that is started for each test."""

import contextlib
import os
import signal
import subprocess
import time
import sys
from pathlib import Path

import pytest

from conftest import free_port, run

RAY = Path(sys.executable).with_name("ray")
#: Tasks of two batches.
SMALL = ["--rows", 25, "--batch", 16]


@contextlib.contextmanager
def cluster(job, workers, gpus=0):
    """A node of Ray with a core for each worker and one for files, and with pretended GPUs. Gives the variable that names it."""
    port = free_port()
    options = ["--port", port, "--num-cpus", workers + 1, "--num-gpus", gpus, "--object-store-memory", 200 << 20]
    flags = ["--head", "--block", "--include-dashboard=false", "--disable-usage-stats", "--node-ip-address=127.0.0.1"]
    log = job.folder / "ray.log"
    with log.open("wb") as output:
        node = subprocess.Popen(
            [str(word) for word in [RAY, "start", *flags, *options]],
            env=os.environ | job.env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        begun = time.monotonic()
        while run(RAY, "status", "--address", f"127.0.0.1:{port}").returncode != 0:
            assert node.poll() is None and time.monotonic() < begun + 60, log.read_text()
            time.sleep(0.5)
        yield {"RAY_ADDRESS": f"127.0.0.1:{port}"}
    finally:
        node.send_signal(signal.SIGTERM)
        node.wait(60)


@pytest.mark.parametrize("workers", [2, 4])
def test_the_text_is_the_commands(job, workers):
    with cluster(job, workers) as address:
        job.example("ray_data.py", "--workers", workers, *SMALL, env=address)
    job.check(workers)


def test_four_actors_share_a_gpu(job):
    # the GPU is a number in Ray's books; the actors translate on the CPU
    with cluster(job, 4, gpus=1) as address:
        job.example("ray_data.py", "--workers", 4, "--gpus", 0.25, *SMALL, env=address)
    job.check(4)


@pytest.mark.parametrize("workers", [2, 4])
def test_a_killed_actor_loses_and_doubles_nothing(job, workers):
    with cluster(job.killing(), workers) as address:
        job.example("ray_data.py", "--workers", workers, *SMALL, env=address)
    job.check(workers, killed=True)
