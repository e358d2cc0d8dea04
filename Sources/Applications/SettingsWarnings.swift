package import Vocabulary

extension ApplicationSettings {
    /// Fewer characters than this are within the reach of whoever gets hold of hashes and computes.
    private static let fewAreWarnedBelow: Int64 = 12

    /// What an operator should know about settings that are weaker than they need be.
    package var warnings: [String] {
        var warnings: [String] = []
        if passwords.fewestCharacters < Self.fewAreWarnedBelow {
            warnings.append(
                """
                passwords.fewestCharacters is \(passwords.fewestCharacters): passwords of fewer than \(Self.fewAreWarnedBelow) characters \
                are guessed by whoever gets hold of their hashes. Keep 15, unless people already have shorter ones.
                """
            )
        }
        if reauthentication == .session {
            warnings.append(
                """
                reauthentication is session: whoever gets hold of a session can change the password and the address, and has the \
                account then. Keep recent, unless your app cannot ask for the password.
                """
            )
        }
        if tellUnknownLogins {
            warnings.append(
                """
                tellUnknownLogins is true: whoever asks learns which addresses have an account here. Set it to false, unless an app \
                has to say so.
                """
            )
        }
        if clientKeys.contains(.confirmationURL) {
            warnings.append(
                """
                clientKeys has confirmationURL: whoever has the app confirms any address without reading its mail, so a confirmed \
                address does not say that anybody reads its mail. Take it out, and have your server make these links.
                """
            )
        }
        if clientKeys.contains(.findByRole) {
            warnings.append(
                """
                clientKeys has findByRole: whoever has the app learns which users have a role, what they show others, and \
                their other roles. Take it out, and have your server ask.
                """
            )
        }
        return warnings
    }
}
