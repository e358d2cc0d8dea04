import TestSupport
import Testing

@testable import ServerTestSupport

extension Deployment {
    /// A metric of the instance, all its labels together; 0 while it is not on the page.
    ///
    /// - Parameters:
    ///   - name: The metric.
    ///   - labels: A part of the labels that count, such as `reason="reader_too_slow"`.
    /// - Returns: The sum.
    /// - Throws: When there is no page.
    func metric(_ name: String, _ labels: String = "") async throws -> Double {
        let page = try await service.management.get("/metrics")
        try #require(page.status == 200, "\(page.text)")
        return page.text.split(separator: "\n").filter { line in
            line.hasPrefix(name + "{") && line.contains(labels) || labels.isEmpty && line.hasPrefix(name + " ")
        }.compactMap { $0.split(separator: " ").last.flatMap { Double($0) } }.reduce(0, +)
    }
}
