import HTTP
import HTTPTypes

extension HTTPField.Name {
    static let userToken = HTTPField.Name(known: "user-token")
    static let applicationID = HTTPField.Name(known: "application-id")
    static let secretKey = HTTPField.Name(known: "secret-key")
    static let idempotencyKey = HTTPField.Name(known: "Idempotency-Key")
    static let userCreated = HTTPField.Name(known: "Federation-User-Created")
    static let ignoredProperties = HTTPField.Name(known: "Federation-Ignored-Properties")
    static let missingPermissions = HTTPField.Name(known: "Federation-Missing-Permissions")
}
