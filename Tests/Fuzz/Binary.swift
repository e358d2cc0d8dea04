import Encodings
import FoundationEssentials
@testable import HTTP
import NIOCore
@testable import Postgres
@testable import Store
@testable import WebAuthn

extension FuzzTarget {
    /// The target of the values of PostgreSQL columns.
    ///
    /// A value read from a column is read as the same after a round trip as a parameter. A value that does not fit its
    /// type is refused, and nothing beyond the column's bytes is read.
    ///
    /// The first byte chooses the column's type; the others are the value as the server sent it.
    static let postgres = FuzzTarget("postgres") { input in
        guard let first = input.first else { return false }
        let type = columnTypes[Int(first) % columnTypes.count]
        let bytes = Array(input.dropFirst())
        let taken = [
            try reread(String.self, type, bytes), try reread(Int64.self, type, bytes),
            try reread(Int.self, type, bytes), try reread(Double.self, type, bytes),
            try reread(Bool.self, type, bytes), try reread(UUID.self, type, bytes),
            try reread([UInt8].self, type, bytes), try reread([String].self, type, bytes),
            try reread(Timestamp.self, type, bytes), try reread(Day.self, type, bytes),
            try reread(JSONText.self, type, bytes), try reread(JSONValue.self, type, bytes),
        ]
        return taken.contains(true)
    }

    private static let columnTypes: [SQLType] = [
        .bool, .bytea, .name, .int8, .int2, .int4, .text, .json, .float4, .float8, .unknown, .textArray, .varcharArray,
        .bpchar, .varchar, .date, .timestamp, .timestamptz, .uuid, .jsonb,
    ]

    /// The types of which each value has exactly one encoding.
    private static let exactTypes: [SQLType] = [.bytea, .int8, .float8, .date, .timestamptz, .uuid]

    /// Reads a value, binds it, reads it again, and returns whether it could be read.
    private static func reread<Value: PostgresValue>(_: Value.Type, _ type: SQLType, _ bytes: [UInt8]) throws -> Bool {
        guard let value = read(Value.self, type, bytes) else { return false }
        let again = read(Value.self, value.bind.sqlType, wire(value))
        try promise("\(Value.self) of \(type) comes back as the same", again.map(wire) == wire(value))
        if exactTypes.contains(type), value.bind.sqlType == type {
            try promise("\(type) has one spelling", wire(value) == bytes)
        }
        return true
    }

    /// Reads a value from memory of exactly its size, so that a read past the end is found.
    private static func read<Value: PostgresValue>(_: Value.Type, _ type: SQLType, _ bytes: [UInt8]) -> Value? {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        defer { memory.deallocate() }
        memory.copyBytes(from: bytes)
        return try? Value.read(Cell(type: type, bytes: UnsafeRawBufferPointer(memory)))
    }

    private static func wire(_ value: some PostgresValue) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(value.bind)
        return bytes
    }

    /// The target of the proxy protocol's header.
    ///
    /// A header's own bytes decide whether it is complete, however many bytes follow; an incomplete one may still
    /// become complete.
    static let proxyHeader = FuzzTarget("proxy-header") { input in
        let header = ProxyHeader.read(ByteBuffer(bytes: input))
        switch header {
        case .whole(let length, let source):
            try promise("it lies within the bytes", (16...min(input.count, 2048)).contains(length))
            try promise(
                "what follows is no part of it",
                ProxyHeader.read(ByteBuffer(bytes: input[..<length])) == header
            )
            try promise(
                "it is not whole without its last byte",
                ProxyHeader.read(ByteBuffer(bytes: input[..<(length - 1)])) == .incomplete
            )
            try promise("its source is an address of IP", source?.isIP ?? true)
            return true
        case .incomplete:
            try promise("what is kept until it is whole has an end", input.count < 2048)
            return false
        case .faulty:
            try promise("no byte mends it", ProxyHeader.read(ByteBuffer(bytes: input + [0])) == header)
            return false
        }
    }

    /// The target of passkeys: keys and authenticator data extend to their last byte, and nothing beyond is read.
    static let passkey = FuzzTarget("passkey") { input in
        var reader = CBORReader(input[...])
        if (try? reader.skip()) != nil {
            try promise("an item has a byte, and ends within the bytes", reader.remainder.count < input.count)
        }
        if let key = try? CredentialPublicKey(input) {
            try promise("a key is kept as it came", key.bytes.elementsEqual(input))
            return true
        }
        if let data = try? RelyingParty.authenticatorData(of: input) {
            try promise("what it holds is a part of it", data.count < input.count)
        }
        guard let data = try? AuthenticatorData(input[...]) else { return false }
        try promise("it says for whom it is", data.relyingPartyHash.elementsEqual(input.prefix(32)))
        return true
    }
}

extension SocketAddress {
    fileprivate var isIP: Bool {
        switch self {
        case .v4, .v6: true
        case .unixDomainSocket: false
        }
    }
}
