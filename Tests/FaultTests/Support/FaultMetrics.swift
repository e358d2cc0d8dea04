import Testing
import TestSupport

@testable import ServerTestSupport

extension Deployment {
    /// Returns a metric of the instance, summed over its labels; 0 while the page lacks the metric.
    ///
    /// - Parameters:
    ///   - name: The metric.
    ///   - labels: A part of the labels to match, such as `reason="reader_too_slow"`.
    /// - Returns: The sum.
    /// - Throws: An error when the page cannot be read.
    func metric(_ name: String, _ labels: String = "") async throws -> Double {
        let page = try await service.management.get("/metrics")
        try #require(page.status == 200, "\(page.text)")
        return page.text.split(separator: "\n").filter { line in
            line.hasPrefix(name + "{") && line.contains(labels) || labels.isEmpty && line.hasPrefix(name + " ")
        }.compactMap { $0.split(separator: " ").last.flatMap { Double($0) } }.reduce(0, +)
    }
}
