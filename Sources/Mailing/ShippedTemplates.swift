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
        "identityLinked.de.subject": text(PackageResources.identityLinked_de_subject),
        "identityLinked.de.txt": text(PackageResources.identityLinked_de_txt),
        "identityLinked.de.html": text(PackageResources.identityLinked_de_html),
        "identityLinked.en.subject": text(PackageResources.identityLinked_en_subject),
        "identityLinked.en.txt": text(PackageResources.identityLinked_en_txt),
        "identityLinked.en.html": text(PackageResources.identityLinked_en_html),
        "test.de.subject": text(PackageResources.test_de_subject),
        "test.de.txt": text(PackageResources.test_de_txt),
        "test.de.html": text(PackageResources.test_de_html),
        "test.en.subject": text(PackageResources.test_en_subject),
        "test.en.txt": text(PackageResources.test_en_txt),
        "test.en.html": text(PackageResources.test_en_html),
    ]

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
