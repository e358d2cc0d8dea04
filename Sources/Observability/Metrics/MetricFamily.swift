/// The declaration of a metric: its name, its help text, and the labels that distinguish its values.
package struct MetricFamily: Sendable {
    package enum Kind: Sendable, Equatable {
        /// Only rises, from 0 at the start of the process.
        case counter
        case gauge
        /// The number of observations up to each of these bounds, which are in ascending order.
        case histogram([Double])
    }

    package let name: String
    package let kind: Kind
    /// The help text, of one sentence.
    package let help: String
    /// The names of the labels, in the order of the output.
    package let labels: [String]
    /// The most label sets; observations of further ones are counted together.
    package let most: Int
    /// Whether the values are read when the page is requested, and not kept in instruments.
    package let isRead: Bool

    package init(
        _ name: String,
        _ kind: Kind,
        _ help: String,
        labels: [String] = [],
        most: Int = 1000,
        isRead: Bool = false
    ) {
        self.name = name
        self.kind = kind
        self.help = help
        self.labels = labels
        self.most = max(most, 1)
        self.isRead = isRead
    }

    /// The name of the kind in the text format.
    var type: String {
        switch kind {
        case .counter: "counter"
        case .gauge: "gauge"
        case .histogram: "histogram"
        }
    }
}

/// A value of a family at one time.
package struct MetricSample: Sendable {
    package enum Value: Sendable, Equatable {
        case number(Double)
        /// The number of observations up to each bound and above the one before, with those above all bounds last; and
        /// the sum of all observations.
        case histogram(counts: [Int], sum: Double)
    }

    package let name: String
    /// The values of the family's labels, in the order of the labels.
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

/// A value of a family, with its labels by name.
package struct MetricReading: Sendable {
    package let labels: [String: String]
    package let value: MetricSample.Value

    /// The number of a counter or a gauge; nil for a histogram.
    package var number: Double? {
        guard case .number(let number) = value else { return nil }
        return number
    }
}
