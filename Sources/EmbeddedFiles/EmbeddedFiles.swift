internal import CEmbeddedFiles

/// Large files of the repository, embedded in the program as bytes.
///
/// This module owns the embedding and knows nothing of the files' contents. The C compiler embeds them: SwiftPM's
/// `embedInCode` makes a file an array literal, for which the Swift compiler needs 0.2 ms a byte, 48 s for the larger
/// OpenAPI document. Modules with small files, such as the texts of mails, embed those with `embedInCode`.
package enum EmbeddedFiles {
    /// `mappings/application.schema.json`.
    package static var applicationSchema: [UInt8] { bytes(of: embedded_application_schema()) }
    /// `Sources/Passwords/common-passwords.txt`.
    package static var commonPasswords: [UInt8] { bytes(of: embedded_common_passwords()) }
    /// `docs/openapi/management.json`.
    package static var managementOpenAPI: [UInt8] { bytes(of: embedded_management_openapi()) }
    /// `docs/openapi/public.json`.
    package static var publicOpenAPI: [UInt8] { bytes(of: embedded_public_openapi()) }
    /// `schema.sql`.
    package static var schema: [UInt8] { bytes(of: embedded_schema()) }

    private static func bytes(of file: EmbeddedFile) -> [UInt8] {
        Array(UnsafeBufferPointer(start: file.bytes, count: file.count))
    }
}
