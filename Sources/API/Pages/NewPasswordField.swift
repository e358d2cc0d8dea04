import HTTP
import Vocabulary

/// The field in which somebody chooses a password, with the rule for it, which is told before anybody has chosen.
enum NewPasswordField {
    static func html(
        named name: HTML = "password",
        _ rules: PasswordRules,
        application: String,
        in language: PageLanguage
    ) -> HTML {
        """
        <p><label>\(language(.newPassword))
        <input type="password" name="\(name)" autocomplete="new-password" minlength="\(rules.fewestCharacters)" \
        aria-describedby="rule" required></label></p>
        <ul class="rule" id="rule">
        <li>\(language(.fewestCharacters(rules.fewestCharacters)))</li>
        <li>\(language(.noGuessedPassword(application: application)))</li>
        <li>\(language(.wordsMakePasswords))</li>
        </ul>
        """
    }
}
