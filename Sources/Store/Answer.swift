package import Domain
import FoundationEssentials
package import Postgres

/// The result of a SQL statement, read by methods that throw a `Failure` if a value cannot be decoded.
///
/// That is the case if a column has no value of the type that the caller reads.
struct Answer {
    let result: ResultSet

    var count: Int { result.count }
    /// The number of rows that the statement inserted, updated or deleted.
    var affectedRows: Int { result.affectedRows ?? 0 }

    func all<Value: RowValue>(_: Value.Type) throws(Failure) -> [Value] {
        do { return try result.all(Value.self) } catch { throw .unread(error) }
    }

    func all<each Value: RowValue>(_ types: repeat (each Value).Type) throws(Failure) -> [(repeat each Value)] {
        do { return try result.all(repeat each types) } catch { throw .unread(error) }
    }

    func all<each Column: RowValue, Value>(into make: (repeat each Column) -> Value) throws(Failure) -> [Value] {
        do { return try result.all(into: make) } catch { throw .unread(error) }
    }

    func all<Value>(by read: (inout Row) throws(PostgresError) -> Value?) throws(Failure) -> [Value] {
        do { return try result.all(by: read) } catch { throw .unread(error) }
    }

    func first<Value: RowValue>(_: Value.Type) throws(Failure) -> Value? {
        do { return try result.first(Value.self) } catch { throw .unread(error) }
    }

    func first<each Value: RowValue>(_ types: repeat (each Value).Type) throws(Failure) -> (repeat each Value)? {
        do { return try result.first(repeat each types) } catch { throw .unread(error) }
    }

    func first<each Column: RowValue, Value>(into make: (repeat each Column) -> Value) throws(Failure) -> Value? {
        do { return try result.first(into: make) } catch { throw .unread(error) }
    }

    func first<Value>(by read: (inout Row) throws(PostgresError) -> Value?) throws(Failure) -> Value? {
        do { return try result.first(by: read) } catch { throw .unread(error) }
    }
}

extension Failure {
    fileprivate static func unread(_ error: PostgresError) -> Failure {
        guard case .decoding(let decoding) = error else {
            return Failure(.internal, "The service could not read its own data.", cause: "\(error)")
        }
        return .undecodable(decoding)
    }
}

// MARK: - Values of the domain in columns

extension ObjectID: PostgresValue {
    package static var nullType: Bind.NullType { UUID.nullType }
    package var bind: Bind { uuid.bind }
    package static func read(_ cell: Cell) throws(CellMismatch) -> ObjectID { ObjectID(try UUID.read(cell)) }
}

/// An encrypted secret fills two columns of a row: the ciphertext, then the id of its master key.
extension EncryptedSecret: RowValue {
    package init(from row: inout Row) throws(PostgresError) {
        self.init(bytes: try row.next(), keyID: try row.next())
    }

    package static func unlessNull(from row: inout Row) throws(PostgresError) -> EncryptedSecret? {
        let (bytes, keyID) = (try row.next([UInt8]?.self), try row.next(String?.self))
        return bytes.flatMap { bytes in keyID.map { EncryptedSecret(bytes: bytes, keyID: $0) } }
    }
}

extension Timestamp {
    /// Creates a timestamp from milliseconds since 1970; a value out of range becomes the nearest infinity.
    init(milliseconds: Int64) {
        let (microseconds, overflow) = milliseconds.multipliedReportingOverflow(by: 1000)
        self = overflow ? (milliseconds < 0 ? .negativeInfinity : .infinity) : Timestamp(microseconds: microseconds)
    }

    /// Milliseconds since 1970, rounded towards the past.
    var milliseconds: Int64 {
        let (quotient, remainder) = microseconds.quotientAndRemainder(dividingBy: 1000)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
