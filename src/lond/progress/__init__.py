"""Progress of long work: steps with the time left, and metrics of every epoch, sent to all listeners.

``work`` counts the steps, ``events`` carries them to listeners, ``display`` shows them on a terminal or as calm lines,
``sinks`` hands the records to TensorBoard, MLflow or Weights & Biases.
"""
