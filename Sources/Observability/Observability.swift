// Observability — logs, metrics and traces of the running service.
//
// This module owns the log format: one JSON object for each event, on a line of standard output, with the time in UTC.
// Any collector can read it. The module limits the lines that clients can cause (`NoticeLimit`). It exports metrics
// from the instruments of swift-metrics in Prometheus' text format (`MetricRegistry`), and traces from `traceparent` to
// a collector (`W3CTracer`, `OTLPExporter`). Other modules define the metrics and the spans.
//
// It must not know the use cases. The code that logs an event decides what may be logged. Of the service's modules it
// imports only Encodings and Domain, for the JSON writer, and Curl, for requests to a collector.
