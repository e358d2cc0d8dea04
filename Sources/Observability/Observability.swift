// Observability — what the service says of itself while it runs.
//
// It owns the form of the log: one JSON object on one line of standard output per event, with the time in UTC, fit for
// any collector; the bound on lines that strangers can cause (`NoticeLimit`); and metrics, from the instruments of
// swift-metrics to Prometheus' text (`MetricRegistry`); and traces, from `traceparent` to a collector
// (`W3CTracer`, `OTLPExporter`). Which metrics and spans there are is not its business.
//
// It must not know of use cases. What may be logged is decided where the event happens; of our modules it imports
// Vocabulary, for the one JSON writer, and Curl, for the way to a collector.
