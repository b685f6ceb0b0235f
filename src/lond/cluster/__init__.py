"""Distribution of work over a Ray cluster; no task is lost if a machine dies.

``session`` connects to a cluster, or starts one on this machine. ``tasks`` hands out the work and hands it out again if
the machine it was on is lost. ``remote`` is what happens on the other machine. Ray itself (extra ``ray``) is imported
only when a cluster is asked for.
"""
