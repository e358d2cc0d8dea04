internal import CLibPQ

/// The size limit that a result exceeds.
///
/// libpq receives the whole result before the program can check its size. So the limit bounds only the memory that
/// stays in use afterwards. The connection is closed, since libpq frees its receive buffer only with the connection.
package struct ResultExcess: Sendable, Hashable {
    /// The exceeded limit for one row or for all rows together, in bytes.
    package let limit: Int
    /// The name of the largest column of a row that is too large; nil if all rows together are too large.
    package let column: String?
}

extension ResultExcess: CustomStringConvertible {
    package var description: String {
        guard let column else { return "a result has more than \(limit) bytes" }
        return "a row has more than \(limit) bytes, most of them in column \(column)"
    }
}

extension ResultSet {
    /// Returns the exceeded limit; nil if the result is within both limits.
    func excess(overRow rowBytes: Int, overAll resultBytes: Int) -> ResultExcess? {
        // The memory of all rows. Almost every result is below the limits and needs no look at its rows.
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
