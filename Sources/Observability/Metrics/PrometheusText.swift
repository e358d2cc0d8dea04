/// A writer of Prometheus' text format 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats).
struct PrometheusText {
    private(set) var bytes: [UInt8] = []

    /// Appends a family and its values, sorted by label values.
    ///
    /// - Parameters:
    ///   - family: The declaration of the family.
    ///   - samples: The values. A value whose number of labels differs from the family's is left out.
    mutating func add(_ family: MetricFamily, _ samples: [MetricSample]) {
        line("# HELP \(family.name) \(Self.escaped(family.help, quotes: false))")
        line("# TYPE \(family.name) \(family.type)")
        let fitting = samples.filter { $0.labels.count == family.labels.count }
        for sample in fitting.sorted(by: { $0.labels.lexicographicallyPrecedes($1.labels) }) {
            let pairs = zip(family.labels, sample.labels).map { "\($0)=\"\(Self.escaped($1, quotes: true))\"" }
            switch (family.kind, sample.value) {
            case (.counter, .number(let number)), (.gauge, .number(let number)):
                value(family.name, pairs, Self.text(of: number))
            case (.histogram(let bounds), .histogram(let counts, let sum)) where counts.count == bounds.count + 1:
                histogram(family.name, pairs, bounds, counts, sum)
            case (_, _): continue
            }
        }
    }

    private mutating func histogram(
        _ name: String,
        _ pairs: [String],
        _ bounds: [Double],
        _ counts: [Int],
        _ sum: Double
    ) {
        var total = 0
        for (bound, count) in zip(bounds + [.infinity], counts) {
            total += count
            value(name + "_bucket", pairs + ["le=\"\(Self.text(of: bound))\""], String(total))
        }
        value(name + "_sum", pairs, Self.text(of: sum))
        value(name + "_count", pairs, String(total))
    }

    private mutating func value(_ name: String, _ pairs: [String], _ text: String) {
        line(pairs.isEmpty ? "\(name) \(text)" : "\(name){\(pairs.joined(separator: ","))} \(text)")
    }

    private mutating func line(_ text: String) {
        bytes.append(contentsOf: text.utf8)
        bytes.append(UInt8(ascii: "\n"))
    }

    /// Escapes backslashes and line breaks.
    ///
    /// In a label value, escapes quotation marks, too.
    static func escaped(_ text: String, quotes: Bool) -> String {
        guard text.utf8.contains(where: { $0 == 0x5C || $0 == 0x0A || $0 == 0x22 }) else { return text }
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    /// Returns a number in the format of Go's `ParseFloat`.
    ///
    /// A whole number has no decimal point.
    static func text(of number: Double) -> String {
        if number.isNaN { return "NaN" }
        if number.isInfinite { return number > 0 ? "+Inf" : "-Inf" }
        return Int64(exactly: number).map(String.init) ?? "\(number)"
    }
}
