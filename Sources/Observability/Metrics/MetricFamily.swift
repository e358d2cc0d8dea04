/// The declaration of a metric: its name, its help text, and the labels that distinguish its values.
package struct MetricFamily: Sendable {
    package enum Kind: Sendable, Equatable {
        /// A number that only increases, from 0 at the start of the process.
        case counter
        case gauge
        /// Counts observations, such as durations, by their size: one count for each of these upper bounds.
        ///
        /// The bounds are in ascending order.
        case histogram([Double])
    }

    package let name: String
    package let kind: Kind
    /// The help text, of one sentence.
    package let help: String
    /// The names of the labels, in the order of the output.
    package let labels: [String]
    /// The maximum number of different label sets.
    ///
    /// Beyond this number, the observations of all further label sets are counted together.
    package let max: Int
    /// Whether the values are computed each time the metrics are requested.
    ///
    /// Such a metric has no instruments that hold values.
    package let isRead: Bool

    package init(
        _ name: String,
        _ kind: Kind,
        _ help: String,
        labels: [String] = [],
        max: Int = 1000,
        isRead: Bool = false
    ) {
        self.name = name
        self.kind = kind
        self.help = help
        self.labels = labels
        self.max = Swift.max(max, 1)
        self.isRead = isRead
    }

    /// The name of the kind in Prometheus' text format.
    var type: String {
        switch kind {
        case .counter: "counter"
        case .gauge: "gauge"
        case .histogram: "histogram"
        }
    }
}

/// The value of a metric for one set of labels, at one moment.
package struct MetricSample: Sendable {
    package enum Value: Sendable, Equatable {
        case number(Double)
        /// The value of a histogram: the number of observations between the bounds, and the sum of all observed values.
        ///
        /// `counts` has a number for each bound: the observations up to this bound and above the previous one. The last
        /// number counts the observations above all bounds.
        case histogram(counts: [Int], sum: Double)
    }

    package let name: String
    /// The values of the metric's labels, in the order in which the metric declares the labels.
    package let labels: [String]
    package let value: Value

    package init(_ name: String, _ labels: [String] = [], _ value: Value) {
        self.name = name
        self.labels = labels
        self.value = value
    }

    package init(_ name: String, _ labels: [String] = [], _ number: some BinaryInteger) {
        self.init(name, labels, .number(Double(number)))
    }

    package init(_ name: String, _ labels: [String] = [], seconds: Duration) {
        self.init(name, labels, .number(seconds / .seconds(1)))
    }
}

/// The value of a metric for one set of labels, with the names of the labels.
package struct MetricReading: Sendable {
    package let labels: [String: String]
    package let value: MetricSample.Value

    /// The number of a counter or a gauge; nil for a histogram.
    package var number: Double? {
        guard case .number(let number) = value else { return nil }
        return number
    }
}
