import Domain

extension PageWords {
    /// Returns a form field in which a user chooses a new password.
    ///
    /// It shows the password rules before the user chooses a password.
    func newPasswordField(_ rules: PasswordRules, named name: String = "password") -> HTML {
        let rule =
            [self(.minLength, [.count: "\(rules.minLength)"])]
            + [self(.noGuessedPassword), self(.wordsMakePasswords)]
        let attributes: HTML = """
            autocomplete="new-password" minlength="\(rules.minLength)" aria-describedby="rule" required
            """
        return """
            \(HTML.field(name, self(.newPassword), type: "password", attributes: attributes))
            <ul class="rule" id="rule">
            \(rule.map { "<li>\($0)</li>\n" as HTML })</ul>

            """
    }

    /// Returns a form field in which a user enters an existing password.
    func passwordField(
        _ name: String = "password",
        _ label: PageText = .password,
        isRequired: Bool = true
    ) -> HTML {
        .field(
            name,
            self(label),
            type: "password",
            attributes: isRequired
                ? "autocomplete=\"current-password\" required" : "autocomplete=\"current-password\""
        )
    }
}
