package import Metrics
import NIOConcurrencyHelpers

/// All metrics of a process, which are exported in Prometheus' text format.
///
/// The metrics are declared when the registry is created. If code requests an instrument for a metric that was not
/// declared, as libraries may, it gets an instrument without effect. The same happens if the metric was declared as
/// another kind. So the export contains only metrics that were reviewed.
///
/// Updates of different instruments do not wait for each other. An export reads the instruments one after the other.
package final class MetricRegistry: MetricsFactory {
    private let families: [Family]
    private let names: [String: Int]

    package init(_ families: [MetricFamily]) {
        self.families = families.map(Family.init)
        names = Dictionary(families.enumerated().map { ($1.name, $0) }) { first, _ in first }
    }

    package var declared: [MetricFamily] { families.map(\.description) }

    /// Returns all metrics in Prometheus' text format.
    ///
    /// - Parameter samples: The current values of the metrics without instruments.
    /// - Returns: The text, in UTF-8.
    package func page(with samples: [MetricSample] = []) -> [UInt8] {
        let read = Dictionary(grouping: samples, by: \.name)
        var text = PrometheusText()
        for family in families {
            text.add(family.description, family.values + (read[family.description.name] ?? []))
        }
        return text.bytes
    }

    package func family(_ name: String) -> MetricFamily? { names[name].map { families[$0].description } }

    /// Returns the current values of the metric with this name; empty if the metric is undeclared or has no
    /// instruments.
    package func readings(of name: String) -> [MetricReading] {
        guard let family = names[name].map({ families[$0] }) else { return [] }
        let labels = family.description.labels
        return family.values.map { sample in
            MetricReading(labels: Dictionary(zip(labels, sample.labels)) { first, _ in first }, value: sample.value)
        }
    }

    /// The content type of the text that ``page(with:)`` returns.
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private func instrument<Kind>(_ name: String, _ dimensions: [(String, String)], as kind: Kind.Type) -> Kind? {
        names[name].flatMap { families[$0].instrument(dimensions, as: kind) }
    }

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        instrument(label, dimensions, as: CounterInstrument.self) ?? NOOPMetricsHandler.instance
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        instrument(label, dimensions, as: GaugeInstrument.self) ?? NOOPMetricsHandler.instance
    }

    package func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        if aggregate {
            return instrument(label, dimensions, as: HistogramInstrument.self) ?? NOOPMetricsHandler.instance
        }
        return instrument(label, dimensions, as: GaugeInstrument.self) ?? NOOPMetricsHandler.instance
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        instrument(label, dimensions, as: HistogramInstrument.self) ?? NOOPMetricsHandler.instance
    }

    // An instrument is never destroyed. Otherwise counts could be lost between two scrapes.
    package func destroyCounter(_ handler: any CounterHandler) {}
    package func destroyMeter(_ handler: any MeterHandler) {}
    package func destroyRecorder(_ handler: any RecorderHandler) {}
    package func destroyTimer(_ handler: any TimerHandler) {}
}

/// The declaration of one metric, and its instruments: one for each set of label values.
private final class Family: Sendable {
    /// The value of every label in the instrument that counts the label sets beyond the maximum number.
    private static let other = "other"

    let description: MetricFamily
    private let instruments: NIOLockedValueBox<[[String]: any Instrument]>

    init(_ description: MetricFamily) {
        self.description = description
        // A family without labels has its instrument from the start. So its value is 0 until the first change.
        let first: [[String]: any Instrument] =
            description.labels.isEmpty && !description.isRead ? [[]: description.makeInstrument()] : [:]
        instruments = NIOLockedValueBox(first)
    }

    /// Returns the instrument for a set of labels, and creates it at the first call.
    ///
    /// A label that the metric does not declare is ignored. A missing label has an empty value. The result is nil if
    /// the metric is of another kind.
    func instrument<Kind>(_ dimensions: [(String, String)], as kind: Kind.Type) -> Kind? {
        guard !description.isRead, description.instrument is Kind.Type else { return nil }
        let values = description.labels.map { name in dimensions.first { $0.0 == name }?.1 ?? "" }
        return instruments.withLockedValue { instruments in
            if let known = instruments[values] { return known as? Kind }
            var values = values
            if instruments.count >= description.max - 1 {
                values = values.map { _ in Self.other }
                if let known = instruments[values] { return known as? Kind }
            }
            let instrument = description.makeInstrument()
            instruments[values] = instrument
            return instrument as? Kind
        }
    }

    var values: [MetricSample] {
        let instruments = instruments.withLockedValue { $0 }
        return instruments.map { MetricSample(description.name, $0.key, $0.value.value) }
    }
}

extension MetricFamily {
    fileprivate var instrument: any Instrument.Type {
        switch kind {
        case .counter: CounterInstrument.self
        case .gauge: GaugeInstrument.self
        case .histogram: HistogramInstrument.self
        }
    }

    fileprivate func makeInstrument() -> any Instrument {
        switch kind {
        case .counter: CounterInstrument()
        case .gauge: GaugeInstrument()
        case .histogram(let bounds): HistogramInstrument(bounds: bounds)
        }
    }
}
