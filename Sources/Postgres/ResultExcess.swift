internal import CLibPQ

/// How a result is larger than one may be.
///
/// libpq receives a row whole before anybody can look at it. So this bounds what goes on from there, and the connection
/// that it came over is closed, since libpq never gives back the memory that it once received something in.
package struct ResultExcess: Sendable, Hashable {
    /// The bytes that a row, or the result, may have.
    package let limit: Int
    /// The column that has most of the row; nil when all rows together are too many.
    package let column: String?
}

extension ResultExcess: CustomStringConvertible {
    package var description: String {
        guard let column else { return "a result has more than \(limit) bytes" }
        return "a row has more than \(limit) bytes, most of them in column \(column)"
    }
}

extension ResultSet {
    /// What is too large in the result; nil when nothing is.
    func excess(overRow rowBytes: Int, overAll resultBytes: Int) -> ResultExcess? {
        // Of all rows; almost every result ends here.
        let memory = PQresultMemorySize(result)
        guard memory > min(rowBytes, resultBytes) else { return nil }
        for row in 0..<Int32(clamping: count) {
            let lengths = (0..<Int32(clamping: columnCount)).map { Int(PQgetlength(result, row, $0)) }
            guard lengths.reduce(0, +) > rowBytes, let widest = lengths.indices.max(by: { lengths[$0] < lengths[$1] })
            else { continue }
            return ResultExcess(limit: rowBytes, column: columnNames[widest])
        }
        return memory > resultBytes ? ResultExcess(limit: resultBytes, column: nil) : nil
    }
}
