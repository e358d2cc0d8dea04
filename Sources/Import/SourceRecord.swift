import Encodings

extension SourceRecord {
    /// The limits of size and depth for the JSON of a record.
    ///
    /// They also apply to JSON in a text of a record.
    static let limits = JSONLimits(
        bytes: RecordStream.maxBytes,
        depth: 32,
        members: 16_384,
        keyBytes: 256,
        asciiKeys: false
    )

    /// Parses the record.
    ///
    /// - Throws: The reason why the record has no members.
    func members() throws(RecordRefusal) -> JSONObject {
        switch content {
        case .refused(let refusal): throw refusal
        case .fields(let fields, let header):
            var record: [JSONObject.Member] = []
            for (name, field) in zip(header.names, fields) where !field.isEmpty {
                guard let text = String(validating: field, as: UTF8.self), !field.contains(0) else {
                    throw RecordRefusal(.malformed, "a field is not UTF-8, or has a NUL")
                }
                record.append(.init(name, .string(text)))
            }
            return JSONObject(record)
        case .json(let bytes):
            let parsed: JSONValue
            do { parsed = try JSONParser.parse(bytes, limits: Self.limits) } catch {
                throw RecordRefusal(.malformed, "\(error)")
            }
            guard let record = parsed.object else { throw RecordRefusal(.malformed, "it is no JSON object") }
            return record
        }
    }
}
