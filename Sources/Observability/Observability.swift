// Observability — logs, metrics and traces of the running service.
//
// It owns the log format: one JSON object per line of standard output and event, with the time in UTC, for any
// collector. It limits the lines that clients can cause (`NoticeLimit`). It exports metrics, from the instruments of
// swift-metrics to Prometheus' text format (`MetricRegistry`), and traces, from `traceparent` to a collector
// (`W3CTracer`, `OTLPExporter`). Other modules define the metrics and spans.
//
// It must not know of use cases. The code that logs an event decides what may be logged. Of the service's modules it
// imports Encodings and Domain, for the one JSON writer, and Curl, for requests to a collector.
