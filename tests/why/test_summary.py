from turnscope.why import __main__ as why

PRINTED = """\
Building DAG of jobs...
[Tue Dec  1 00:00:00 2026]
Job 3: Train grpo, seed 0, from nano in frozen_lake
Reason: its specification changed: training.steps 60 -> 80

[Tue Dec  1 00:00:00 2026] Group job play (jobs in lexicogr. order):

    [Tue Dec  1 00:00:00 2026]
    Job 4: Play grpo-s0 of nano in frozen_lake, blind
    Reason: follows: Train grpo, seed 0, from nano in frozen_lake
[Tue Dec  1 00:00:00 2026]
Job 2: Train grpo, seed 1, from nano in frozen_lake
Reason: its specification changed: training.steps 60 -> 80; follows: Make the tasks
Job 0: The study is complete
Reason: asked for
"""


def test_equal_reasons_are_told_once_with_what_follows_counted():
    assert why.text(why.planned(PRINTED.splitlines())) == [
        "3 jobs would run",
        "",
        "its specification changed: training.steps 60 -> 80",
        "    Train grpo, seed 0, from nano in frozen_lake",
        "    Train grpo, seed 1, from nano in frozen_lake",
        "",
        "made from these",
        "    Play 1",
    ]


def test_many_jobs_are_counted_by_what_they_do():
    jobs = [(f"Draw {number}", "its code changed: a.py") for number in range(8)]
    assert why.text(jobs)[-1] == "    and more: Draw 2"
    new = [(f"Train {number}", "not made yet") for number in range(1500)]
    assert why.text(new) == ["1,500 jobs would run", "", "not made yet", "    Train 1,500"]


def test_many_reasons_are_counted():
    lines = why.text([("Draw a", f"missing: {number}") for number in range(15)])
    assert lines[-2:] == ["3 more reasons", "    Draw 3"]


def test_nothing_to_do_is_said(capsys):
    assert why.main(["Nothing to be done (all requested files are present)."]) == 0
    assert capsys.readouterr().out == "nothing would run\n"


def test_other_text_is_refused(capsys):
    assert why.main(["some text\n", " its end \n", "\n"]) == 1
    said = "error: this is no dry run with reasons; it ends with: its end\n"
    assert capsys.readouterr().err == said
