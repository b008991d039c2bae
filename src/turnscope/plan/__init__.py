"""What a study will cost, before any of it runs: jobs, hours, tokens, disk and money, rule by rule.

`jobs` reads the jobs of a dry run; `work` says how much each has to do, in units such as turns;
`rates` holds what a unit took where it was measured (`rates.csv`, fitted by `measure`), `derived`
what it must take by arithmetic where it was not; `forecast` multiplies, `submissions` counts what a
cluster is given, and `show` prints.
Both commands are for a person's hands as well::

    python -m turnscope.plan < DRY_RUN
    python -m turnscope.plan.measure RESULTS ... [--output rates.csv]
"""
