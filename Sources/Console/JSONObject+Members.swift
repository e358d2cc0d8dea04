import Encodings

/// Methods that read members of the JSON objects in responses of the administration API.
///
/// They return an empty value if the member is absent.
extension JSONObject {
    func string(_ name: String) -> String { self[name]?.string ?? "" }

    func integer(_ name: String) -> Int64 { self[name]?.integer ?? 0 }

    func bool(_ name: String) -> Bool { self[name]?.bool ?? false }

    func object(_ name: String) -> JSONObject { self[name]?.object ?? JSONObject() }

    func objects(_ name: String) -> [JSONObject] { self[name]?.array?.compactMap(\.object) ?? [] }

    func strings(_ name: String) -> [String] { self[name]?.array?.compactMap(\.string) ?? [] }
}
