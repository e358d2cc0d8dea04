/// The templates that come with the service, by the names of their files.
enum ShippedTemplates {
    static let files: [String: String] = [
        "passwordReset.de.subject": text(PackageResources.passwordReset_de_subject),
        "passwordReset.de.txt": text(PackageResources.passwordReset_de_txt),
        "passwordReset.de.html": text(PackageResources.passwordReset_de_html),
        "passwordReset.en.subject": text(PackageResources.passwordReset_en_subject),
        "passwordReset.en.txt": text(PackageResources.passwordReset_en_txt),
        "passwordReset.en.html": text(PackageResources.passwordReset_en_html),
        "emailConfirmation.de.subject": text(PackageResources.emailConfirmation_de_subject),
        "emailConfirmation.de.txt": text(PackageResources.emailConfirmation_de_txt),
        "emailConfirmation.de.html": text(PackageResources.emailConfirmation_de_html),
        "emailConfirmation.en.subject": text(PackageResources.emailConfirmation_en_subject),
        "emailConfirmation.en.txt": text(PackageResources.emailConfirmation_en_txt),
        "emailConfirmation.en.html": text(PackageResources.emailConfirmation_en_html),
        "passwordChanged.de.subject": text(PackageResources.passwordChanged_de_subject),
        "passwordChanged.de.txt": text(PackageResources.passwordChanged_de_txt),
        "passwordChanged.de.html": text(PackageResources.passwordChanged_de_html),
        "passwordChanged.en.subject": text(PackageResources.passwordChanged_en_subject),
        "passwordChanged.en.txt": text(PackageResources.passwordChanged_en_txt),
        "passwordChanged.en.html": text(PackageResources.passwordChanged_en_html),
        "accountExists.de.subject": text(PackageResources.accountExists_de_subject),
        "accountExists.de.txt": text(PackageResources.accountExists_de_txt),
        "accountExists.de.html": text(PackageResources.accountExists_de_html),
        "accountExists.en.subject": text(PackageResources.accountExists_en_subject),
        "accountExists.en.txt": text(PackageResources.accountExists_en_txt),
        "accountExists.en.html": text(PackageResources.accountExists_en_html),
        "test.de.subject": text(PackageResources.test_de_subject),
        "test.de.txt": text(PackageResources.test_de_txt),
        "test.de.html": text(PackageResources.test_de_html),
        "test.en.subject": text(PackageResources.test_en_subject),
        "test.en.txt": text(PackageResources.test_en_txt),
        "test.en.html": text(PackageResources.test_en_html),
    ]

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
