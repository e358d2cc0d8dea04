/// A metric as it is declared: a name, what is said of it, and the labels that tell its values apart.
package struct MetricFamily: Sendable {
    package enum Kind: Sendable, Equatable {
        /// Only rises, from 0 at the start of the process.
        case counter
        case gauge
        /// How many observations were at most as large as each of these bounds, which rise.
        case histogram([Double])
    }

    package let name: String
    package let kind: Kind
    /// One sentence.
    package let help: String
    /// The names of its labels, in the order in which they are written.
    package let labels: [String]
    /// So many sets of labels are told apart; what is beyond is counted together.
    package let most: Int
    /// Whether its values are read when the page is asked for, and nobody keeps them up to date.
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

    /// The name of the type in the text format.
    var type: String {
        switch kind {
        case .counter: "counter"
        case .gauge: "gauge"
        case .histogram: "histogram"
        }
    }
}

/// A value that is read when it is asked for, in place of being kept up to date.
package struct MetricSample: Sendable {
    package enum Value: Sendable, Equatable {
        case number(Double)
        /// How many observations fell between each bound and the one before, those above all bounds at the end; and
        /// what all add up to.
        case histogram(counts: [Int], sum: Double)
    }

    package let name: String
    /// The values of the family's labels, in their order.
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

/// A value of a family, with its labels by their names.
package struct MetricReading: Sendable {
    package let labels: [String: String]
    package let value: MetricSample.Value

    /// The number of a counter or a gauge; nil of a histogram.
    package var number: Double? {
        guard case .number(let number) = value else { return nil }
        return number
    }
}
