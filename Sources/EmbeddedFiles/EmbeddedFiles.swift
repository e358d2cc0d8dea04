internal import CEmbeddedFiles

/// Large files of the repository, embedded in the program as bytes.
///
/// This module owns the embedding. It must not know the files' formats.
///
/// The C compiler embeds them. SwiftPM's `embedInCode` would make each file an array literal, for which the Swift
/// compiler needs 0.2 ms a byte: 48 s for the larger OpenAPI document. Modules with small files, such as the texts of
/// mails, embed those with `embedInCode`.
package enum EmbeddedFiles {
    /// The contents of `mappings/application.schema.json`.
    package static var applicationSchema: [UInt8] { bytes(of: embedded_application_schema()) }
    /// The contents of `Sources/Passwords/common-passwords.txt`.
    package static var commonPasswords: [UInt8] { bytes(of: embedded_common_passwords()) }
    /// The contents of `docs/openapi/management.json`.
    package static var managementOpenAPI: [UInt8] { bytes(of: embedded_management_openapi()) }
    /// The contents of `docs/openapi/public.json`.
    package static var publicOpenAPI: [UInt8] { bytes(of: embedded_public_openapi()) }
    /// The contents of `schema.sql`.
    package static var schema: [UInt8] { bytes(of: embedded_schema()) }

    private static func bytes(of file: EmbeddedFile) -> [UInt8] {
        Array(UnsafeBufferPointer(start: file.bytes, count: file.count))
    }
}
