"""`python -m punctual_sweep plan.toml --out s3://bucket/rows --shards 100`"""

import argparse

import ray

from . import run


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m punctual_sweep", description="Sweep a plan on a Ray cluster.")
    parser.add_argument("plan")
    parser.add_argument("--out", required=True, help="a folder or an object store that all nodes reach")
    parser.add_argument("--shards", type=int, required=True, help="some for each CPU, so that none waits long for the last")
    parser.add_argument("--punctual", default="punctual", help="the command on the nodes")
    parser.add_argument("--file", action="append", default=[], help="a scenario beside the plan")
    parser.add_argument("--retries", type=int, default=3, help="how often a lost shard is run again")
    parser.add_argument("--resume", action="store_true", help="run only shards whose parts are missing")
    parser.add_argument("--address", help="the cluster [default: RAY_ADDRESS, or one on this computer]")
    parser.add_argument("--cpus", type=int, help="of a cluster on this computer [default: all]")
    given = parser.parse_args()
    ray.init(address=given.address, num_cpus=given.cpus, log_to_driver=False, include_dashboard=False)
    summary = run(
        given.plan,
        given.out,
        shards=given.shards,
        punctual=given.punctual,
        files=given.file,
        retries=given.retries,
        resume=given.resume,
    )
    print(summary, end="")


main()
