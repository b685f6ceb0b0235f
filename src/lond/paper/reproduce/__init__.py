"""Tables and figures of the paper, run again on any scale and printed beside the published values.

``planning`` says which runs are needed, ``lond.results.batch`` makes what is missing, ``lines`` gathers the values,
``outputs`` and ``drawing`` write them.
"""
