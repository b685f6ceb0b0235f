"""Many machines for many pieces of work: tasks on a Ray cluster, none lost with a machine that dies.

``session`` connects to a cluster, or starts one on this machine. ``tasks`` hands out the work and hands it out again if
the machine it was on is lost. ``remote`` is what happens on the other machine. Ray itself (extra ``ray``) is imported
only when a cluster is asked for.
"""
