"""Features of frozen networks: computed once per image, cached by content, and used for training in place of pixels.

``read`` is the one way from images to what is known of them without training, for audits, training and prediction. It
reads each image once by ``pictures``, hashes it by ``hashes``, runs the network of ``extractor`` (on OpenVINO by
``convert``) and keeps everything in ``cache``. ``samples`` puts features in place of a run's pixels. How views are made
of features lies in ``lond.data.feature_views``, the choice of the device in ``lond.device``.
"""
