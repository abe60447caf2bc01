"""OpenTelemetry traces: the spans of a run as one tree, named and described as the semantic conventions say."""
