import copy
import dataclasses
import inspect
import math
import re
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.workflow.running import no_weights
from turnscope import config, registry
from turnscope.metrics import Settings

ROOT = Path(__file__).parent.parent
SCHEMA = yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text())
STUDY = yaml.safe_load((ROOT / "config.yaml").read_text())
OVERLAYS = sorted(path.name for path in (ROOT / "config").glob("*.yaml"))


def merged(base, overlay):
    """Merge as Snakemake does: mappings key by key, all else replaced."""
    for key, value in overlay.items():
        if isinstance(value, dict) and isinstance(base.get(key), dict):
            merged(base[key], value)
        else:
            base[key] = value
    return base


def study(**changes):
    """Read config.yaml and change values, named by their path with `__` for each dot."""
    result = copy.deepcopy(STUDY)
    for path, value in changes.items():
        *folders, last = path.split("__")
        place = result
        for folder in folders:
            place = place[folder]
        place[last] = value
    return result


COMMIT = "1cfa9a7208912126459214e8b04321603b3df60c"


@pytest.mark.parametrize("backend", ["transformers", "vllm"])
def test_the_study_is_legal(backend):
    """With vLLM as well, which need not be installed where a study is checked."""
    config.check(study(models__nano__backend=backend), SCHEMA)


def test_who_plays_the_episodes_of_training_is_said_for_a_model():
    given = study(models__nano__tuning={"sampler": "vllm"})
    assert config.check(given, SCHEMA)["models"]["nano"]["tuning"]["sampler"] == "vllm"
    assert "tuning" not in config.check(study(), SCHEMA)["models"]["nano"]


@pytest.fixture
def converted(tmp_path, monkeypatch):
    """A working folder in which the model of `make smoke` seems to have been converted."""
    no_weights(tmp_path / "models" / "smollm2")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_overlay_is_legal(overlay, converted):
    changes = yaml.safe_load((ROOT / "config" / overlay).read_text())
    config.check(merged(study(), changes), SCHEMA)


def test_defaults_are_filled_in_and_the_input_is_left_alone():
    given = study(arms={"grpo": {}})
    before = copy.deepcopy(given)
    complete = config.check(given, SCHEMA)
    assert complete["arms"]["grpo"] == {"options": {}, "training": {}}
    assert given == before


def test_what_ties_is_by_default_what_metrics_take():
    given = study()
    del given["matched"]["tie"]
    default = next(one.default for one in dataclasses.fields(Settings) if one.name == "tie")
    assert config.check(given, SCHEMA)["matched"]["tie"] == default == study()["matched"]["tie"]


def alone(arm, **section):
    """A study of one arm."""
    return study(
        arms={arm: section},
        study__arms=[arm],
        metrics__reference=arm,
        sampling__told__policies=["base"],
        matched__arms=[arm],
    )


def test_an_arm_may_name_its_algorithm():
    complete = config.check(alone("slow", algorithm="grpo"), SCHEMA)
    assert config.algorithm_of(complete, "slow") == "grpo"
    assert config.algorithm_of(study(), "grpo") == "grpo"


def test_an_arm_of_the_study_without_a_section_is_the_algorithm_of_its_name():
    complete = config.check(study(arms={}, study__arms=["grpo", "budget_mix"]), SCHEMA)
    plain = {"options": {}, "training": {}}
    assert complete["arms"] == {"grpo": plain, "budget_mix": plain}


def test_arms_that_see_the_turns_left_are_told_apart():
    complete = config.check(study(), SCHEMA)
    told = [arm for arm in complete["arms"] if config.told(complete, arm)]
    assert told == ["budget_mix_told"]


def test_a_reference_outside_the_study_is_legal_if_nothing_is_compared_with_it():
    given = study(study__arms=["gigpo", "ppo"], sampling__told__policies=["base"])
    line = (
        r"^metrics\.reference: 'grpo' is no arm of the study, and metric 'between_arms' compares "
        r"with it; legal is gigpo, ppo$"
    )
    with pytest.raises(ValueError, match=line):
        config.check(given, SCHEMA)
    given["study"]["metrics"] = ["pass_at_kt"]
    given |= {"figures": ["pass_at_k"], "summaries": []}
    config.check(given, SCHEMA)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"matched__arms": ["ppo"]},
            r"matched\.arms: 'ppo' is no arm of the study, and metric '\w+'",
        ),
        (
            {
                "matched__arms": ["budget_mix_told"],
                "study__arms": ["grpo", "budget_mix_told"],
            },
            r"matched\.arms: 'budget_mix_told' is trained seeing .* legal is grpo$",
        ),
        ({"matched__arms": []}, r"matched\.arms: names no arm, and metric '\w+' compares one"),
        ({"matched__scored": 33}, r"matched\.scored: 33 is above sampling\.episodes = 32"),
        ({"matched__heated": 7}, r"metrics\.k: 8 is above matched\.heated = 7"),
        (
            {"sampling__temperature": 0.7},
            r"sampling\.temperature: 0\.7 is not 1, and metric 'likeli",
        ),
    ],
)
def test_a_comparison_that_cannot_be_made_is_refused(changes, line):
    with pytest.raises(ValueError, match=f"^{line}"):
        config.check(study(**changes), SCHEMA)


def test_heated_policies_need_likelihoods_too():
    plain = {"figures": ["pass_at_k"], "summaries": []}
    plain |= {"study__metrics": ["pass_at_kt", "entropy_matched"]}
    for changes, line in (
        ({"sampling__temperature": 0.7}, "sampling.temperature: 0.7 is not 1"),
        ({"matched__scored": 33}, "matched.scored: 33 is above sampling.episodes"),
    ):
        with pytest.raises(ValueError, match=f"^{re.escape(line)}"):
            config.check(study(**plain, **changes), SCHEMA)


def test_what_is_not_compared_may_be_named():
    plain = {"figures": ["pass_at_k"], "summaries": [], "study__metrics": ["pass_at_kt"]}
    config.check(study(matched__arms=["ppo"], **plain), SCHEMA)


def test_an_arm_that_sees_the_turns_left_must_be_played_so():
    plain = {"figures": ["pass_at_k"], "summaries": [], "study__metrics": ["pass_at_kt"]}
    line = (
        r"^study\.metrics: 'awareness' is missing; arm 'budget_mix_told' is trained seeing the "
        r"turns left, and is played so for that metric alone$"
    )
    with pytest.raises(ValueError, match=line):
        config.check(study(study__arms=["grpo", "budget_mix_told"], **plain), SCHEMA)
    config.check(study(study__arms=["grpo", "budget_mix"], **plain), SCHEMA)
    plain["study__metrics"] = ["pass_at_kt", "awareness"]
    config.check(study(study__arms=["grpo", "budget_mix_told"], **plain), SCHEMA)


def test_an_arm_may_be_matched_with_one_outside_the_study():
    given = study(study__arms=["grpo", "grpo_matched"])
    config.check(given, SCHEMA)
    given["arms"]["budget_mix"] = {"training": {"tasks": 5000}}
    with pytest.raises(ValueError, match=r"^arms\.budget_mix\.training\.tasks: 5000 is above"):
        config.check(given, SCHEMA)


def test_an_arm_that_needs_step_qualities_needs_an_environment_that_has_them(monkeypatch):
    from turnscope.environments import frozen_lake

    monkeypatch.delattr(frozen_lake, "step_quality")
    line = (
        r"^arms\.oracle_process: it needs a step_quality, and environment 'frozen_lake' has none$"
    )
    with pytest.raises(ValueError, match=line):
        config.check(study(study__arms=["grpo", "oracle_process"]), SCHEMA)
    config.check(study(study__arms=["grpo"]), SCHEMA)


LAKE = "environments__frozen_lake"
REFUSALS = [
    ({"sede": 1}, "sede: unknown key 'sede' (did you mean seed?); known: seed, environments, "),
    ({"training__lerning_rate": 1}, "training.lerning_rate: unknown key 'lerning_rate' (did you"),
    ({"arms__grpo": {"rate": 1}}, "arms.grpo.rate: unknown key 'rate'; known: algorithm, options"),
    (
        {"study__environments": ["frozen_lak"]},
        "study.environments: unknown environment 'frozen_lak' (did you mean frozen_lake?); "
        "known: frozen_lake",
    ),
    ({"environments__pond": study()["environments"]["frozen_lake"]}, "environments: unknown envi"),
    ({"study__models": ["nanno"]}, "study.models: unknown model 'nanno' (did you mean nano?); kn"),
    ({"study__arms": ["gpro"]}, "study.arms: unknown arm 'gpro' (did you mean grpo?); known: grp"),
    (
        {"arms__grpo": {"tokens_of": "budgetmix"}},
        "arms.grpo.tokens_of: unknown arm 'budgetmix' (did you mean budget_mix?); known: ",
    ),
    (
        {"arms__grpo": {"tokens_of": "grpo"}},
        "arms.grpo.tokens_of: 'grpo' has tokens_of itself; legal is gigpo, oracle_process, ppo",
    ),
    (
        {"arms__gigpo": {"tokens_of": "grpo_matched"}},
        "arms.gigpo.tokens_of: 'grpo_matched' has tokens_of itself; legal is grpo, oracle_process",
    ),
    (
        {"metrics__reference": "gpro"},
        "metrics.reference: unknown arm 'gpro' (did you mean grpo?); ",
    ),
    (
        {"sampling__told__policies": ["base", "ppo"]},
        "sampling.told.policies: unknown policy 'ppo'",
    ),
    (
        {"sampling__told__shares": [0.5, 1.5]},
        "sampling.told.shares.1: 1.5 is not legal; legal is at most 1",
    ),
    (
        {"sampling__told__episodes": 4},
        "metrics.k: 8 is above sampling.told.episodes = 4; legal is at most 4",
    ),
    (
        {"training__progress__tasks": 501},
        "training.progress.tasks: 501 is above environments.frozen_lake.tasks.test = 500; legal is",
    ),
    (
        {"training__progress__statez": 5},
        "training.progress.statez: unknown key 'statez' (did you mean states?); known: tasks, epis",
    ),
    (
        {"training__progress": None},
        "training.progress: this key is missing; metric 'step_reward' is made from it",
    ),
    ({"training__progress": []}, "training.progress: [] is not legal; legal is object or null"),
    (
        {"summaries": ["budgetmix"]},
        "summaries: unknown summary 'budgetmix' (did you mean budget_mi",
    ),
    ({"arms__gprp": {}}, "arms.gprp: unknown algorithm 'gprp' (did you mean grpo?); known: "),
    ({"arms__base": {}}, "arms: 'base' is not legal; legal is anything but base, bound"),
    ({"arms__GRPO": {}}, "arms: 'GRPO' is not legal; legal is lower-case letters, digits"),
    ({"study__metrics": ["pass_at_tk"]}, "study.metrics: unknown metric 'pass_at_tk' (did you me"),
    ({"figures": ["pass_at_kk"]}, "figures: unknown figure 'pass_at_kk' (did you mean pass_at_k?"),
    ({"study__metrics": ["pass_at_kt"]}, "study.metrics: 'crossover' is missing; figure 'pass_at"),
    ({"models__nano__backend": "vlm"}, "models.nano.backend: unknown backend 'vlm' (did you mean"),
    (
        {"models__nano__tuning": {"sampler": "vlm"}},
        "models.nano.tuning.sampler: 'vlm' is not legal",
    ),
    ({"models__nano__path": "x"}, "models.nano: needs exactly one of build, path"),
    ({f"{LAKE}__budget__turns": -1}, "environments.frozen_lake.budget.turns: -1 is not legal; le"),
    ({f"{LAKE}__budget__tokens": 0}, "environments.frozen_lake.budget.tokens: 0 is not legal; le"),
    (
        {f"{LAKE}__budget__turns": 1, "metrics__truncation__shares": []},
        "environments.frozen_lake.budget.turns: 1 is below what any task needs; legal is at",
    ),
    ({f"{LAKE}__tasks__holes": 3}, "environments.frozen_lake.tasks.holes: unknown option 'holes'"),
    (
        {f"{LAKE}__options__sight": "map"},
        "environments.frozen_lake.options.sight: unknown option 's",
    ),
    ({f"{LAKE}__tasks__slip": 2}, "environments.frozen_lake.tasks: slip is 2; legal is between 0"),
    ({"arms__grpo__options": {"scal": 1}}, "arms.grpo.options.scal: unknown option 'scal' (did y"),
    (
        {"metrics__ks": [1, 8, 64]},
        "metrics.ks: 64 is above sampling.episodes = 32; legal is at most 32",
    ),
    ({"metrics__k": 64}, "metrics.k: 64 is above sampling.episodes = 32; legal is at most 32"),
    (
        {"sampling__shards": 33},  # 16 tasks fill a batch
        "sampling.shards: 33 is above 32, the parts of 500 tasks that end with a whole batch "
        "(sampling.batch: 512, sampling.episodes: 32); legal is at most 32",
    ),
    (
        {"sampling__shards": 2, "sampling__batch": 511},
        "sampling.shards: 2 is above 1, the parts of 500 tasks that end with a whole batch",
    ),
    ({"sampling__shards": 0}, "sampling.shards: 0 is not legal; legal is at least 1"),
    ({"metrics__k": 3}, "metrics.k: 3 is not one of metrics.ks; legal is 1, 2, 4, 8, 16, 32"),
    (
        {"metrics__truncation__episodes": 4},
        "metrics.k: 8 is above metrics.truncation.episodes = 4; legal is at most 4",
    ),
    (
        {"metrics__truncation__shares": [0.3, 1.0]},
        "metrics.truncation.shares.1: 1.0 is not legal; legal is below 1",
    ),
    (
        {"metrics__truncation__shares": [0.96, 0.99]},
        "metrics.truncation.shares: none of 0.96, 0.99 is less than the 20 turns of frozen_lake, "
        "rounded up; legal is a smaller share, or none",
    ),
    (
        {"training__tasks": 5000},
        "training.tasks: 5000 is above environments.frozen_lake.tasks.train = 4000; legal is at mo",
    ),
    (
        {"arms__grpo": {"training": {"tasks": 5000}}},
        "arms.grpo.training.tasks: 5000 is above environments.frozen_lake.tasks.train = 4000; ",
    ),
    (
        {"models__nano__build__batch": 30000},
        "models.nano.build.batch: 30000 is above models.nano.build.episodes = 12000; legal is at m",
    ),
    ({"metrics__shares": [0.5, 1.5]}, "metrics.shares.1: 1.5 is not legal; legal is at most 1"),
    ({"training__seeds": []}, "training.seeds: [] is not legal; legal is a list of at least 1"),
    ({"training__seeds": [0, 0]}, "training.seeds: [0, 0] is not legal; legal is a list without"),
    ({"training__steps": "many"}, "training.steps: 'many' is not legal; legal is integer"),
    ({"training__group": 1}, "training.group: 1 is not legal; legal is at least 2"),
    ({"training__steps": 4.0}, "training.steps: 4.0 is not legal; legal is integer"),
    ({"training__kl": math.nan}, "training.kl: nan is not legal; legal is number"),
    ({"seed": True}, "seed: True is not legal; legal is integer"),
    ({"arms": {1: {}}}, "arms: 1 is not legal; legal is string"),
    ({"models__nano__backend": "oracle"}, "models.nano.backend: 'oracle' plays without a model; "),
    (
        {"models__nano__build__skill": [0.9, 0.5]},
        "models.nano.build.skill: [0.9, 0.5] falls; legal is the lower number first",
    ),
    (
        {"models__nano__build": {"heads": 6, "kv_heads": 4}},
        "models.nano.build.kv_heads: 4 does not divide models.nano.build.heads = 6; legal is 1, 2,",
    ),
    ({"models__nano__build": {"kv_heads": 3}}, "models.nano.build.kv_heads: 3 does not divide"),
    (
        {"models__nano__build__head_dim": 5},
        "models.nano.build.head_dim: 5 is odd; legal is an even number",
    ),
    ({f"{LAKE}__tasks__test": 0}, "environments.frozen_lake.tasks.test: 0 is not legal; legal is"),
    (
        {f"{LAKE}__tasks__sizes": [4, "5"]},
        "environments.frozen_lake.tasks.sizes.1: '5' is not legal; legal is integer",
    ),
    (
        {f"{LAKE}__tasks__frozen": "most"},
        "environments.frozen_lake.tasks.frozen: 'most' is not legal; legal is number",
    ),
    (
        {f"{LAKE}__options__view": "grdi"},
        "environments.frozen_lake.options: unknown view 'grdi'; known: position, map, grid",
    ),
    (
        {"arms__grpo__options": {"scale": "median"}},
        "arms.grpo.options: scale is 'median'; legal is group, batch, none",
    ),
    (
        {"arms__grpo__options": {"scale": 1}},
        "arms.grpo.options.scale: 1 is not legal; legal is string",
    ),
]


@pytest.mark.parametrize(("changes", "line"), REFUSALS)
def test_a_study_that_cannot_run_is_refused_in_one_line(changes, line):
    with pytest.raises(ValueError, match="^" + re.escape(line)) as refusal:
        config.check(study(**changes), SCHEMA)
    assert "\n" not in str(refusal.value)


def two(**changes):
    """A study of both environments; changes of deepcoder start with `code__`."""
    renamed = {
        f"environments__deepcoder__{path.removeprefix('code__')}" if "code__" in path else path: one
        for path, one in changes.items()
    }
    return study(**{"study__environments": ["frozen_lake", "deepcoder"], **renamed})


def test_an_environment_without_changes_has_the_common_settings():
    complete = config.check(study(), SCHEMA)
    here = config.within(complete, "frozen_lake")
    assert here == complete


def test_an_environment_changes_single_settings_for_itself():
    given = two(
        code__build={"hidden": 32, "learning_rate": 1},
        code__training={"steps": 5},
        code__progress={"states": 7},
        code__sampling={"episodes": 64, "shards": 3, "told": {"episodes": 9}},
        code__matched={"states": 33, "tie": 1},
    )
    complete = config.check(given, SCHEMA)
    here, there = (config.within(complete, env) for env in ("deepcoder", "frozen_lake"))
    expected = copy.deepcopy(there)
    expected["models"]["nano"]["build"] |= {"hidden": 32, "learning_rate": 1.0}
    expected["training"] |= {"steps": 5}
    expected["training"]["progress"]["states"] = 7
    expected["sampling"] |= {"episodes": 64, "shards": 3}
    expected["sampling"]["told"]["episodes"] = 9
    expected["matched"] |= {"states": 33, "tie": 1.0}
    expected["study"]["environments"] = ["deepcoder"]
    assert here == expected
    assert type(here["models"]["nano"]["build"]["learning_rate"]) is float
    assert there["training"] == config.check(study(), SCHEMA)["training"]


def test_a_model_that_is_loaded_is_not_built_anywhere():
    model = {"backend": "transformers", "path": "Qwen/Qwen3-4B", "revision": COMMIT}
    given = two(models={"big": model}, study__models=["big"], code__build={"hidden": 32})
    assert config.within(config.check(given, SCHEMA), "deepcoder")["models"] == {"big": model}


def test_arms_that_run_in_an_environment_keep_the_order_of_the_study():
    given = two(
        study__arms=["gigpo", "grpo", "budget_mix", "ppo"],
        code__arms=["grpo", "ppo_turn", "gigpo"],
        sampling__told__policies=["base", "ppo", "gigpo"],
        matched__arms=["budget_mix", "grpo"],
    )
    here = config.within(config.check(given, SCHEMA), "deepcoder")
    assert here["study"]["arms"] == ["gigpo", "grpo"]
    assert here["sampling"]["told"]["policies"] == ["base", "gigpo"]
    assert here["matched"]["arms"] == ["grpo"]


def test_budgets_that_round_up_to_the_largest_are_not_played_again():
    given = two(metrics__truncation__shares=[0.3, 0.32, 0.6, 0.9], code__budget__turns=8)
    complete = config.check(given, SCHEMA)
    assert config.played_again(complete, "deepcoder") == [3, 5]
    assert config.played_again(complete, "frozen_lake") == [6, 7, 12, 18]
    complete = config.check(two(metrics__truncation__shares=[]), SCHEMA)
    assert config.played_again(complete, "deepcoder") == []


CODE = "environments.deepcoder"
MISFITS = [
    ({"code__arms": ["grpo", "gipo"]}, f"{CODE}.arms: unknown arm 'gipo' (did you mean gigpo?); "),
    ({"code__arms": []}, f"{CODE}.arms: [] is not legal; legal is a list of at least 1"),
    (
        {"code__arms": ["ppo"]},
        f"{CODE}.arms: none of ppo is an arm of the study; legal is grpo, gigpo, budget_mix",
    ),
    (
        {"code__arms": ["gigpo"]},
        f"{CODE}.arms: 'grpo' is missing; it is metrics.reference, and metric 'between_arms' comp",
    ),
    (
        {"matched__arms": ["budget_mix"], "code__arms": ["grpo"]},
        f"{CODE}.arms: holds none of matched.arms = budget_mix, and metric 'step_quality' compares",
    ),
    (
        {
            "study__environments": ["deepcoder"],
            "study__arms": ["grpo", "ppo"],
            "code__arms": ["grpo"],
        },
        f"study.arms: 'ppo' runs in no environment of the study; legal is to name it in {CODE}.ar",
    ),
    ({"code__build": {"hiddn": 3}}, f"{CODE}.build.hiddn: unknown key 'hiddn' (did you mean hidd"),
    (
        {"code__build": {"kv_heads": 3}},
        f"{CODE}.build.kv_heads: 3 does not divide models.nano.build.heads = 4; legal is 1, 2, 4",
    ),
    (
        {"code__build": {"heads": 3}, "models__nano__build__kv_heads": 2},
        f"models.nano.build.kv_heads: 2 does not divide {CODE}.build.heads = 3; legal is 1, 3",
    ),
    ({"code__training": {"seeds": [1]}}, f"{CODE}.training.seeds: unknown key 'seeds'"),
    (
        {"code__training": {"tasks": 3000}, "code__tasks__train": 2000},
        f"{CODE}.training.tasks: 3000 is above {CODE}.tasks.train = 2000; legal is at most 2000",
    ),
    (
        {"training__tasks": 2001, "code__tasks__train": 2000},
        f"training.tasks: 2001 is above {CODE}.tasks.train = 2000; legal is at most 2000",
    ),
    (
        {"code__progress": {"tasks": 301}},
        f"{CODE}.progress.tasks: 301 is above {CODE}.tasks.test = 300; legal is at most 300",
    ),
    (
        {
            "training__progress": None,
            "study__metrics": ["pass_at_kt"],
            "figures": ["pass_at_k"],
            "summaries": [],
            "code__progress": {"tasks": 3},
        },
        f"{CODE}.progress: training.progress is null, so there is nothing to change",
    ),
    (
        {"code__sampling": {"episodes": 16}},
        f"metrics.ks: 32 is above {CODE}.sampling.episodes = 16; legal is at most 16",
    ),
    (
        {"code__sampling": {"told": {"episodes": 7}}},
        f"metrics.k: 8 is above {CODE}.sampling.told.episodes = 7; legal is at most 7",
    ),
    (
        {"code__sampling": {"batch": 64, "shards": 151}},
        f"{CODE}.sampling.shards: 151 is above 150, the parts of 300 tasks that end with a whole "
        f"batch ({CODE}.sampling.batch: 64, sampling.episodes: 32); legal is at most 150",
    ),
    ({"code__sampling": {"temperature": 2}}, f"{CODE}.sampling.temperature: unknown key 'tempera"),
    ({"code__matched": {"arms": ["grpo"]}}, f"{CODE}.matched.arms: unknown key 'arms'; known: st"),
    (
        {"code__matched": {"tie": 1.5}},
        f"{CODE}.matched.tie: 1.5 is not legal; legal is at most 1",
    ),
    (
        {"matched__tie": -0.01},
        "matched.tie: -0.01 is not legal; legal is at least 0",
    ),
    (
        {"code__matched": {"scored": 33}},
        f"{CODE}.matched.scored: 33 is above sampling.episodes = 32; legal is at most 32",
    ),
    (
        {"code__matched": {"heated": 7}},
        f"metrics.k: 8 is above {CODE}.matched.heated = 7; legal is at most 7",
    ),
    (
        {"metrics__truncation__shares": [0.85], "code__budget__turns": 6},
        "metrics.truncation.shares: none of 0.85 is less than the 6 turns of deepcoder, rounded up",
    ),
]


@pytest.mark.parametrize(("changes", "line"), MISFITS)
def test_what_does_not_fit_in_one_environment_is_refused_in_one_line(changes, line):
    with pytest.raises(ValueError, match="^" + re.escape(line)) as refusal:
        config.check(two(**changes), SCHEMA)
    assert "\n" not in str(refusal.value)


def test_an_environment_that_is_not_run_may_lack_what_the_study_needs():
    few = {"arms": ["ppo"], "tasks": {"train": 2000, "test": 300}}
    given = study(training__tasks=3000)
    given["environments"]["deepcoder"] |= few
    config.check(given, SCHEMA)


WRONG = [None, True, -1, 0, 1.5, math.nan, 1e300, "x", "", [], [1], ["x"], {}, {"a": 1}, {1: 2}]


def leaves(value, path=()):
    """Yield the path of every entry of a study, sections as well."""
    yield path
    parts = value.items() if isinstance(value, dict) else []
    for key, part in parts:
        yield from leaves(part, (*path, key))


@pytest.mark.parametrize("path", list(leaves(study()))[1:], ids=".".join)
def test_a_wrong_type_anywhere_is_refused_in_one_line_or_harmless(path):
    for wrong in WRONG:
        try:
            config.check(study(**{"__".join(path): wrong}), SCHEMA)
        except ValueError as refusal:
            said = str(refusal)
            assert "\n" not in said
            assert re.match(r"[a-z_0-9.]+: .", said), said


def loaded(path, **more):
    model = {"backend": "transformers", "path": str(path), **more}
    return study(models={"big": model}, study__models=["big"])


def test_a_model_may_be_a_folder_or_a_name_on_the_hub_that_is_not_here_yet(tmp_path):
    config.check(loaded("Qwen/Qwen3-4B", revision=COMMIT), SCHEMA)
    folder = no_weights(tmp_path / "model")
    config.check(loaded(folder), SCHEMA)
    config.check(loaded(folder, template="qwen3", thinking=True, dtype="float32"), SCHEMA)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (
            loaded("Qwen/Qwen3-4B"),
            "models.big.revision: null is not legal with 'Qwen/Qwen3-4B', which is no folder here "
            "and so a name on the hub; legal is a commit hash of 40 hex digits, for branches move",
        ),
        (
            loaded("Qwen/Qwen3-4B", revision="main"),
            "models.big.revision: 'main' is not legal with ",
        ),
        (
            loaded("Qwen/Qwen3-4B", revision=COMMIT[:12]),
            "models.big.revision: '1cfa9a720891' is no",
        ),
        (
            loaded("/no/such/folder"),
            "models.big.path: '/no/such/folder' is no folder here; legal is a folder with ",
        ),
        (loaded("qwen3"), "models.big.path: 'qwen3' is no folder here; legal is a folder with "),
        (loaded(""), "models.big.path: '' is not legal; legal is "),
        (
            loaded(ROOT / "docs"),
            f"models.big.path: '{ROOT}/docs' holds no model: config.json is missing; legal is a ",
        ),
        (
            loaded("a/b", revision=COMMIT, template="qwen2"),
            "models.big.template: unknown template 'qwen2' (did you mean qwen3?); known: qwen3",
        ),
        (
            loaded("a/b", revision=COMMIT, thinking=False),
            "models.big.thinking: it is decided in a template of ours, and models.big.template is ",
        ),
        (
            loaded("a/b", revision=COMMIT, dtype="int8"),
            "models.big.dtype: 'int8' is not legal; legal is bfloat16, float16, float32, None",
        ),
        (
            study(models__nano__template="qwen3"),
            "models.nano.template: the model is built; legal is this key with `path`",
        ),
    ],
)
def test_a_model_that_cannot_be_taken_is_refused(given, line):
    with pytest.raises(ValueError, match="^" + re.escape(line)):
        config.check(given, SCHEMA)


def test_a_model_that_the_study_does_not_use_need_not_be_there():
    config.check(study(models__big={"backend": "transformers", "path": "no/such"}), SCHEMA)


def test_a_missing_key_is_named():
    given = study()
    del given["training"]["steps"]
    with pytest.raises(ValueError, match=r"^training\.steps: this key is missing$"):
        config.check(given, SCHEMA)


@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name) for kind in ("figures", "summaries") for name in registry.names(kind)],
)
def test_sources_are_read_without_importing_what_shows_them(kind, name):
    known = {*registry.names("metrics"), *config.TABLES}
    assert set(config.declared(kind, name, "SOURCES")) <= known


def test_what_a_summary_shows_must_be_estimated():
    sources = config.declared("summaries", "budget_mix", "SOURCES")
    missing = next(name for name in sources if name != "training")
    kept = [name for name in study()["study"]["metrics"] if name != missing]
    line = f"^study.metrics: '{missing}' is missing; summary 'budget_mix' shows it$"
    with pytest.raises(ValueError, match=line):
        config.check(study(study__metrics=kept, figures=["training_health"]), SCHEMA)


def test_a_metric_says_what_it_is_made_from_or_is_made_from_episodes():
    assert config.declared("metrics", "step_reward", "SOURCE", "episodes") == "progress"
    assert config.declared("metrics", "pass_at_kt", "SOURCE", "episodes") == "episodes"


def test_a_constant_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match=r"figures/pass_at_k\.py does not declare NOTHING"):
        config.declared("figures", "pass_at_k", "NOTHING")


def test_the_schema_knows_the_recipes():
    from turnscope import nano, practice

    build = SCHEMA["$defs"]["build"]["properties"]
    assert nano.Recipe() == nano.Recipe(
        **{name: part["default"] for name, part in build.items() if name != "skill"},
        skill=tuple(build["skill"]["default"]),
    )
    for name, recipe in (("build", nano.Recipe), ("recipe", practice.Recipe)):
        fields = [field.name for field in dataclasses.fields(recipe)]
        assert list(SCHEMA["$defs"][name]["properties"]) == fields


def test_the_schema_knows_how_weights_are_trained():
    from turnscope import tuning

    parts = SCHEMA["$defs"]["tuning"]["properties"]
    assert {name: part["default"] for name, part in parts.items()} == dataclasses.asdict(
        tuning.Tuning()
    )
    for name, known in (
        ("method", tuning.METHODS),
        ("sampler", tuning.SAMPLERS),
        ("sharding", tuning.SHARDINGS),
    ):
        assert tuple(parts[name]["enum"]) == known


def tuned(**tuning):
    model = {"backend": "transformers", "path": "Qwen/Qwen3-4B", "tuning": tuning}
    model["revision"] = "1cfa9a7208912126459214e8b04321603b3df60c"
    return study(models__big=model, study__models=["big"])


def test_a_loaded_model_may_say_how_it_is_trained():
    complete = config.check(tuned(processes=4), SCHEMA)
    assert complete["models"]["big"]["tuning"] == {
        "method": "full",
        "rank": 32,
        "alpha": 64,
        "sampler": "transformers",
        "server": False,
        "processes": 4,
        "sharding": "none",
    }
    assert "tuning" not in complete["models"]["nano"]


@pytest.mark.parametrize(
    ("tuning", "message"),
    [
        ({"method": "qlora"}, "models.big.tuning.method: 'qlora'"),
        ({"processes": 0}, "models.big.tuning.processes: 0"),
        ({"processes": 3}, "models.big.tuning.processes: 3 do not divide the 16 tasks of a step"),
        ({"sharding": "fsdp"}, "models.big.tuning.sharding: 'fsdp' needs processes above 1"),
        (
            {"sharding": "fsdp", "processes": 2, "method": "lora"},
            "models.big.tuning.sharding: 'fsdp' is for method full",
        ),
        ({"server": True}, "models.big.tuning.server: there is none of sampler 'transformers'"),
    ],
)
def test_a_model_that_cannot_be_trained_so_is_refused(tuning, message):
    with pytest.raises(ValueError, match="models") as caught:
        config.check(tuned(**tuning), SCHEMA)
    assert str(caught.value).startswith(message)


def test_a_model_that_is_built_is_trained_whole():
    with pytest.raises(ValueError, match=r"^models\.nano\.tuning\.method: 'lora' is for models"):
        config.check(study(models__nano__tuning={"method": "lora"}), SCHEMA)


def test_the_study_spells_out_the_recipes():
    from turnscope import nano, practice

    for given, recipe in (
        (study()["models"]["nano"]["build"], nano.Recipe),
        (study()["training"], practice.Recipe),
    ):
        assert set(given) - {"seeds", "progress"} == {
            field.name for field in dataclasses.fields(recipe)
        }


def test_a_check_imports_nothing_heavy():
    code = (
        "import sys, yaml; from turnscope import config; "
        f"config.check(yaml.safe_load(open({str(ROOT / 'config.yaml')!r})), "
        f"yaml.safe_load(open({str(ROOT / 'workflow/schemas/config.schema.yaml')!r}))); "
        "print(*sorted({'torch', 'trl', 'transformers', 'pandas', 'pyarrow', 'matplotlib'} "
        "& set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_the_metrics_settings_fit():
    from turnscope.metrics import Settings

    complete = config.check(study(), SCHEMA)
    settings = {key: value for key, value in complete["metrics"].items() if key != "truncation"}
    inspect.signature(Settings).bind(**settings, seed=complete["seed"])


def test_a_plugin_that_lacks_something_is_named_in_one_line():
    module: Any = types.ModuleType("turnscope.environments.guess")
    module.tasks = module.Environment = module.words = None
    found = list(config._lacks("environments.guess", module, ["tasks", "gold", "least_turns"]))
    line = "environments.guess: turnscope.environments.guess does not define gold, least_turns"
    assert found == [line]
