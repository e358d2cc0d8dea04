package import Domain

extension ConfirmedPassword {
    /// Reads the user's password from a request: either the present one or a new one.
    ///
    /// Nil if both are absent or empty.
    ///
    /// - Throws: `malformed_request` if both are present.
    package init?(known: String?, new: String?, keepingIdentities: Bool) throws(Failure) {
        switch (known.flatMap(Self.present), new.flatMap(Self.present)) {
        case (nil, nil): return nil
        case (let password?, nil): self = .known(password)
        case (nil, let password?): self = .new(password, keepingIdentities: keepingIdentities)
        case (_?, _?):
            throw Failure(
                .malformedRequest,
                "Send either password, the one that was chosen, or newPassword, a new one."
            )
        }
    }

    private static func present(_ text: String) -> Secret? { text.isEmpty ? nil : Secret(text) }
}
