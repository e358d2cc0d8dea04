internal import CLibPQ

extension ServerError {
    /// Reads the server's error from a result.
    ///
    /// Nil if the error comes from libpq itself, which gives no code. In this case the connection is broken.
    ///
    /// DETAIL, HINT and CONTEXT are left out, since they repeat values. Only the row number is taken from CONTEXT.
    init?(_ set: ResultSet) {
        guard let code = PQresultErrorField(set.result, Field.sqlState) else { return nil }
        sqlState = SQLState(bytes: String(cString: code).utf8)
        schema = Self.text(set, Field.schema)
        table = Self.text(set, Field.table)
        column = Self.text(set, Field.column)
        constraint = Self.text(set, Field.constraint)
        dataType = Self.text(set, Field.dataType)
        row = Self.text(set, Field.context).flatMap(Self.row)
        message = Self.text(set, Field.message) ?? ""
    }

    private static func text(_ set: ResultSet, _ field: Int32) -> String? {
        guard let text = PQresultErrorField(set.result, field) else { return nil }
        // A name has at most 63 bytes; a message beyond a kilobyte is too long to read.
        return String(decoding: String(cString: text).utf8.prefix(1024), as: UTF8.self)
    }

    /// Returns the row number in the CONTEXT of an error, such as `COPY staging, line 3, column name: "…"`.
    private static func row(_ context: String) -> Int? {
        guard context.hasPrefix("COPY ") else { return nil }
        let digits = context.utf8.drop { $0 != UInt8(ascii: ",") }
            .drop { !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            .prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return Int(String(decoding: digits, as: UTF8.self))
    }

    /// The codes of an error's fields for `PQresultErrorField`: the `PG_DIAG_…` constants of postgres_ext.h.
    private enum Field {
        static let sqlState = Int32(UInt8(ascii: "C"))
        static let message = Int32(UInt8(ascii: "M"))
        static let context = Int32(UInt8(ascii: "W"))
        static let schema = Int32(UInt8(ascii: "s"))
        static let table = Int32(UInt8(ascii: "t"))
        static let column = Int32(UInt8(ascii: "c"))
        static let dataType = Int32(UInt8(ascii: "d"))
        static let constraint = Int32(UInt8(ascii: "n"))
    }
}
