"""What do remote viewers cost, each with the joined table sorted by a column that keeps changing?"""

from bench.results import Figure
from bench.scenarios.freshness import note, warm
from bench.stage import ANSWER_SECONDS, Stage

VIEWERS, RATE, SECONDS = (1, 10, 50), 200, 15.0
QUICK_VIEWERS, QUICK_SECONDS = (1, 5), 4.0
TOLD = Figure("updates to each viewer", "a second", fewer_is_better=False)


def viewers(stage: Stage) -> None:
    counts, seconds = (QUICK_VIEWERS, QUICK_SECONDS) if stage.quick else (VIEWERS, SECONDS)
    for system in stage.turns():
        if system.viewers is None:
            stage.results.fail(system.name, "has nothing for remote viewers")
            continue
        with (
            stage.trying(system, "viewers"),
            warm(stage, system) as (run, running),
            running.beside(system.viewers(running.about), "viewers") as watching,
        ):
            for count in counts:
                before = watching.ask({"viewers": count}, ANSWER_SECONDS)["fetched"]
                phase = run.phase(RATE, seconds)
                case = f"{count} viewer{'s' * (count > 1)}, {RATE} messages a second"
                note(stage, case, system, phase)
                told = watching.ask({"viewers": count}, ANSWER_SECONDS)["fetched"] - before
                stage.results.add(case, system.name, TOLD, told / count / seconds)
