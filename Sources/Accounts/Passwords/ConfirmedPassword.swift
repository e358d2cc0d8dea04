package import Vocabulary

extension ConfirmedPassword {
    /// What a client or a person sends; nil for neither of the two.
    ///
    /// - Throws: `malformed_request` for both.
    package init?(known: String?, new: String?, keepingIdentities: Bool) throws(Failure) {
        switch (known.flatMap(Self.present), new.flatMap(Self.present)) {
        case (nil, nil): return nil
        case (let password?, nil): self = .known(password)
        case (nil, let password?): self = .new(password, keepingIdentities: keepingIdentities)
        case (_?, _?):
            throw Failure(
                .malformedRequest,
                "password is the one that was chosen, newPassword another: send one of them."
            )
        }
    }

    private static func present(_ text: String) -> Secret? { text.isEmpty ? nil : Secret(text) }
}
