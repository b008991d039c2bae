from turnscope.plan import submissions

ALONE = "[Mon Nov 30 20:49:17 2026]"
GROUP = "[Mon Nov 30 20:49:17 2026] Group job play (jobs in lexicogr. order):"
MEMBER = "    [Mon Nov 30 20:49:17 2026]"
COMMAND = "Shell command: python -m turnscope.stages.{} --spec {{}}"


def test_a_group_is_one_job():
    sample = COMMAND.format("sample")
    lines = [
        *(ALONE, "Job 1: Train", COMMAND.format("train")),
        *(GROUP, MEMBER, sample, MEMBER, sample),
        *(ALONE, sample),
        *(GROUP, MEMBER, sample),
    ]
    assert submissions.count(lines) == 4


def test_targets_and_what_is_planned_apart_are_none():
    lines = [ALONE, "Job 0: The study is complete", ALONE, COMMAND.format("calibrate")]
    assert submissions.count(lines) == 0


def test_without_a_word_on_groups_every_command_is_a_job():
    assert submissions.count([COMMAND.format("sample")] * 3) == 3
