"""An audit in the formats of other tools, and back: FiftyOne, Datalab, Hugging Face, Label Studio.

Each format has a module with ``write`` and ``read``; ``FORMATS`` in ``lond.audit.formats.exchange`` lists them.
"""
