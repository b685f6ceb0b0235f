"""Long work, told while it goes on: steps with the time left, and the record of every epoch, to whoever listens.

``work`` counts the steps, ``events`` carries them to listeners, ``display`` shows them on a terminal or as calm lines,
``sinks`` hands the records to TensorBoard, MLflow or Weights & Biases.
"""
