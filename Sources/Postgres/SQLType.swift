/// A data type of PostgreSQL, named by its object id in the catalog `pg_type`.
struct SQLType: Sendable, Hashable {
    let oid: UInt32

    static let bool = SQLType(oid: 16)
    static let bytea = SQLType(oid: 17)
    static let name = SQLType(oid: 19)
    static let int8 = SQLType(oid: 20)
    static let int2 = SQLType(oid: 21)
    static let int4 = SQLType(oid: 23)
    static let text = SQLType(oid: 25)
    static let json = SQLType(oid: 114)
    static let float4 = SQLType(oid: 700)
    static let float8 = SQLType(oid: 701)
    static let unknown = SQLType(oid: 705)
    static let textArray = SQLType(oid: 1009)
    static let varcharArray = SQLType(oid: 1015)
    static let bpchar = SQLType(oid: 1042)
    static let varchar = SQLType(oid: 1043)
    static let date = SQLType(oid: 1082)
    static let timestamp = SQLType(oid: 1114)
    static let timestamptz = SQLType(oid: 1184)
    static let uuid = SQLType(oid: 2950)
    static let jsonb = SQLType(oid: 3802)
}

extension SQLType: CustomStringConvertible {
    var description: String {
        switch self {
        case .bool: "boolean"
        case .bytea: "bytea"
        case .name: "name"
        case .int8: "bigint"
        case .int2: "smallint"
        case .int4: "integer"
        case .text: "text"
        case .json: "json"
        case .float4: "real"
        case .float8: "double precision"
        case .unknown: "unknown"
        case .textArray: "text[]"
        case .varcharArray: "character varying[]"
        case .bpchar: "character"
        case .varchar: "character varying"
        case .date: "date"
        case .timestamp: "timestamp"
        case .timestamptz: "timestamptz"
        case .uuid: "uuid"
        case .jsonb: "jsonb"
        default: "type with oid \(oid)"
        }
    }
}
