"""Outside: models that were made elsewhere and are only asked: functions, estimators, torch modules, ONNX files."""
