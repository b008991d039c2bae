"""Two policies in the same states: what they do there, and how they go on after an error.

`pool` chooses states that either policy came to, `injected` makes more by putting an error in,
`play` lets both policies act and go on in each of them. What is compared is played afresh: it had
no part in choosing the states, in particular not in calling them errors. States of both policies
are used, for a policy knows its own ones best.
"""
