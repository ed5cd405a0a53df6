"""Lets a sampler of Optuna choose settings and a rate: prints "candidate rate", reads "throughput cost excess", until its input ends."""

import json
import sys
import warnings

import optuna

warnings.filterwarnings("ignore")
optuna.logging.set_verbosity(optuna.logging.ERROR)
about = json.loads(sys.argv[1])


def excess(trial):
    return (trial.user_attrs["excess"],)


samplers = {
    "TPE": lambda: optuna.samplers.TPESampler(seed=about["seed"], multivariate=True, constraints_func=excess),
    "NSGA-II": lambda: optuna.samplers.NSGAIISampler(seed=about["seed"], population_size=16, constraints_func=excess),
    "GP": lambda: optuna.samplers.GPSampler(seed=about["seed"], constraints_func=excess),
}
study = optuna.create_study(directions=["maximize", "minimize"], sampler=samplers[about["sampler"]]())
while True:
    trial = study.ask()
    candidate = 0
    for i, size in enumerate(about["sizes"]):  # the values of each setting are in order; the last setting varies fastest
        candidate = candidate * size + trial.suggest_int(f"setting {i}", 0, size - 1)
    print(candidate, trial.suggest_float("rate", about["low"], about["high"], log=True), flush=True)
    line = sys.stdin.readline()
    if not line:
        break
    throughput, cost, over = map(float, line.split())
    trial.set_user_attr("excess", over)
    study.tell(trial, [throughput, cost])
