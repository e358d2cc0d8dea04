package import Domain
import HTTPTypes
package import Hummingbird

extension Request {
    /// Reads the fields of a form in the body.
    ///
    /// - Parameters:
    ///   - limit: The maximum length of the body in bytes.
    ///   - fields: The maximum number of fields.
    /// - Returns: The fields, in their order.
    /// - Throws: `unsupported_media_type`, `payload_too_large`, `malformed_request`.
    package func formBody(upTo limit: Int, fields: Int = 64) async throws(Failure) -> FormFields {
        let type = "application/x-www-form-urlencoded"
        guard let declared = headers[.contentType], Self.essence(of: declared, is: type) else {
            throw Failure(.unsupportedMediaType, "The body must be a form, sent with Content-Type: \(type).")
        }
        let bytes = try await wholeBody(upTo: limit)
        return try FormFields(String(decoding: bytes, as: UTF8.self), max: fields)
    }
}
