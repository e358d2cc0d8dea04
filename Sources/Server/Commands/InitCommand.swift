import Administration
import ArgumentParser
import Description
import Domain
import FoundationEssentials
import Providers

struct InitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Write a first document for an application.",
        discussion: """
            The document has an API key, one app of the provider, and a mapping of e-mail address and name: enough for \
            logins. No configuration is needed. The next steps are printed to standard error.

            Examples:
              federation init shop --app-id 1234567890 -o shop.json
              federation init shop --app-id shopWeb4Kx7Qm2Tz9 --provider twitter
            """
    )

    @OptionGroup var application: ApplicationArgument

    @Option(help: ArgumentHelp("The app at the provider: Facebook's app id, Twitter's consumer key.", valueName: "id"))
    var appID: String

    @Option(help: "The provider kind.")
    var provider = ProviderName(known: "facebook")

    @OptionGroup var file: OutputFileOption

    func run() async throws {
        guard let id = ApplicationID(application.id) else {
            throw Exit.refusing(
                "an application's id is 1 to 63 letters, digits, _ or -, beginning with a letter or digit"
            )
        }
        let kinds: ProviderKinds
        do { kinds = try .forDocuments() } catch { throw Exit.saying("federation: \(error)", Exit.software) }
        guard let kind = kinds.named(provider) else {
            let hint = NearestName.hint(for: provider.text, among: kinds.names.map(\.text))
            let known = kinds.names.map(\.text).joined(separator: ", ")
            throw Exit.refusing("unknown provider kind\(hint); known: \(known)")
        }
        let document: FirstDocument
        do { document = try FirstDocument(of: id, with: appID, at: kind) } catch { throw Exit.refusing("\(error)") }
        if let path = file.path, FileManager.default.fileExists(atPath: path) {
            throw Exit.saying("federation: \(path) already exists; choose another file with -o", Exit.cannotCreate)
        }
        try file.write(document.json.indented)
        let name = file.path ?? "\(id).json"
        Terminal.say(
            """
            Set these variables, then check, apply and serve:
              export \(document.variables.key)=$(openssl rand -hex 20)
              export \(document.variables.secret)=…     # from the settings of the app at \(kind.title)
              federation check \(name)
              federation migrate
              federation apply \(name)
              federation serve
            To create the first operator, open the link that this prints:
              federation console
            """
        )
    }
}
